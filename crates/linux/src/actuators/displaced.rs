//! Handles threads whose cpuset no longer contains the CPU that isobar bound them to.
//!
//! The kernel then lets such a thread run on the whole cpuset. However, it keeps the requested mask
//! (`task_struct.user_cpus_ptr`, Linux 6.2) and binds the thread to our CPU again as soon as a
//! cpuset has it: a CPU that comes back, a cpuset that is widened, a cgroup that the thread is
//! moved to. Its owner did not set such a mask, and forgetting it would leave the thread bound for
//! good.

use super::entries::Original;
use super::mask_set::MaskSet;
use crate::kernel::affinity::{self, is_pinned};
use crate::kernel::cgroup::Cpusets;
use crate::kernel::cpu_model::{online_cpus, possible_cpus};
use crate::kernel::identity;
use isobar_model::{CpuSet, Pid, Tid};
use std::cell::OnceCell;
use std::io;

/// Whether the cpuset displaced a thread with this mask from `ours`, the CPUs that isobar bound it
/// to.
#[must_use]
pub fn is_displaced(pid: Pid, tid: Tid, mask: &CpuSet, ours: &CpuSet) -> bool {
    let outside = mask.intersection(ours).is_empty();
    outside && online_cpus().is_some_and(|online| is_whole(mask, ours, permitted(pid, tid).as_ref(), &online))
}

/// What reduces masks on this machine: which CPUs are online, and what cpusets permit. Each file is
/// read once, and not before it is needed.
#[derive(Debug, Default)]
pub struct Limits {
    online: OnceCell<Option<CpuSet>>,
    cpusets: Option<Cpusets>,
}

impl Limits {
    fn online(&self) -> Option<&CpuSet> {
        self.online.get_or_init(online_cpus).as_ref()
    }

    fn permitted(&mut self, pid: Pid, tid: Tid) -> Option<CpuSet> {
        self.cpusets.get_or_insert_with(Cpusets::live).permitted(&identity::cgroups(pid, tid))
    }

    /// Whether a file has been read.
    #[cfg(test)]
    pub fn are_read(&self) -> bool {
        self.online.get().is_some() || self.cpusets.is_some()
    }
}

/// The mask that was requested for a thread: the one in `given` that offline CPUs and the cpuset
/// reduce to this mask, if there is one; otherwise this mask.
#[must_use]
pub fn asked_for<'a>(
    (pid, tid): (Pid, Tid),
    mask: &CpuSet,
    given: impl Iterator<Item = &'a MaskSet>,
    limits: &mut Limits,
) -> CpuSet {
    let is_wider = |wide: &&CpuSet| mask.is_subset(wide) && mask != *wide && !mask.is_empty();
    let wider: Vec<&CpuSet> = given.flat_map(MaskSet::several).filter(is_wider).collect();
    if wider.is_empty() || limits.online().is_none() {
        return mask.clone();
    }
    let permitted = limits.permitted(pid, tid);
    let is_left =
        |wide: &&CpuSet| limits.online().is_some_and(|online| *mask == left_of(wide, permitted.as_ref(), online));
    let asked = wider.into_iter().find(is_left);
    asked.unwrap_or(mask).clone()
}

/// Whether a thread has this mask from isobar: either as isobar set it, or what is left of it.
#[must_use]
pub fn is_given(pid: Pid, tid: Tid, mask: &CpuSet, ours: &MaskSet) -> bool {
    let asked = || asked_for((pid, tid), mask, std::iter::once(ours), &mut Limits::default());
    ours.contains(mask) || ours.contains(&asked())
}

/// The part of a requested mask that the kernel uses.
fn left_of(given: &CpuSet, permitted: Option<&CpuSet>, online: &CpuSet) -> CpuSet {
    let online = given.intersection(online);
    permitted.map_or(online.clone(), |permitted| online.intersection(permitted))
}

/// Whether its owner narrowed a thread to this mask within its cpuset, as the cpuset is now.
#[must_use]
pub fn is_narrowed(pid: Pid, tid: Tid, mask: &CpuSet) -> bool {
    online_cpus().is_some_and(|online| is_pinned(mask, permitted(pid, tid).as_ref(), &online))
}

/// Makes the kernel forget the requested mask of a thread that is free now and was free before: the
/// CPU that isobar bound it to went offline and came back. If its owner has lifted the mask, this
/// changes nothing.
pub fn have_it_forgotten(pid: Pid, tid: Tid, mask: &CpuSet, original: &Original) {
    if !original.pinned && !is_narrowed(pid, tid, mask) {
        // If it is refused, the thread is free nevertheless.
        let _ = put_back(tid, original);
    }
}

/// What is put back for a thread that has this mask and none of isobar's; `pinned`: its owner set
/// it.
#[must_use]
pub fn original(pid: Pid, tid: Tid, mask: &CpuSet, pinned: bool) -> Original {
    let asked = partly_offline(pid, tid, mask, pinned).unwrap_or_default();
    Original { cpus: mask.clone(), pinned, asked }
}

/// The mask that its owner asked for, if offline CPUs make it look like another.
fn partly_offline(pid: Pid, tid: Tid, mask: &CpuSet, pinned: bool) -> Option<CpuSet> {
    let possible = possible_cpus()?;
    let asked = affinity::with_offline(pid, tid)?.intersection(&possible);
    let unlimited = || {
        let (mut cpusets, cgroup) = (Cpusets::live(), identity::cgroups(pid, tid));
        let permits = |online: CpuSet| cpusets.permitted(&cgroup).is_none_or(|cpus| online.is_subset(&cpus));
        online_cpus().is_some_and(permits) && cpusets.is_unlimited(&cgroup)
    };
    differs(&asked, mask, pinned, &possible, unlimited).then_some(asked)
}

