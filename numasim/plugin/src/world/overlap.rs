//! What a CPU does not wait for: the calls to `numasim_model::Core`, which knows what overlaps.

use super::World;
use crate::datum::Begin;
use crate::{recent, steady};
use numasim_model::flow::Block;

impl World {
    /// Returns the one copy of a block that lives as long as QEMU does. QEMU does not say when it
    /// discards translated code, and translates the same code repeatedly.
    pub fn keep(&mut self, block: Block) -> &'static Block {
        if let Some(known) = self.blocks.get(&block) {
            return known;
        }
        let kept: &'static Block = Box::leak(Box::new(block));
        self.blocks.insert(kept);
        kept
    }

    /// A block begins. True: it must not begin, and the CPU is to be left.
    #[inline]
    pub fn begins(&mut self, begin: Begin, of_kernel: bool) -> bool {
        if let Some(before) = steady::take_block() {
            self.cores[self.cpu].began(before);
        }
        let leaves = self.block(begin.count(), of_kernel);
        if !leaves {
            self.enter(begin);
        }
        leaves
    }

    #[inline]
    fn enter(&mut self, begin: Begin) {
        let (cpu, now) = (self.cpu, self.time_before(begin.count()));
        let stall = self.cores[cpu].begin(&mut self.machine, begin.get(), now, self.instructions[cpu].get());
        if stall > 0 {
            self.charge(stall);
        }
    }

    /// An instruction that waits for all accesses before it; `rest` is the number of instructions
    /// of the block from this one on.
    pub fn fence(&mut self, rest: u64) {
        let now = self.time_before(rest);
        let stall = self.cores[self.cpu].fence(&mut self.machine, now);
        if stall > 0 {
            self.charge(stall);
        }
    }

    /// A prefetch of an address whose page some CPU has used.
    pub fn prefetch(&mut self, address: u64) {
        if self.swift {
            return;
        }
        if let Some(physical) = self.pages.known(self.cpu, address) {
            recent::forget(address / 64);
            let outcome = self.machine.prefetch(self.cpu, physical, self.windows.local(self.cpu));
            if outcome.stall > 0 {
                self.charge(outcome.stall);
            }
        }
    }

    /// Forgets all outstanding accesses.
    pub(super) fn calm(&mut self) {
        recent::forget_all();
        self.machine.calm();
        self.cores.iter_mut().for_each(numasim_model::Core::clear);
    }
}
