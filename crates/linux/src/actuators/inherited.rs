//! Recognises and frees inherited masks: threads and child processes bound to the CPUs that isobar
//! gave to the thread that made them.
//!
//! `clone(2)` copies the affinity mask, so everything that a moved thread makes is bound where
//! isobar bound that thread, although its owner did not ask for that, and nothing else would ever
//! put it back. A task counts as having inherited its mask from isobar if
//!
//! - it is a thread of a process whose threads isobar moved, or of one of its descendants by parent
//!   pid;
//! - it is younger than isobar's first change of that process;
//! - its mask is one that isobar gave a thread of that process;
//! - it is neither recorded nor bound by its owner ([`Ledger::is_owned`]).
//!
//! It then gets the widest mask that the moved threads of its process had before, and is an
//! ordinary thread from then on.
//!
//! Parents are exact if the kernel's fork events were followed ([`super::lineage`]). If they were
//! not, a daemon whose parents have ended is recognised by likeness: its mask and start time fit,
//! it is in the cgroups of the process that isobar moved, and its present parent is not the process
//! that made it (it is init, or in another session). A process that fits less well is left alone
//! and reported. So is one with a mask of several CPUs, because people choose such masks as well
//! (the CPUs of a node). If changes of affinity could not be followed, a program that binds a task
//! to the very CPUs that isobar had given looks the same.

use super::displaced::{self, Limits};
use super::entries::ProcessEntry;
use super::ledger::{Follow, Ledger};
use crate::kernel::ancestors::ancestry;
use crate::kernel::stat::Stat;
use crate::kernel::{affinity, identity};
use isobar_model::{CpuSet, Pid, Tid};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Maximum number of tasks that a report names; the rest is only counted.
const MOST_NAMED: usize = 20;

/// What became of the tasks that had inherited a mask of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Freed {
    tasks: BTreeSet<(Pid, Tid, u64)>,
    /// Tasks that were put back by their own records, perhaps to a mask that looks inherited.
    settled: BTreeSet<(Pid, Tid, u64)>,
    /// Processes freed by likeness rather than by their parents, or of a mask that their owner may
    /// have chosen.
    alike: BTreeSet<Pid>,
    /// Processes left bound although they may have inherited their mask from isobar.
    doubtful: BTreeSet<Pid>,
    /// Processes left bound because the kernel refused to free one of their threads, with its
    /// reason.
    refused: BTreeMap<Pid, String>,
    /// Whether new ones still appeared when isobar gave up.
    unfinished: bool,
    /// Threads that are still making others, by process.
    forking: BTreeMap<Pid, usize>,
}

/// The entry from which a task with this start and mask inherited its mask; `None` if it did not.
/// Nothing is read for a task that is older than every change, because this is called for each
/// thread in each sample.
#[must_use]
pub fn family<'a>(
    ledger: &'a Ledger,
    (pid, tid, start): (Pid, Tid, u64),
    mask: &CpuSet,
    limits: &mut Limits,
) -> Option<&'a ProcessEntry> {
    if ledger.is_owned(tid, start) {
        return None;
    }
    let mask = &asked_for(ledger, (pid, tid, start), mask, limits);
    if !suspected(ledger, start, mask) || bound_as_its_owner_bound(ledger, pid, mask) {
        return None;
    }
    ancestor(ledger, pid).filter(|process| process.may_have_inherited(start, mask))
}

/// The mask that was requested for a task: one that isobar gave before the task started and that
/// was reduced to this mask, otherwise this mask.
pub fn asked_for(ledger: &Ledger, (pid, tid, start): (Pid, Tid, u64), mask: &CpuSet, limits: &mut Limits) -> CpuSet {
    let makers = ledger.processes.values().filter(|process| start >= process.since);
    displaced::asked_for((pid, tid), mask, makers.map(|process| &process.history), limits)
}

/// Whether a process descends from one in the ledger.
#[must_use]
pub fn descends(ledger: &Ledger, pid: Pid) -> bool {
    ancestor(ledger, pid).is_some()
}

fn suspected(ledger: &Ledger, start: u64, mask: &CpuSet) -> bool {
    ledger.processes.values().any(|process| process.may_have_inherited(start, mask))
}

/// Whether the owner gave this mask to a thread of the process and isobar gave it to none. A new
/// thread then inherited the mask from that thread.
fn bound_as_its_owner_bound(ledger: &Ledger, pid: Pid, mask: &CpuSet) -> bool {
    let Some(entry) = ledger.processes.get(&pid) else { return false };
    !entry.gave(mask) && identity::threads(pid).into_iter().any(|tid| is_owners(ledger, entry, pid, tid, mask))
}

/// Whether its owner gave a thread this mask: it was bound before isobar came, or its owner bound
/// it since.
fn is_owners(ledger: &Ledger, entry: &ProcessEntry, pid: Pid, tid: Tid, mask: &CpuSet) -> bool {
    let Some(task) = identity::task(pid, tid) else { return false };
    let known = task.start < entry.since || ledger.is_owned(tid, task.start);
    known && !entry.threads.contains_key(&tid) && affinity::get(tid).is_ok_and(|its| its == *mask)
}