/// Whether a thread whose mask is `mask` on the CPUs that are online was bound to `asked`. A mask
/// without restriction has every possible CPU, unless a cpuset has reduced it.
fn differs(asked: &CpuSet, mask: &CpuSet, pinned: bool, possible: &CpuSet, unlimited: impl FnOnce() -> bool) -> bool {
    let leaves_out_offline = || !possible.is_subset(asked) && unlimited();
    mask.is_subset(asked) && if pinned { asked != mask } else { leaves_out_offline() }
}

/// Puts back the affinity that a thread had before.
///
/// # Errors
/// The kernel's error; `ESRCH` for a thread that has ended.
pub fn put_back(tid: Tid, original: &Original) -> io::Result<()> {
    let wanted = match (original.asked.is_empty(), original.pinned) {
        (false, _) => &original.asked,
        (true, true) => &original.cpus,
        (true, false) => return affinity::lift(tid),
    };
    match affinity::set(tid, wanted) {
        // Every CPU that its owner chose has gone offline or left its cpuset: in that case the
        // kernel itself lifts the mask.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => affinity::lift(tid),
        other => other,
    }
}

/// Whether our CPU is not in the mask, and the mask is the whole cpuset.
fn is_whole(mask: &CpuSet, ours: &CpuSet, permitted: Option<&CpuSet>, online: &CpuSet) -> bool {
    mask.intersection(ours).is_empty() && !is_pinned(mask, permitted, online)
}

/// Its cpuset as it is now: a sample may hold an old one.
fn permitted(pid: Pid, tid: Tid) -> Option<CpuSet> {
    Limits::default().permitted(pid, tid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::cpus as set;

    #[test]
    fn the_whole_cpuset_without_our_cpu_is_the_kernels_word() {
        let (online, ours) = (set("0-7"), set("4"));
        let displaced =
            |mask: &str, cpuset: Option<&str>| is_whole(&set(mask), &ours, cpuset.map(set).as_ref(), &online);
        assert!(displaced("0-1", Some("0-1")), "the cpuset left CPU 4");
        assert!(!displaced("0", Some("0-1")), "its owner narrowed it");
        assert!(!displaced("4-7", Some("4-7")), "its owner lifted our mask");
        assert!(!displaced("0-3", Some("0-7")), "its owner chose CPUs of the cpuset");
        assert!(!displaced("0-3", None), "its owner chose CPUs, without any cpuset");
        // CPU 4 went offline, and the cpuset lost it as well.
        assert!(is_whole(&set("0-3,5-7"), &ours, None, &set("0-3,5-7")));
    }

    #[test]
    fn of_several_cpus_those_that_are_left_are_ours_still() {
        let left = |online: &str, permitted: Option<&str>| {
            left_of(&set("0-3"), permitted.map(set).as_ref(), &set(online)).to_string()
        };
        assert_eq!(left("0-7", None), "0-3");
        assert_eq!(left("0-1,3-7", None), "0-1,3", "CPU 2 went offline");
        assert_eq!(left("0-7", Some("2-5")), "2-3", "the cpuset left CPUs 0 and 1");
        let own = identity::own_pid();
        assert!(is_given(own, Tid(own.0), &set("0-3"), &MaskSet::one(&set("0-3"))));
        assert!(
            !is_given(own, Tid(own.0), &set("900"), &MaskSet::one(&set("900-901"))),
            "CPU 901 went, and 900 stayed?"
        );
        assert!(!is_given(own, Tid(own.0), &set("0"), &MaskSet::one(&set("1"))));
    }

    #[test]
    fn a_mask_of_all_online_cpus_can_be_an_owners() {
        let (possible, online) = (set("0-7"), set("0-3"));
        let asked =
            |asked: &str, mask: &CpuSet, pinned, unlimited| differs(&set(asked), mask, pinned, &possible, || unlimited);
        assert!(!asked("0-7", &online, false, true), "no restriction");
        assert!(asked("0-3", &online, false, true), "bound to the CPUs that are online");
        assert!(asked("0-5", &online, false, true));
        assert!(!asked("0-3", &online, false, false), "its cpuset has those CPUs");
        assert!(asked("0-1,6", &set("0-1"), true, false), "CPU 6 is offline");
        assert!(!asked("0-1", &set("0-1"), true, true));
        assert!(!asked("2-3", &online, false, true), "changed between the two readings");
    }

    #[test]
    fn the_mask_that_was_asked_for_is_put_back() {
        let mut child = std::process::Command::new("sleep").arg("20").spawn().unwrap();
        let tid = Tid(child.id());
        let cpus = affinity::get(tid).unwrap();
        let asked: CpuSet = cpus.first().into_iter().collect();
        put_back(tid, &Original { cpus: cpus.clone(), pinned: false, asked: asked.clone() }).unwrap();
        let bound = affinity::get(tid).unwrap();
        put_back(tid, &Original { cpus: cpus.clone(), pinned: false, asked: CpuSet::new() }).unwrap();
        let free = affinity::get(tid).unwrap();
        child.kill().and_then(|()| child.wait()).unwrap();
        assert_eq!((bound, cpus.is_subset(&free)), (asked, true));
    }

    #[test]
    fn a_mask_that_holds_our_cpu_is_not_displaced() {
        let own = identity::own_pid();
        let mask = affinity::get(Tid(own.0)).unwrap();
        assert!(!is_displaced(own, Tid(own.0), &mask, &mask));
    }
}
