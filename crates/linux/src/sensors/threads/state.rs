//! Holds what is known of a process and its threads from one scan to the next, and decides when a
//! thread may be taken to be asleep. Pure: [`super::table`] does the reading.

use crate::kernel::affinity::is_pinned;
use crate::kernel::stat::Stat;
use isobar_model::{Cgroup, CpuId, CpuSet, NodeMap, Pages, Tid, num};
use std::sync::Arc;

/// Inside an active process, a thread without a tick in this number of readings is taken to be
/// asleep, ...
const ASLEEP: u32 = 4;
/// ... and is then read in one of this number of samples only, by turns, unless ticks of the
/// process are unaccounted for.
const IDLE_TURNS: u64 = 4;
/// Number of active threads for which one tick of difference is tolerated.
const ROUNDING: i64 = 8;

/// A process as last read.
#[derive(Clone, Debug, Default)]
pub struct ProcessState {
    /// Start time in ticks since boot.
    pub start: u64,
    /// Its name; bytes that are not UTF-8 are replaced.
    pub name: Arc<str>,
    /// Its cgroup.
    pub cgroup: Option<Arc<Cgroup>>,
    /// User and system time of all its threads, ended ones too, in ticks.
    pub ticks: u64,
    /// The same since the last sample; 0 at the first.
    pub load: u64,
    /// Its threads, ascending by tid.
    pub threads: Vec<ThreadState>,
    /// Resident pages by node, as last read.
    pub pages: Option<NodeMap<Pages>>,
    /// The sample at which they were read.
    pub pages_read: Option<u64>,
    /// The sample at which they were first read.
    pub pages_since: Option<u64>,
    /// How long the last reading took.
    pub pages_took: std::time::Duration,
    pub(super) cpuset: Option<CpuSet>,
    pub(super) count: u64,
    /// Whether it ever had more than one thread: then the process's own stat is not that of its
    /// thread.
    pub(super) several: bool,
    /// Ticks of the process that no thread that was read has used; see [`Self::is_short_of_ticks`].
    pub(super) unaccounted: i64,
}

/// A thread as last read.
#[derive(Clone, Debug)]
pub struct ThreadState {
    /// Its id.
    pub tid: Tid,
    /// Start time in ticks since boot.
    pub start: u64,
    /// User and system time in ticks.
    pub ticks: u64,
    /// The same since the last sample; all of it at the first.
    pub load: u64,
    /// The CPU last run on.
    pub cpu: Option<CpuId>,
    /// Its owner's mask within its cpuset.
    pub allowed: Option<CpuSet>,
    /// Whether its owner narrowed its affinity.
    pub pinned: bool,
    /// Whether it is a virtual CPU of a guest.
    pub vcpu: bool,
    /// Whether its mask differs from the one before, and [`Self::is_doubtful`] was not called
    /// since.
    pub(super) changed: bool,
    /// Whether it was taken to be asleep in the last scan, and so was not read.
    pub(super) skipped: bool,
    /// Number of readings in a row without a tick.
    pub(super) idle: u32,
}

/// How a process is looked at in one scan.
pub(super) struct Pass<'a> {
    pub(super) round: u64,
    pub(super) fresh: bool,
    pub(super) full: bool,
    pub(super) online: &'a CpuSet,
}

impl ProcessState {
    /// Whether the process used clearly more time than the threads that were read: then a sleeping
    /// thread has woken. Each thread's ticks are rounded separately, so a small difference for each
    /// active thread is only rounding. It swings around zero from sample to sample and must be
    /// summed with its sign.
    pub(super) fn is_short_of_ticks(&mut self) -> bool {
        let used: u64 = self.threads.iter().map(|thread| thread.load).sum();
        self.unaccounted = self.unaccounted.saturating_add_unsigned(self.load).saturating_sub_unsigned(used);
        let active = self.threads.iter().filter(|thread| thread.load > 0).count();
        let skipped = self.threads.iter().any(|thread| thread.skipped);
        skipped && self.unaccounted > 1 + i64::from(num::narrow(active)) / ROUNDING
    }

    /// Whether its cgroup's cpuset permits only some of the CPUs.
    #[must_use]
    pub fn is_confined(&self, online: &CpuSet) -> bool {
        self.cpuset.as_ref().is_some_and(|cpuset| !online.is_subset(cpuset))
    }

    pub(super) fn first(seen: &Stat) -> Self {
        Self { start: seen.start, ticks: seen.ticks, ..Self::default() }
    }
}

