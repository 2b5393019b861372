//! Which threads run. Before modelling starts, the guest says where its kernel switches threads
//! (`numasim_page::Switches`). Each time that this code begins, the world is called, with the next
//! thread's description in memory. Threads are therefore counted as a kernel with hardware counters
//! counts them (`numasim_model::Threads`).

use super::World;
use crate::bytes;
use numasim_model::{Counts, Threads};
use numasim_page::{NAME_BYTES, Switches, layout};
use std::collections::BTreeMap;

/// The register of a function's second argument (System V ABI, x86-64), as numbered in encodings.
const RSI: u8 = 6;

impl World {
    /// Starts counting threads, if the guest has said how.
    pub(super) fn counts_threads(&mut self) {
        self.switches = self.page.as_ref().and_then(super::Page::switches);
        self.threads = self.switches.map(|_| Threads::new(self.ran.len(), layout::MAX_THREADS));
    }

    /// The address of the code with which the guest's kernel begins to switch threads.
    pub fn switches_at(&self) -> Option<u64> {
        self.switches.map(|switches| switches.address)
    }

    /// The CPU switches to the thread that its second argument describes. A thread whose
    /// description cannot be read is not counted, like thread 0.
    pub fn goes_on_with(&mut self) {
        let Some(Switches { id, name, .. }) = self.switches else { return };
        let next = self.pages.register(RSI).unwrap_or(0);
        let number = bytes::at::<4>(next.wrapping_add(id)).map_or(0, u32::from_le_bytes);
        let name = bytes::at::<NAME_BYTES>(next.wrapping_add(name)).unwrap_or_default();
        let counted = self.counted(self.cpu);
        if let Some(threads) = &mut self.threads {
            threads.switch(self.cpu, number, name, counted);
        }
        let cpu = self.cpu;
        self.with_page(|page, world| page.follows(world, cpu));
    }

    /// Sets the classes of service of these threads; no other thread has a class of its own.
    pub(super) fn set_thread_classes(&mut self, classes: &BTreeMap<u64, usize>) {
        let class = |thread: u32| classes.get(&u64::from(thread)).copied().unwrap_or(0);
        self.threads.iter_mut().for_each(|threads| threads.set_classes(class));
    }

    /// The class of the thread that a CPU runs, if it has one of its own.
    pub(super) fn class_on(&self, cpu: usize) -> Option<usize> {
        self.threads.as_ref()?.class_on(cpu)
    }

    /// Adds what has been counted so far to the threads that run.
    pub(super) fn adds_up(&mut self) {
        let Some(mut threads) = self.threads.take() else { return };
        (0..self.ran.len()).for_each(|cpu| threads.add_up(cpu, self.counted(cpu)));
        self.threads = Some(threads);
    }

    /// Sets all counts of threads to zero.
    pub(super) fn zero_threads(&mut self) {
        let Some(mut threads) = self.threads.take() else { return };
        threads.zero(|cpu| self.counted(cpu));
        self.threads = Some(threads);
    }

    /// The total counts of a CPU.
    fn counted(&self, cpu: usize) -> Counts {
        let counters = self.machine.cpu_counters(cpu);
        let instructions = self.instructions[cpu].get();
        Counts {
            instructions,
            kernel_instructions: self.kernel.of(cpu, instructions),
            ran_ps: self.windows.has_run(cpu),
            references: counters.private_misses,
            misses: counters.llc_misses,
            bytes_read: counters.bytes_read,
            bytes_written: counters.bytes_written,
            stall_ps: counters.stall_ps,
        }
    }
}
