//! The beginning of a block of instructions: they are charged to the CPU, and counted as the
//! kernel's or a program's. The kernel's code is in the upper half of the address space, so QEMU's
//! translation of a block says whose it is.

use super::World;
use crate::steady::{self, Charged};

impl World {
    /// A block of instructions begins. True: it must not begin, and the CPU is to be left.
    #[inline]
    pub fn block(&mut self, instructions: u64, of_kernel: bool) -> bool {
        let cpu = self.running.cpu();
        if (cpu != self.cpu || self.windows.is_halted(cpu)) && self.switch(cpu) {
            return true;
        }
        self.ahead = 0;
        self.runs(of_kernel);
        self.executes(instructions);
        self.charge(instructions * self.instruction);
        if !self.modelling || !self.cores[cpu].is_waiting() {
            self.steady();
        }
        false
    }

    /// From here on, the CPU runs the kernel, or a program. Until this changes, no block of the
    /// other kind begins without a call.
    #[inline]
    fn runs(&mut self, kernel: bool) {
        if self.kernel.running() != kernel.then_some(self.cpu) {
            steady::stop();
            self.kernel.turn(self.cpu, kernel, |cpu| self.instructions[cpu].get());
        }
    }

    /// From here on, blocks of this CPU need no call until something changes.
    #[inline]
    fn steady(&self) {
        steady::go_on(&Charged {
            handle: self.running.handle(),
            kernel: self.kernel.running().is_some(),
            instruction: self.instruction,
            time: self.windows.clock(),
            end: self.windows.end(),
            instructions: &self.instructions[self.cpu],
        });
    }

    #[inline]
    pub(super) fn executes(&self, instructions: u64) {
        let sum = &self.instructions[self.cpu];
        sum.set(sum.get() + instructions);
    }
}
