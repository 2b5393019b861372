//! Moves threads: which may be moved, what is recorded first, and what the kernel answers.
//!
//! A move has two steps. [`prepare`] examines a thread and decides without changing anything. Once
//! all intents of a plan are in the state file, [`carry_out`] acts. In between a thread may end and
//! its id be reused, so the start time is read again right before acting. There remains the instant
//! between that read and the system call, which the kernel offers no way to close for affinities.

use super::displaced::{self, Limits};
use super::entries::{Entry, ThreadEntry};
use super::inherited;
use super::ledger::Ledger;
use super::mask_set::MaskSet;
use crate::kernel::{affinity, identity, privilege};
use isobar_model::{ActionOutcome, CpuId, CpuSet, Pid, Tid};
use std::io;

/// A thread to be bound to one or several CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadMove {
    /// Its process.
    pub pid: Pid,
    /// Start time of the process, in ticks since boot, as it was observed.
    pub pid_start: u64,
    /// The thread.
    pub tid: Tid,
    /// Start time of the thread, as it was observed.
    pub tid_start: u64,
    /// The CPU that it goes to.
    pub cpu: CpuId,
    /// The CPUs among which the kernel may balance it from then on; `None`: it stays on `cpu`.
    pub cpus: Option<CpuSet>,
    /// Whether its owner narrowed its affinity; see [`super::entries::Original::pinned`].
    pub pinned: bool,
}

/// What is to be done about a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Bind the thread, once this is in the state file. The set is the mask that it had when it was
    /// examined.
    Act(Entry, CpuSet),
    /// Nothing: the move is settled already.
    Settled(ActionOutcome),
}

impl Intent {
    /// What will be done, if anything.
    #[must_use]
    pub const fn entry(&self) -> Option<&Entry> {
        match self {
            Self::Act(entry, _) => Some(entry),
            Self::Settled(_) => None,
        }
    }
}

/// Decides about a move, changing nothing.
#[must_use]
pub fn prepare(ledger: &Ledger, request: &ThreadMove) -> Intent {
    match examine(ledger, request) {
        // A thread that may already run on these CPUs stays on the one where the kernel has put it.
        Ok((entry, _)) if entry.placed == Some(MaskSet::one(&entry.mask)) => Intent::Settled(ActionOutcome::Done),
        Ok((entry, seen)) => Intent::Act(entry, seen),
        Err(outcome) => Intent::Settled(outcome),
    }
}

/// Binds a thread, if it is still the one that was examined and still has the mask `seen` from
/// then. Returns the outcome, and the mask that isobar gave it if it has a new one. A thread that
/// may run on several CPUs is bound to `cpu` alone first, so that it goes there: of many CPUs the
/// kernel takes any, busy or not.
#[must_use]
pub fn carry_out(entry: &Entry, seen: &CpuSet) -> (ActionOutcome, Option<CpuSet>) {
    if !identity::lives(entry.pid, entry.tid, entry.tid_start) {
        return (ActionOutcome::Vanished, None);
    }
    let (mut before, mut has) = (seen.clone(), None);
    for mask in entry.masks() {
        // Its owner may have changed the mask while the record was written, or since the first
        // mask.
        match affinity::get(entry.tid) {
            Ok(now) if now != before => return (left_alone(OWNER_NOW), None),
            Ok(_) => {}
            Err(error) => return (refusal(&error, entry.cpu), has),
        }
        if let Err(error) = affinity::set(entry.tid, &mask) {
            return (refusal(&error, entry.cpu), has);
        }
        before.clone_from(&mask);
        has = Some(mask);
    }
    (ActionOutcome::Done, has)
}

/// The message for a thread that its owner bound after it was observed.
const OWNER_NOW: &str = "its owner changed its affinity just now";

fn examine(ledger: &Ledger, request: &ThreadMove) -> Result<(Entry, CpuSet), ActionOutcome> {
    let left_alone = |why: &str| Err(left_alone(why));
    if request.pid == identity::own_pid() {
        return left_alone("isobar does not move itself");
    }
    // If a thread of this process has this start time, the process is the same, too.
    let task = identity::task(request.pid, request.tid).filter(|task| task.start == request.tid_start);
    let task = task.ok_or(ActionOutcome::Vanished)?;
    if task.kernel {
        return left_alone("kernel threads are not moved");
    }
    let mask = affinity::get(request.tid).map_err(|error| refusal(&error, request.cpu))?;
    let record = ledger.thread(request.pid, request.tid, request.tid_start);
    if record.is_some_and(|thread| !is_given(request, thread, &mask) && mask != thread.original.cpus) {
        return left_alone("its owner changed its affinity after isobar's last move");
    }
    let entry = entry(ledger, request, &mask);
    // It has no mask of ours, and it was not bound when it was observed.
    if entry.placed.is_none()
        && entry.original.cpus == mask
        && !entry.original.pinned
        && displaced::is_narrowed(request.pid, request.tid, &mask)
    {
        return left_alone(OWNER_NOW);
    }
    Ok((entry, mask))
}

