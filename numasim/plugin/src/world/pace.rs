//! The pace of the code that runs: daemons that the guest has marked (`numasim_model::Spaces`) run
//! at the speed of the real machine, everything else at the speed of the modelled one.
//!
//! A daemon wakes at intervals of guest time, however slow its machine is: on a machine with a
//! twentieth of the speed it costs twenty times the share of a CPU. Its instructions, including the
//! kernel's on its behalf, therefore take `1 / time_scale` of the time. Its accesses to memory
//! neither cost nor move anything, because the caches that it fills and the bandwidth that it takes
//! would be too large by the same factors. There are two exceptions. A daemon that has flushed
//! lines wants to time their loads, so these loads cost what the machine's do. And while a daemon
//! moves pages it runs as a program does: see `Spaces`.
//!
//! On the page, its instructions are left out of those of its CPU. It executes `time_scale` times
//! as many instructions in the time of one instruction of the program beside it, and a reader who
//! divides a CPU's counts among threads would attribute them to that program. Its own thread's
//! counts include them.

use super::World;
use crate::error;
use crate::flush::CR3;
use crate::{recent, steady};

/// The most lines that a daemon has flushed and not loaded since; beyond that number, all are
/// forgotten.
const FLUSHED: usize = 1 << 16;

impl World {
    /// Marks the process that runs as a daemon from now on, with all processes that it starts.
    pub fn keeps_house(&mut self) {
        match self.pages.register(CR3) {
            Some(cr3) => self.spaces.mark(self.cpu, cr3),
            None => error::notify("this QEMU does not show CR3, so daemons run at the modelled machine's speed"),
        }
        self.set_pace();
    }

    /// The CPU changes its address space; `register` has the value of CR3.
    pub fn another_space(&mut self, register: u8) {
        let cr3 = self.pages.register(register).unwrap_or(0);
        self.spaces.switch(self.cpu, cr3);
        self.set_pace();
    }

    /// SYSCALL: the number of the call is in rax (0), its fourth argument in r10.
    pub fn calls_kernel(&mut self) {
        if self.spaces.is_marked(self.cpu) {
            let of = |number| self.pages.register(number).unwrap_or(0);
            let (number, fourth) = (of(0), of(10));
            self.spaces.call(self.cpu, number, fourth);
            self.set_pace();
        }
    }

    /// Sets the pace of the code that the CPU runs.
    pub(super) fn set_pace(&mut self) {
        let swift = self.spaces.is_housekeeping(self.cpu);
        self.apart.turn(self.cpu, swift, |cpu| self.instructions[cpu].get());
        if swift != self.swift {
            self.swift = swift;
            steady::stop();
            self.instruction = if swift { (self.programs / self.scale).max(1) } else { self.programs };
            // Accesses found without a lookup until now were at the other pace.
            self.count_found();
            recent::forget_all();
        }
    }

    /// The duration of something other than instructions and accesses.
    #[inline]
    pub(super) fn takes(&self, picos: u64) -> u64 {
        if self.swift { picos / self.scale } else { picos }
    }

    /// Whether an access of a daemon is left out of the machine.
    #[inline]
    pub(super) fn is_free(&mut self, physical: u64) -> bool {
        self.swift && !self.flushed.remove(&(physical / 64))
    }

    /// Records that a daemon has flushed a line, whose load it may time.
    pub(super) fn times(&mut self, physical: u64) {
        if self.swift {
            if self.flushed.len() >= FLUSHED {
                self.flushed.clear();
            }
            self.flushed.insert(physical / 64);
        }
    }
}