impl Pass<'_> {
    /// Whether a thread may be left unread: one that was idle the last few times is read by turns.
    pub(super) const fn may_skip(&self, thread: &ThreadState) -> bool {
        thread.idle >= ASLEEP && !self.full && !is_turn(self.round, thread.tid.0, IDLE_TURNS)
    }
}

impl ThreadState {
    pub(super) const fn first(tid: Tid, start: u64) -> Self {
        let (allowed, pinned, changed, skipped) = (None, false, false, false);
        Self { tid, start, ticks: 0, load: 0, cpu: None, allowed, pinned, vcpu: false, changed, skipped, idle: 0 }
    }

    /// Stores its mask, and judges by its cpuset (`None` = any CPU) whether its owner narrowed it.
    pub(super) fn take_mask(&mut self, mask: Option<CpuSet>, cpuset: Option<&CpuSet>, online: &CpuSet) {
        self.changed |= mask != self.allowed;
        self.pinned = mask.as_ref().is_some_and(|mask| is_pinned(mask, cpuset, online));
        self.allowed = mask;
    }

    /// Whether its mask changed to one that this cpuset does not explain. Returns true at most once
    /// for each change.
    pub(super) fn is_doubtful(&mut self, cpuset: Option<&CpuSet>) -> bool {
        let outside = |mask: &CpuSet| cpuset.is_some_and(|cpuset| !mask.is_subset(cpuset));
        let doubtful = self.changed && (self.pinned || self.allowed.as_ref().is_some_and(outside));
        self.changed = false;
        doubtful
    }
}

/// Whether it is the turn of an id, which comes in one of `turns` rounds; ids are spread over the
/// rounds.
pub(super) const fn is_turn(round: u64, id: u32, turns: u64) -> bool {
    (round + id as u64).is_multiple_of(turns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::cpus as set;

    fn thread(tid: u32, load: u64, skipped: bool) -> ThreadState {
        ThreadState { load, skipped, ..ThreadState::first(Tid(tid), 0) }
    }

    fn process(load: u64, threads: Vec<ThreadState>) -> ProcessState {
        ProcessState { load, threads, ..ProcessState::default() }
    }

    #[test]
    fn a_sleeper_that_wakes_leaves_ticks_unaccounted() {
        let threads = vec![thread(1, 50, false), thread(2, 0, true)];
        // 51 ticks, of which 50 are known: rounding. 53: thread 2 ran.
        assert!(!process(51, threads.clone()).is_short_of_ticks());
        assert!(process(53, threads).is_short_of_ticks());
        assert!(!process(99, vec![thread(1, 50, false)]).is_short_of_ticks(), "no thread was skipped");
    }

    #[test]
    fn rounding_does_not_add_up() {
        let mut swinging = process(0, vec![thread(1, 50, false), thread(2, 0, true)]);
        for round in 0..100 {
            swinging.load = if round % 2 == 0 { 51 } else { 49 };
            assert!(!swinging.is_short_of_ticks(), "round {round}");
        }
        // One tick in each sample that no thread used is found at the second sample.
        swinging.load = 51;
        assert!(!swinging.is_short_of_ticks());
        assert!(swinging.is_short_of_ticks());
    }

    #[test]
    fn a_changed_mask_that_the_cpuset_does_not_explain_is_doubted_once() {
        let (online, old) = (set("0-7"), set("4-7"));
        let mut thread = thread(1, 0, false);
        let mut take = |mask: &str| {
            thread.take_mask(Some(set(mask)), Some(&old), &online);
            (thread.pinned, thread.is_doubtful(Some(&old)))
        };
        assert_eq!(take("4-7"), (false, false), "the whole cpuset");
        assert_eq!(take("0-1"), (true, true), "the cpuset has moved, or was left");
        assert_eq!(take("0-1"), (true, false), "nothing new");
        assert_eq!(take("2-7"), (false, true), "the cpuset was widened");
        assert_eq!(take("5"), (true, true), "its owner narrowed it, or the cpuset was");
    }

    #[test]
    fn only_threads_that_were_idle_for_some_readings_are_skipped() {
        let online = CpuSet::new();
        let pass = Pass { round: 1, fresh: false, full: false, online: &online };
        let idle = |readings| ThreadState { idle: readings, ..thread(4, 0, false) };
        assert!(!pass.may_skip(&idle(ASLEEP - 1)));
        assert!(pass.may_skip(&idle(ASLEEP)));
        assert!(!Pass { round: 4, ..pass }.may_skip(&idle(ASLEEP)), "its turn");
    }
}