fn left_alone(why: &str) -> ActionOutcome {
    ActionOutcome::LeftAlone { why: why.to_owned() }
}

/// The entry for a move. Its original is what is recorded, if the mask is still ours; else the
/// original of the process from which it was inherited; else the present mask.
fn entry(ledger: &Ledger, request: &ThreadMove, mask: &CpuSet) -> Entry {
    let record =
        ledger.thread(request.pid, request.tid, request.tid_start).filter(|thread| is_given(request, thread, mask));
    let placed = record.map(|thread| thread.ours.clone());
    let inherited = || {
        let thread = (request.pid, request.tid, request.tid_start);
        inherited::family(ledger, thread, mask, &mut Limits::default()).map(|family| family.original.clone())
    };
    let known = record.map(|thread: &ThreadEntry| thread.original.clone());
    let original =
        known.or_else(inherited).unwrap_or_else(|| displaced::original(request.pid, request.tid, mask, request.pinned));
    let (pid_start, tid_start) = (request.pid_start, request.tid_start);
    let mask = among(request, &original.cpus);
    Entry { pid: request.pid, pid_start, tid: request.tid, tid_start, original, placed, cpu: request.cpu, mask }
}

/// The CPUs that a thread may run on afterwards: those requested among those that it had.
fn among(request: &ThreadMove, had: &CpuSet) -> CpuSet {
    let asked = request.cpus.as_ref().map(|cpus| cpus.intersection(had));
    asked.filter(|cpus| cpus.contains(request.cpu)).unwrap_or_else(|| [request.cpu].into_iter().collect())
}

fn is_given(request: &ThreadMove, thread: &ThreadEntry, mask: &CpuSet) -> bool {
    displaced::is_given(request.pid, request.tid, mask, &thread.ours)
}

/// What a refusal of `sched_setaffinity(2)` means. The text for a missing privilege names no
/// thread, so that it can be printed once.
fn refusal(error: &io::Error, cpu: CpuId) -> ActionOutcome {
    let why = match error.raw_os_error() {
        Some(libc::ESRCH) => return ActionOutcome::Vanished,
        Some(libc::EPERM) => {
            let remedy = privilege::remedy();
            format!("without CAP_SYS_NICE isobar cannot move the threads of others: run as root, or {remedy}")
        }
        Some(libc::EINVAL) => {
            format!(
                "cpu {cpu} is offline or outside the thread's cpuset (cpuset.cpus): the next epoch reads again which \
                 CPUs it may use"
            )
        }
        _ => format!("the kernel refused to bind a thread to cpu {cpu}: {error}"),
    };
    ActionOutcome::Refused { errno: error.raw_os_error(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_reason_and_the_remedy() {
        let say = |errno| refusal(&io::Error::from_raw_os_error(errno), CpuId(3));
        assert_eq!(say(libc::ESRCH), ActionOutcome::Vanished);
        let ActionOutcome::Refused { errno, why } = say(libc::EPERM) else { panic!() };
        assert_eq!(errno, Some(libc::EPERM));
        assert!(why.contains("CAP_SYS_NICE") && why.contains(privilege::recipe()), "{why}");
        let ActionOutcome::Refused { why, .. } = say(libc::EINVAL) else { panic!() };
        assert!(why.contains("cpu 3 is offline or outside"), "{why}");
    }

    #[test]
    fn isobar_itself_and_what_never_was_are_not_touched() {
        let prepared = |pid: Pid, start| {
            let (tid, cpu) = (Tid(pid.0), CpuId(0));
            let request = ThreadMove { pid, pid_start: start, tid, tid_start: start, cpu, cpus: None, pinned: false };
            prepare(&Ledger::new("boot".into()), &request)
        };
        let own = identity::own_pid();
        let left = prepared(own, identity::process(own).unwrap().start);
        assert!(matches!(left, Intent::Settled(ActionOutcome::LeftAlone { .. })), "{left:?}");
        for (pid, start) in [(Pid(u32::MAX), 1), (Pid(1), u64::MAX)] {
            assert_eq!(prepared(pid, start), Intent::Settled(ActionOutcome::Vanished), "{pid}");
        }
    }
}
