//! Judges whether an open event counts at all. A perf event may open and read 0 for ever: its
//! number may be one that the CPU lacks, a hypervisor may let the event be programmed and never
//! count it, or firmware may keep a cache from reporting. The zeros of such an event look like
//! those of threads that never miss, so an event is trusted only once it has counted. Pure.
//!
//! ```text
//! unproven --any thread counted one--> counts      its values are handed on
//!     |                                  |
//!     | nothing came of it for long      | (instructions, cycles) a thread ran, and it stood still
//!     v                                  v
//!   silent <-----------------------------+        "not measured", with the reason, until it counts
//! ```
//!
//! The time until an event is silent depends on the event. Instructions and cycles advance with
//! every nanosecond that a thread runs, so 10 ms of one thread without one are enough, at any time.
//! LLC misses and references do not: a loop in the L1 causes none. They are silent if nothing was
//! counted since the start while at least two threads did real work (`A_WITNESS`), and all threads
//! together `ENOUGH`. After their first count they are trusted, whatever they read. If instructions
//! and cycles have stopped (a virtual machine moved to a host without a PMU), LLC events must prove
//! themselves again.
//!
//! Where user mode alone is counted, as instructions always are, a thread may run for long in the
//! kernel and count nothing. Such events that have counted once are trusted from then on, unless
//! cycles count the kernel's, too, and stand still.
//!
//! Software events are counted by the kernel itself: they count, or they do not open. They need no
//! proof, and a thread without page faults has none.

use super::events::Role;
use isobar_model::{Count, Counters};

/// Nanoseconds on the counter without one instruction or cycle after which an event is silent: no
/// thread does that.
const LONG: u64 = 10_000_000;

/// A thread is evidence about LLC events once it has executed this number of instructions (cycles,
/// if instructions are not counted): some 50 ms of work. A thread that has just started may not
/// have missed yet.
const A_WITNESS: u64 = 100_000_000;

/// Number of witnesses, and of instructions of all threads together ([`ENOUGH`]), without one LLC
/// miss, after which an event is silent: about a second of work. Two programs whose memory fits
/// into their L1 caches could reach that. Both would have to have been started long before they
/// were counted, and the kernel's own work for them (interrupts, system calls) would have to cause
/// no miss either. Nothing can be done about that case, and the reason that is reported mentions
/// it.
const WITNESSES: u32 = 2;
/// See [`WITNESSES`].
const ENOUGH: u64 = 2_000_000_000;

/// What is known of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventState {
    /// It has not counted yet, and could not be expected to have.
    #[default]
    Unproven,
    /// It has counted.
    Counts,
    /// It should have counted, and has not.
    Silent,
}

/// What threads did while an event counted nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Threads that did real work.
    pub threads: u32,
    /// Instructions of all threads together; cycles where instructions are not counted.
    pub work: u64,
    /// Whether `work` is in instructions.
    pub in_instructions: bool,
}

/// One event.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    standing: EventState,
    /// In the readings since the last conclusion: whether any thread counted one, and whether a
    /// thread ran long without counting one.
    counted: bool,
    in_vain: bool,
    evidence: Evidence,
}

/// Position of the first LLC event among the roles.
const LLC: usize = 2;

/// The evidence about the events of one core PMU.
#[derive(Clone, Debug)]
pub struct Proof {
    /// One for each role: first the two that advance with every nanosecond, then those of the LLC.
    trials: [Trial; Role::ALL.len()],
    certain: bool,
    /// The roles that are counted in user mode alone.
    user_only: Vec<Role>,
}

impl Proof {
    /// Nothing is proven yet, unless the events are `certain`: counted by the kernel itself.
    /// `user_only` are the roles that are counted in user mode alone.
    #[must_use]
    pub fn new(certain: bool, user_only: Vec<Role>) -> Self {
        let standing = if certain { EventState::Counts } else { EventState::Unproven };
        let trials = [Trial { standing, ..Trial::default() }; Role::ALL.len()];
        Self { trials, certain, user_only }
    }