/// The process itself or its nearest ancestor in the ledger, if isobar's change can have been
/// handed down from there. An ancestor in between that is older than that change has its mask from
/// elsewhere, and hands that one on.
fn ancestor(ledger: &Ledger, pid: Pid) -> Option<&ProcessEntry> {
    let mut oldest = u64::MAX;
    for (pid, process) in ancestry(pid, identity::process) {
        let start = process?.start;
        if let Some(entry) = ledger.process(pid, start) {
            return Some(entry).filter(|entry| oldest >= entry.since);
        }
        oldest = oldest.min(start);
    }
    None
}

/// What became of a task that seems to have inherited a mask of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InheritedMask {
    /// Freed.
    Freed {
        /// Whether isobar would have seen it if the owner had bound the task.
        certain: bool,
    },
    /// Left alone: its owner has bound it to this very mask.
    Owned,
}

/// Frees such a task, and enters its process into the ledger so that its own children are
/// recognised later.
///
/// # Errors
/// The kernel's error.
pub fn free(
    ledger: &mut Ledger,
    follow: &mut Follow<'_>,
    (pid, tid, start): (Pid, Tid, u64),
    family: &ProcessEntry,
) -> io::Result<InheritedMask> {
    // Its owner may have bound it since the kernel's events were last read.
    let certain = follow(ledger);
    if ledger.is_owned(tid, start) {
        return Ok(InheritedMask::Owned);
    }
    if let Some(process) = identity::process(pid) {
        ledger.adopt(pid, process.start, family);
    }
    displaced::put_back(tid, &family.original).map(|()| InheritedMask::Freed { certain })
}

/// Frees every such task, as far as isobar may see and change it, and returns how many more than
/// before. If all forks are followed, the descendants are in the ledger; otherwise every process is
/// examined.
pub fn free_all(ledger: &mut Ledger, follow: &mut Follow<'_>, freed: &mut Freed) -> usize {
    let certain = follow(ledger);
    let known = || ledger.processes.keys().copied().collect();
    let pids: Vec<Pid> = if certain { known() } else { identity::processes() };
    let mut fresh = 0;
    for pid in pids {
        if certain || ancestor(ledger, pid).is_some() {
            let free = |tid: &Tid| free_if_inherited(ledger, follow, pid, *tid, freed);
            fresh += identity::threads(pid).into_iter().filter(free).count();
        } else {
            fresh += free_if_alike(ledger, follow, pid, freed);
        }
    }
    fresh
}

/// Notes processes that may have inherited a mask although no event shows it: made with
/// `CLONE_PARENT`, or while events were dropped.
pub fn look_for_others(ledger: &Ledger, freed: &mut Freed) {
    let unknown = identity::processes().into_iter().filter(|pid| !ledger.processes.contains_key(pid));
    let alike = unknown.filter(|pid| !matches!(likeness(ledger, *pid), Likeness::None));
    freed.doubtful.extend(alike);
}

fn free_if_inherited(ledger: &mut Ledger, follow: &mut Follow<'_>, pid: Pid, tid: Tid, freed: &mut Freed) -> bool {
    let Some(task) = identity::task(pid, tid) else { return false };
    let Ok(mask) = affinity::get(tid) else { return false };
    let one = (pid, tid, task.start);
    if ledger.thread(pid, tid, task.start).is_some() || freed.tasks.contains(&one) || freed.settled.contains(&one) {
        return false;
    }
    let Some(entry) = family(ledger, one, &mask, &mut Limits::default()).cloned() else { return false };
    match free(ledger, follow, one, &entry) {
        Ok(InheritedMask::Owned) => false,
        Ok(InheritedMask::Freed { certain }) => {
            // People choose such masks too, and affinity changes were not followed.
            freed.alike.extend((!certain && mask.len() > 1).then_some(pid));
            freed.tasks.insert(one)
        }
        Err(error) => {
            // A thread that has ended needs nothing.
            let refused = error.raw_os_error() != Some(libc::ESRCH);
            freed.refused.extend(refused.then(|| (pid, error.to_string())));
            false
        }
    }
}

/// Frees the threads of a process that has no known ancestor but looks like one of ours, and
/// returns their number.
fn free_if_alike(ledger: &mut Ledger, follow: &mut Follow<'_>, pid: Pid, freed: &mut Freed) -> usize {
    match likeness(ledger, pid) {
        Likeness::None => 0,
        Likeness::Doubtful => {
            freed.doubtful.insert(pid);
            0
        }
        Likeness::Inherited(start, entry) => {
            ledger.adopt(pid, start, &entry);
            freed.alike.insert(pid);
            let free = |tid: &Tid| free_if_inherited(ledger, follow, pid, *tid, freed);
            identity::threads(pid).into_iter().filter(free).count()
        }
    }
}

