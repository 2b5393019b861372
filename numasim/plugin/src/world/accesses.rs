//! Accesses to memory: what each finds in the machine, and how long the CPU waits for it.

use super::World;
use super::clock::ASKED;
use crate::datum::Site;
use crate::{recent, steady};
use numasim_model::x86::REPEAT_CYCLES;
use numasim_model::{Access, Spaces};
use std::sync::atomic::Ordering::Relaxed;

impl World {
    /// A store. `physical` is called for the physical address only if that matters, and returns
    /// `None` for a device's registers.
    #[inline]
    pub fn store(&mut self, site: Site, address: u64, physical: impl FnOnce(&mut Self) -> Option<u64>) {
        let Some(physical) = physical(self) else { return };
        self.spaces.store(self.cpu, physical);
        if self.hits(site, address, physical, true) {
            return;
        }
        self.access(site, address, physical, true);
        if self.shared.may_be(self.line) {
            self.shared.write(self.line, self.cpu, self.windows.local(self.cpu));
        }
    }

    /// A load. True: the CPU is to be left, and must load again.
    #[inline]
    pub fn load(&mut self, site: Site, address: u64, physical: impl FnOnce(&mut Self) -> Option<u64>) -> bool {
        let Some(physical) = physical(self) else { return false };
        !self.hits(site, address, physical, false) && self.reads(site, address, physical, false)
    }

    /// A load; `owns` means that no other cache may keep the line, as for a store.
    #[inline]
    pub(super) fn reads(&mut self, site: Site, address: u64, physical: u64, owns: bool) -> bool {
        if self.shared.may_be(physical / 64) && self.meets(physical / 64, site.rest()) {
            return true;
        }
        self.access(site, address, physical, owns);
        false
    }

    /// An access that the private cache answers and that needs nothing else, which is most
    /// accesses. False: it is not such an access, and nothing has changed.
    #[inline]
    fn hits(&mut self, site: Site, address: u64, physical: u64, store: bool) -> bool {
        if self.swift || self.trace.is_some() || (store && site.around()) || self.shared.may_be(physical / 64) {
            return false;
        }
        let access = Access { address, physical, store };
        let (windows, cpu, instruction) = (&self.windows, self.cpu, self.instruction);
        let now = || windows.local(cpu).saturating_sub(site.rest() * instruction);
        let Some(takes) = self.cores[cpu].hit(&mut self.machine, site.get(), access, now) else { return false };
        self.line = physical / 64;
        self.remember(address, store, !site.around());
        if takes > 0 {
            self.charge(takes);
        }
        true
    }

    fn access(&mut self, site: Site, address: u64, physical: u64, store: bool) {
        self.line = physical / 64;
        if self.is_free(physical) {
            self.cost = (address / 64, 0, 0);
            return;
        }
        let (cpu, rest) = (self.cpu, site.rest());
        // The block was charged as a whole when it began.
        let (now, instruction) = (self.time_before(rest), self.instructions[cpu].get().saturating_sub(rest));
        let before = self.trace.is_some().then(|| self.machine.cpu_counters(cpu));
        let access = Access { address, physical, store };
        let outcome = self.cores[cpu].access(&mut self.machine, site.get(), access, now, instruction);
        if let Some(before) = before {
            let after = self.machine.cpu_counters(cpu);
            let waited = after.stall_ps.wrapping_sub(before.stall_ps);
            self.cost = (address / 64, after.llc_misses.wrapping_sub(before.llc_misses), waited);
        }
        // Finding a line without a lookup does not refresh its page in the TLB, from which this
        // walk may have evicted the page.
        if outcome.walked {
            recent::forget_all();
        }
        // The next access must be looked up if the line is on its way, for which an access that
        // overlaps with nothing does not wait, if CPUs meet there, and if a daemon used it, whose
        // next access is free.
        let comes = outcome.arrives > now + outcome.stall || site.get().alone && self.machine.may_come(cpu, physical);
        self.remember(address, store, !comes && !site.around() && !self.swift && !self.shared.may_be(self.line));
        if outcome.stall > 0 {
            self.charge(outcome.stall);
        }
    }

    /// Records whether a line may be used again without a lookup. It may if it is `ready` and
    /// nothing else is on its way: dependencies then need not be known. Stores that may end a
    /// daemon's mark are all looked up.
    #[inline]
    fn remember(&self, address: u64, store: bool, ready: bool) {
        let line = address / 64;
        if self.cores[self.cpu].is_waiting() {
            steady::stop();
            recent::forget_all();
        } else if ready {
            recent::used(line, store && !Spaces::watches(line));
        } else {
            recent::forget(line);
        }
    }

    /// The physical address, if the CPU has used the page since addresses last changed their
    /// meaning.
    #[inline]
    pub fn translated(&self, address: u64) -> Option<u64> {
        self.translations[self.cpu].get(address)
    }

    /// Records the physical address of an address.
    #[inline]
    pub fn translates(&mut self, address: u64, physical: u64) {
        self.translations[self.cpu].put(address, physical);
        self.pages.note(self.cpu, address, physical);
    }

    /// A repeated string instruction begins, or continues.
    pub fn repeat(&mut self) {
        if !std::mem::take(&mut self.repeating[self.cpu]) {
            self.charge(self.takes(u64::from(REPEAT_CYCLES) * self.cycle));
        }
    }

    /// An access of a step of a repeated string instruction. True: the CPU is at the window's end
    /// and is to be left, and must do the step again.
    #[inline]
    pub fn step(
        &mut self,
        address: u64,
        store: bool,
        takes: u64,
        physical: impl FnOnce(&mut Self) -> Option<u64>,
    ) -> bool {
        if !recent::has(address / 64, store) {
            let Some(physical) = physical(self) else { return false };
            if store {
                self.spaces.store(self.cpu, physical);
            }
            self.access(Site::alone(), address, physical, store);
        }
        self.charge(self.takes(takes));
        let leaves = self.windows.is_over(self.cpu) || ASKED.load(Relaxed);
        if leaves {
            self.repeating[self.cpu] = true;
            self.give_back(1);
        }
        leaves
    }
}