    /// Takes two readings of one thread as evidence, the older first.
    pub fn hear(&mut self, old: &Counters, new: &Counters) {
        if self.certain {
            return;
        }
        for (trial, role) in self.trials.iter_mut().zip(Role::ALL) {
            trial.hear(role.of(*old), role.of(*new));
        }
        let (in_instructions, old, new) = match (new.instructions, new.cycles) {
            (Some(count), _) if count.value > 0 => (true, old.instructions, count),
            (_, Some(count)) => (false, old.cycles, count),
            _ => return,
        };
        let old = old.unwrap_or_default().value;
        self.trials[LLC..].iter_mut().for_each(|trial| trial.hear_of_work(old, new.value, in_instructions));
    }

    /// Concludes from all readings since the last conclusion.
    pub fn conclude(&mut self) {
        if self.certain {
            return;
        }
        let (steady, rare) = self.trials.split_at_mut(LLC);
        let in_user_mode = |role| self.user_only.contains(&role);
        // Cycles of the kernel count, too, and there were none: it was no stay in the kernel.
        let cycles = &steady[Role::Cycles as usize];
        let stopped = !in_user_mode(Role::Cycles) && cycles.in_vain && !cycles.counted;
        for (trial, role) in steady.iter_mut().zip(Role::ALL) {
            trial.conclude_steady(in_user_mode(role) && !stopped);
        }
        rare.iter_mut().for_each(Trial::conclude_rare);
        if self.stands_still() {
            self.trials[LLC..].iter_mut().for_each(Trial::start_again);
        }
    }

    /// Whether the whole PMU has stopped, or never started.
    #[must_use]
    pub fn stands_still(&self) -> bool {
        let both = [Role::Instructions, Role::Cycles].map(|role| self.standing(role));
        both.contains(&EventState::Silent) && !both.contains(&EventState::Counts)
    }

    /// What is known of an event.
    #[must_use]
    pub const fn standing(&self, role: Role) -> EventState {
        self.trials[role as usize].standing
    }

    /// What threads did while an event counted nothing.
    #[must_use]
    pub const fn evidence(&self, role: Role) -> Evidence {
        self.trials[role as usize].evidence
    }

    /// The counts of a reading that are trusted.
    #[must_use]
    pub fn believed(&self, raw: &Counters) -> Counters {
        let mut believed = *raw;
        for role in Role::ALL.into_iter().filter(|role| self.standing(*role) != EventState::Counts) {
            *role.slot(&mut believed) = None;
        }
        believed
    }
}

impl Trial {
    fn hear(&mut self, old: Option<Count>, new: Option<Count>) {
        let (old, Some(new)) = (old.unwrap_or_default(), new) else { return };
        self.counted |= new.value > old.value;
        self.in_vain |= new.value == old.value && new.running.saturating_sub(old.running) > LONG;
    }

    /// Evidence is only added while it can change the standing, so that a reported reason keeps its
    /// figures.
    fn hear_of_work(&mut self, old: u64, new: u64, in_instructions: bool) {
        if self.standing != EventState::Unproven {
            return;
        }
        // A thread that only sleeps has counted neither instructions nor cycles: it is no evidence,
        // not even of the unit.
        let done = new.saturating_sub(old);
        if done == 0 {
            return;
        }
        let Evidence { threads, work, .. } = self.evidence;
        let threads = if old < A_WITNESS && new >= A_WITNESS { threads.saturating_add(1) } else { threads };
        self.evidence = Evidence { threads, work: work.saturating_add(done), in_instructions };
    }

    /// Forgets the work, but not which threads have done real work.
    const fn start_again(&mut self) {
        self.standing = EventState::Unproven;
        self.evidence.work = 0;
    }

    /// Concludes on an event that a running thread cannot avoid counting, in one mode or the other.
    fn conclude_steady(&mut self, user_only: bool) {
        let heard = (std::mem::take(&mut self.counted), std::mem::take(&mut self.in_vain));
        self.standing = match heard {
            (true, _) => EventState::Counts,
            (false, true) if user_only && self.standing == EventState::Counts => EventState::Counts,
            (false, true) => EventState::Silent,
            (false, false) => self.standing,
        };
    }

    /// Concludes on an event that a thread may never cause.
    fn conclude_rare(&mut self) {
        let Evidence { threads, work, .. } = self.evidence;
        let counted = std::mem::take(&mut self.counted);
        if counted {
            self.standing = EventState::Counts;
        } else if self.standing == EventState::Unproven && threads >= WITNESSES && work >= ENOUGH {
            self.standing = EventState::Silent;
        }
    }
}

#[cfg(test)]
#[path = "proof_tests.rs"]
mod tests;
