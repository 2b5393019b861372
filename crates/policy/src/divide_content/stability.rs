//! Records what makes a group unstable in terms of contention (section V.C): migrations that are
//! still under way, loads that are not its own, and a recent balancing. It also records when each
//! program moved.

use super::migrations::Moved;
use super::partitioner::Partitioner;
use isobar_model::{Observation, Pid, Tid};

/// Epochs after which a thread that did not arrive is no longer waited for: the kernel has put it
/// elsewhere.
const PATIENCE: u32 = 3;

/// What was done so far.
#[derive(Debug, Default)]
pub struct Stability {
    under_way: Vec<UnderWay>,
    /// When programs last moved, in seconds, ascending by pid.
    moved: Vec<(Pid, f64)>,
    groups: Vec<State>,
    /// The number of comparisons in a row in which each pair of groups was uneven.
    uneven: Vec<u32>,
    /// Whether there was an epoch before.
    begun: bool,
}

#[derive(Clone, Copy, Debug)]
struct State {
    balanced: Option<f64>,
    pending: bool,
    /// Whether the group's loads in the last epoch were its own.
    calm: bool,
    /// A fingerprint of the programs here, and the number of epochs for which it has been the same.
    programs: u64,
    unchanged: u32,
}

impl Default for State {
    fn default() -> Self {
        Self { balanced: None, pending: false, calm: true, programs: 0, unchanged: u32::MAX }
    }
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    pid: Pid,
    tid: Tid,
    from: usize,
    to: usize,
    epochs: u32,
}

impl Stability {
    /// Takes an epoch: records which threads have arrived, and forgets those that are gone.
    pub fn observe(&mut self, seen: &Observation, partitioner: &Partitioner) {
        self.groups.resize(partitioner.groups().list.len(), State::default());
        self.uneven.resize(self.groups.len() * self.groups.len(), 0);
        self.see_programs(partitioner);
        self.moved.retain(|(pid, _)| partitioner.programs().binary_search_by_key(pid, |program| program.pid).is_ok());
        self.groups.iter_mut().for_each(|group| group.pending = false);
        if self.under_way.is_empty() {
            return;
        }
        self.under_way.iter_mut().for_each(|thread| thread.epochs += 1);
        let place = |tid: Tid| {
            let thread = seen.threads().map(|(_, thread)| thread).find(|thread| thread.tid == tid);
            thread.map(|thread| partitioner.llc_of(thread))
        };
        self.under_way.retain(|thread| {
            let there = place(thread.tid).is_none_or(|llc| llc == Some(thread.to));
            !there && thread.epochs < PATIENCE
        });
        for thread in &self.under_way {
            self.groups[thread.from].pending = true;
            self.groups[thread.to].pending = true;
        }
    }

    /// Stops waiting for threads whose move was refused.
    pub fn refused(&mut self, is_refused: impl Fn(Pid, Tid) -> bool) {
        self.under_way.retain(|thread| !is_refused(thread.pid, thread.tid));
    }

    /// Records, at the end of a decision, which groups' loads in the next epoch will be their own.
    pub fn end_epoch(&mut self, partitioner: &Partitioner) {
        for (group, state) in self.groups.iter_mut().enumerate() {
            state.calm = !partitioner.is_sampling(group) && !state.pending;
        }
    }

    /// `migrations_pending`.
    #[must_use]
    pub fn pending(&self, group: usize) -> bool {
        self.groups[group].pending
    }

    /// Whether the loads measured in the last epoch are those of the group itself.
    #[must_use]
    pub fn calm(&self, group: usize) -> bool {
        self.groups[group].calm
    }

    /// Compares each group's programs with those of the epoch before.
    fn see_programs(&mut self, partitioner: &Partitioner) {
        for (group, state) in self.groups.iter_mut().enumerate() {
            let now = partitioner.fingerprint(group);
            let same = now == state.programs || !self.begun;
            state.unchanged = if same { state.unchanged.saturating_add(1) } else { 1 };
            state.programs = now;
        }
        self.begun = true;
    }

    /// Takes a comparison of two groups. Returns whether they are lastingly uneven: over some
    /// epochs with the same programs, or over ten times as many comparisons with any programs. A
    /// program that is between two runs is no reason to move others.
    pub fn lasts(&mut self, a: usize, b: usize, uneven: bool, epochs: u32) -> bool {
        let at = a.min(b) * self.groups.len() + a.max(b);
        self.uneven[at] = if uneven { self.uneven[at].saturating_add(1) } else { 0 };
        let unchanged = self.groups[a].unchanged.min(self.groups[b].unchanged);
        uneven && (unchanged >= epochs || self.uneven[at] >= epochs.saturating_mul(10))
    }

    /// `recently_balanced`.
    #[must_use]
    pub fn rests(&self, group: usize, now: f64, seconds: f64) -> bool {
        self.groups[group].balanced.is_some_and(|last| now - last < seconds)
    }

    /// Whether a program moved less than `seconds` ago.
    #[must_use]
    pub fn resides(&self, pid: Pid, now: f64, seconds: f64) -> bool {
        let last = self.moved.binary_search_by_key(&pid, |(pid, _)| *pid).ok();
        last.is_some_and(|at| now - self.moved[at].1 < seconds)
    }

    /// Records that threads move.
    pub fn moved(&mut self, threads: &[Moved], now: f64) {
        for Moved { pid, tid, from, to } in threads {
            match self.moved.binary_search_by_key(pid, |(pid, _)| *pid) {
                Ok(at) => self.moved[at].1 = now,
                Err(at) => self.moved.insert(at, (*pid, now)),
            }
            self.under_way.push(UnderWay { pid: *pid, tid: *tid, from: *from, to: *to, epochs: 0 });
        }
    }

    /// Records that two groups were balanced.
    pub fn balanced(&mut self, a: usize, b: usize, now: f64) {
        for group in [a, b] {
            self.groups[group].balanced = Some(now);
            self.groups[group].pending = true;
        }
    }
}
