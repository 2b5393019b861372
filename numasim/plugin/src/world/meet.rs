//! Where CPUs meet: lines that several CPUs use with atomics (`numasim_model::Shared`), and the
//! time-stamp counter. There a CPU continues only when no running CPU is behind it in guest time.
//! Otherwise it is left, in the middle of its block, and begins the same instruction again when the
//! others have caught up. Locks are therefore taken in the order of guest time, and no CPU reads an
//! earlier time than another CPU has read before.

use super::World;
use crate::datum::Site;
use crate::{recent, steady};

impl World {
    /// A CPU loads a line that may be shared, with the first of the last `rest` instructions of the
    /// block. True: the CPU is to be left, because others have to come first. If another CPU wrote
    /// the line later than now, this CPU is charged until that time.
    #[cold]
    pub(super) fn meets(&mut self, line: u64, rest: u64) -> bool {
        let now = self.time_before(rest);
        if !self.shared.is(line, now) {
            return false;
        }
        if self.must_wait(now, rest) {
            return true;
        }
        let written = self.shared.written(line, self.cpu).unwrap_or(0);
        if written > now {
            self.charge(written - now);
        }
        false
    }

    /// A load of an atomic instruction; like [`World::load`]. Its store finds the line in this
    /// cache alone, because processors request the line once, for both.
    pub fn atomic(&mut self, site: Site, address: u64, physical: impl FnOnce(&mut Self) -> Option<u64>) -> bool {
        let Some(physical) = physical(self) else { return false };
        let now = self.time_before(site.rest());
        self.shared.atomic(physical / 64, self.cpu, now);
        recent::forget(address / 64);
        self.reads(site, address, physical, true)
    }

    /// RDTSC. It takes long until memory is modelled, because a booting kernel reads the counter
    /// repeatedly to let time pass, and each reading costs the host a signal. True: the CPU is to
    /// be left.
    pub fn counter(&mut self, rest: u64) -> bool {
        let now = self.time_before(rest);
        if self.must_wait(now, rest) {
            return true;
        }
        let cost = if self.modelling { self.takes(self.counter) } else { super::COUNTER_AT_BOOT };
        self.charge(cost);
        steady::stop();
        self.ahead = self.windows.local(self.cpu) - now;
        false
    }

    /// The CPU's time when it reaches the first of the last `rest` instructions of its block.
    pub(super) fn time_before(&self, rest: u64) -> u64 {
        self.windows.local(self.cpu).saturating_sub(rest * self.instruction)
    }

    /// Whether another CPU is behind this one. If so, the instructions that this CPU then does not
    /// execute are given back.
    fn must_wait(&mut self, now: u64, rest: u64) -> bool {
        let waits = self.windows.behind(self.cpu, now);
        if waits {
            self.waiting[self.cpu] = true;
            self.give_back(rest);
        }
        waits
    }

    /// A CPU that waited is about to run: whether others are still behind it.
    pub(super) fn still_waits(&mut self, cpu: usize) -> bool {
        if self.waiting[cpu] {
            self.waiting[cpu] = self.windows.behind(cpu, self.windows.local(cpu));
        }
        self.waiting[cpu]
    }

    /// Takes back instructions that were charged with the block and are not executed now.
    pub(super) fn give_back(&mut self, rest: u64) {
        self.returned = rest;
        self.instructions[self.cpu].update(|all| all - rest);
        self.windows.uncharge(self.cpu, rest * self.instruction);
    }

    /// The CPU could not be left, so it executes the instructions that were given back.
    pub fn stays(&mut self) {
        let rest = std::mem::take(&mut self.returned);
        self.waiting[self.cpu] = false;
        self.repeating[self.cpu] = false;
        self.executes(rest);
        self.charge(rest * self.instruction);
    }
}
