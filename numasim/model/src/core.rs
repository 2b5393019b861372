//! The part of a CPU's core that decides what overlaps: the registers that wait for loads
//! (scoreboard.rs), and the machine, which says when these loads arrive. The core is called for
//! blocks and accesses in the order in which the CPU executes them, and returns how long the CPU is
//! stalled.

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
    /// The virtual address.
    pub address: u64,
    /// The physical address.
    pub physical: u64,
    /// Whether it stores; otherwise it loads.
    pub store: bool,
}

/// When an access begins, how long its page walk takes (both in picoseconds), and how many
/// instructions came before.
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

    /// Whether the core waits for anything.
    #[must_use]
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.score.is_waiting()
    }

    /// Forgets everything that the core waits for.
    pub fn clear(&mut self) {
        self.score.clear();
    }

    /// A block began while the core waited for nothing: like [`Self::begin`], at any time.
    #[inline]
    pub fn began(&mut self, block: &'static Block) {
        self.score.began(block);
    }

    /// A block begins at a time in picoseconds and after a number of instructions. Returns how long
    /// the CPU is stalled for loads that are too far behind.
    #[inline]
    pub fn begin(&mut self, machine: &mut Machine, block: &'static Block, now: u64, instruction: u64) -> u64 {
        if self.score.enter(block, now) { machine.due(self.cpu, now, instruction) } else { 0 }
    }

    /// Like [`Self::access`], for accesses that the private cache answers at once and that need
    /// nothing that the core waits for. Returns the picoseconds that the access takes. `None` if it
    /// is not such an access; nothing has changed then. Not for a store around the caches. The
    /// reference is read only if necessary, because the host does not have it in its caches.
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
        // The page walk of a line that is on its way only delays the line's arrival.
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

    /// A fence: returns how long the CPU is stalled until it waits for nothing.
    pub fn fence(&mut self, machine: &mut Machine, now: u64) -> u64 {
        self.score.clear();
        machine.drain(self.cpu, now)
    }
}
