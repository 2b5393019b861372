//! The core of a CPU as far as it decides what overlaps: the registers that wait for loads
//! (scoreboard.rs), and the machine that says when these arrive. It is called for blocks and
//! accesses in the order in which the CPU executes them, and says how long the CPU is stalled.

use crate::flow::{Block, Reference};
use crate::issue::{Dispatch, Outcome};
use crate::machine::Machine;
use crate::scoreboard::Scoreboard;

/// See the head of the file.
#[derive(Clone, Debug)]
pub struct Core {
    cpu: usize,
    score: Scoreboard,
}

/// A load or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// As the program sees it.
    pub address: u64,
    /// Where it is.
    pub physical: u64,
    /// Or it loads.
    pub store: bool,
}

/// When an access begins, what its page walk takes (picoseconds), and how many instructions came
/// before.
#[derive(Clone, Copy)]
struct Begin {
    now: u64,
    walk: u64,
    instruction: u64,
}

impl Core {
    /// The core of a CPU.
    #[must_use]
    pub fn new(cpu: usize) -> Self {
        Self { cpu, score: Scoreboard::default() }
    }

    /// Whether anything is waited for.
    #[must_use]
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.score.is_waiting()
    }

    /// Nothing is waited for.
    pub fn clear(&mut self) {
        self.score.clear();
    }

    /// A block began while nothing was waited for: as [`Self::begin`], at any time.
    #[inline]
    pub fn began(&mut self, block: &'static Block) {
        self.score.began(block);
    }

    /// A block begins, at a time in picoseconds and after a number of instructions; how long
    /// the CPU is stalled for loads that are too far behind.
    #[inline]
    pub fn begin(&mut self, machine: &mut Machine, block: &'static Block, now: u64, instruction: u64) -> u64 {
        if self.score.enter(block, now) { machine.due(self.cpu, now, instruction) } else { 0 }
    }

    /// As [`Self::access`], where the private cache answers at once and the core waits for nothing
    /// that the access needs: the picoseconds that it takes. None: it is no such access, and
    /// nothing has changed. Not for a store around the caches; the reference is read only where it
    /// must be, since the host does not have it in its caches.
    #[inline]
    pub fn hit(
        &mut self,
        machine: &mut Machine,
        reference: &Reference,
        access: Access,
        now: impl FnOnce() -> u64,
    ) -> Option<u64> {
        let (Access { address, physical, store }, waiting) = (access, self.is_waiting());
        debug_assert!(!(store && reference.around), "a store around the caches");
        if !store && waiting && self.score.may_wait_for(address) {
            return None;
        }
        let takes = machine.hit(self.cpu, physical, store)?;
        if store && waiting && !reference.alone {
            self.score.store(reference, address, now());
        }
        Some(takes)
    }

    /// An access of the block that began last.
    #[inline]
    pub fn access(
        &mut self,
        machine: &mut Machine,
        reference: &Reference,
        access: Access,
        now: u64,
        instruction: u64,
    ) -> Outcome {
        let walk = machine.translate(self.cpu, access.address, access.physical);
        let found = self.look_up(machine, reference, access, Begin { now, walk, instruction });
        if walk == 0 {
            return found;
        }
        // The walk of a line that is on its way only makes the way longer.
        let stalls = if found.arrives > 0 && found.missed { 0 } else { machine.walks(self.cpu, walk) };
        Outcome { stall: found.stall + stalls, walked: true, ..found }
    }

    #[inline]
    fn look_up(&mut self, machine: &mut Machine, reference: &Reference, access: Access, begin: Begin) -> Outcome {
        let (Access { address, physical, store }, Begin { now, walk, instruction }) = (access, begin);
        if store && reference.around {
            let stall = machine.store_around(self.cpu, physical, now + walk);
            return Outcome { stall, missed: true, ..Outcome::default() };
        }
        if reference.alone || !machine.overlaps() {
            let stall = machine.access(self.cpu, physical, store);
            return Outcome { stall, missed: true, ..Outcome::default() };
        }
        let known = if self.is_waiting() { self.score.address(reference) } else { 0 };
        let ready = if walk > 0 { known.max(now) + walk } else { known };
        let outcome = machine.issue(self.cpu, physical, store, Dispatch { now, ready, instruction });
        if !store {
            let stored = if self.is_waiting() { self.score.stored(address) } else { 0 };
            let arrives = outcome.arrives.max(stored);
            if arrives > now + outcome.stall {
                self.score.load(reference, arrives);
            }
        } else if self.is_waiting() {
            self.score.store(reference, address, now);
        }
        outcome
    }

    /// A fence: how long the CPU is stalled until nothing is waited for.
    pub fn fence(&mut self, machine: &mut Machine, now: u64) -> u64 {
        self.score.clear();
        machine.drain(self.cpu, now)
    }
}