enum Likeness {
    None,
    Doubtful,
    /// The start time of the process, and the entry from which it inherited.
    Inherited(u64, Box<ProcessEntry>),
}

fn likeness(ledger: &Ledger, pid: Pid) -> Likeness {
    let Some(process) = identity::process(pid).filter(|process| !process.kernel) else { return Likeness::None };
    // Any of its threads will do: the main thread may have ended before the others.
    let bound = |tid: Tid| {
        let task = identity::task(pid, tid)?;
        let mask = affinity::get(tid).ok()?;
        let mask = asked_for(ledger, (pid, tid, task.start), &mask, &mut Limits::default());
        let alike = suspected(ledger, task.start, &mask) && !ledger.is_owned(tid, task.start);
        alike.then(|| (task.start, mask, identity::cgroups(pid, tid)))
    };
    let Some((start, mask, cgroup)) = identity::threads(pid).into_iter().find_map(bound) else { return Likeness::None };
    let mut parents = ledger.processes.values().filter(|entry| entry.may_have_inherited(start, &mask));
    let same_cgroup = parents.find(|entry| !cgroup.is_empty() && entry.cgroup == cgroup);
    match (same_cgroup, is_orphan(&process)) {
        (Some(entry), true) if mask.len() == 1 => Likeness::Inherited(process.start, Box::new(entry.clone())),
        (Some(_), _) | (None, true) => Likeness::Doubtful,
        (None, false) => Likeness::None,
    }
}

/// Whether the parent of a process is not the process that made it, but the one that adopts
/// orphans.
fn is_orphan(process: &Stat) -> bool {
    process.parent.0 <= 1 || identity::name(process.parent) == "systemd"
}

impl Freed {
    /// Notes that this thread was put back by its own record.
    pub fn settle(&mut self, pid: Pid, tid: Tid, start: u64) {
        self.settled.insert((pid, tid, start));
    }

    /// Notes that new tasks appeared faster than they could be freed.
    pub const fn unfinished(&mut self) {
        self.unfinished = true;
    }

    /// Notes threads that are still making others, which will have a mask of ours.
    pub fn leave_to(&mut self, forking: BTreeMap<Pid, usize>) {
        self.forking = forking;
    }

    /// Number of tasks that were freed.
    #[must_use]
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    /// What a person should look at, a line each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let alike = self.alike.iter().map(|pid| {
            format!(
                "the CPU binding of process {} was removed because the process looks like a child of one that isobar \
                 moved: if you bound it yourself, bind it again",
                named(*pid)
            )
        });
        let doubtful = self.doubtful.difference(&self.alike).map(|pid| {
            format!(
                "process {} stays bound to CPUs that isobar had given to another process: it may have inherited them, \
                 or its owner bound it (taskset -pc shows and changes the binding)",
                named(*pid)
            )
        });
        let refused = self.refused.iter().map(|(pid, why)| {
            format!(
                "process {} stays bound to a CPU that isobar chose: the kernel refused to unbind it ({why})",
                named(*pid)
            )
        });
        let unfinished = self.unfinished.then(|| {
            "processes were created faster than isobar could unbind them from the CPUs that it chose: some stay bound \
             (taskset -pc shows and changes the binding)"
                .to_owned()
        });
        let forking = self.forking.iter().map(|(pid, threads)| {
            format!(
                "process {} is still forking ({threads} of its threads): its children stay bound to a CPU that isobar \
                 chose (taskset -pc shows and changes the binding)",
                named(*pid)
            )
        });
        let lines = unfinished.into_iter().chain(refused).chain(forking).chain(alike).chain(doubtful);
        let mut lines: Vec<String> = lines.collect();
        shorten(&mut lines, "processes");
        lines
    }
}

/// Cuts a list for people after a number of lines, and adds how many more there are.
pub fn shorten(lines: &mut Vec<String>, what: &str) {
    let rest = lines.len().saturating_sub(MOST_NAMED);
    lines.truncate(MOST_NAMED);
    lines.extend((rest > 0).then(|| format!("and {rest} more {what} of this kind")));
}

fn named(pid: Pid) -> String {
    format!("{pid} ({})", identity::name(pid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::cpus;

    #[test]
    fn no_file_is_read_for_a_thread_that_is_older_than_every_change() {
        let own = identity::own_pid();
        let mut entry = ProcessEntry::new(1, 100);
        entry.history.insert(&cpus("0-3"));
        let mut ledger = Ledger::new("boot".to_owned());
        ledger.processes.insert(Pid(u32::MAX), entry);
        let mut limits = Limits::default();
        let mut found = |start| family(&ledger, (own, Tid(own.0), start), &cpus("0"), &mut limits).is_some();
        assert!(!found(99));
        assert!(!limits.are_read());
        let mut found = |start| family(&ledger, (own, Tid(own.0), start), &cpus("0"), &mut limits).is_some();
        assert!(!found(100));
        assert!(limits.are_read(), "CPUs 1 to 3 may be offline");
    }
}
