//! Counts what threads did, on whatever CPUs they ran. At each switch it learns which thread a CPU
//! continues with and what the CPU has counted by then. The difference belongs to the thread that
//! ran, including the kernel on its behalf and interrupts, as in a kernel's own counters of threads
//! (`perf_event_open(2)`).
//!
//! It does not know how a switch is noticed.

use std::collections::BTreeMap;

/// The counters of a CPU in total, or of a thread. All cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions executed.
    pub instructions: u64,
    /// Those of the kernel among them.
    pub kernel_instructions: u64,
    /// Picoseconds for which it ran, including waiting for memory.
    pub ran_ps: u64,
    /// LLC references.
    pub references: u64,
    /// LLC misses.
    pub misses: u64,
    /// Bytes that misses fetched.
    pub bytes_read: u64,
    /// Bytes written back to memory.
    pub bytes_written: u64,
    /// Picoseconds for which it waited for memory.
    pub stall_ps: u64,
}

impl Counts {
    /// The sum of these counts and the difference between two readings; a counter that ran
    /// backwards adds nothing.
    fn plus(self, now: Self, before: Self) -> Self {
        let sum = |own: u64, now: u64, before: u64| own + now.saturating_sub(before);
        Self {
            instructions: sum(self.instructions, now.instructions, before.instructions),
            kernel_instructions: sum(self.kernel_instructions, now.kernel_instructions, before.kernel_instructions),
            ran_ps: sum(self.ran_ps, now.ran_ps, before.ran_ps),
            references: sum(self.references, now.references, before.references),
            misses: sum(self.misses, now.misses, before.misses),
            bytes_read: sum(self.bytes_read, now.bytes_read, before.bytes_read),
            bytes_written: sum(self.bytes_written, now.bytes_written, before.bytes_written),
            stall_ps: sum(self.stall_ps, now.stall_ps, before.stall_ps),
        }
    }
}

/// A thread that has run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Its number.
    pub thread: u32,
    /// Its name when it last began to run, as the kernel has it, padded with zeros.
    pub name: [u8; 16],
    /// Its counters.
    pub counts: Counts,
    /// Its class of service; 0: the class of its CPU.
    pub class: usize,
    /// The number of the switch that it ran in last.
    last: u64,
}

/// The place of the thread that runs on a CPU, and the CPU's counters when they were last added up.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    place: Option<usize>,
    from: Counts,
}

/// Threads by number. Each keeps its place among all threads.
#[derive(Clone, Debug)]
pub struct Threads {
    cpus: Vec<Now>,
    places: BTreeMap<u32, usize>,
    ran: Vec<Ran>,
    most: usize,
    switches: u64,
}

impl Threads {
    /// No thread has run. There are `most` places, which must be more than CPUs. If all are taken,
    /// the thread that has not begun to run for longest, and does not run now, is forgotten.
    #[must_use]
    pub fn new(cpus: usize, most: usize) -> Self {
        Self { cpus: vec![Now::default(); cpus], places: BTreeMap::new(), ran: Vec::new(), most, switches: 0 }
    }

    /// The CPU continues with a thread; `counted` is what it has counted by now. Thread 0 is every
    /// CPU's idle thread, which is not counted.
    pub fn switch(&mut self, cpu: usize, thread: u32, name: [u8; 16], counted: Counts) {
        self.add_up(cpu, counted);
        self.switches += 1;
        self.cpus[cpu].place = None;
        if thread != 0 {
            let place = self.places.get(&thread).copied().unwrap_or_else(|| self.place(thread));
            let ran = &mut self.ran[place];
            (ran.name, ran.last) = (name, self.switches);
            self.cpus[cpu].place = Some(place);
        }
    }

    /// Adds what the CPU has counted since the last call to the thread that runs on it.
    pub fn add_up(&mut self, cpu: usize, counted: Counts) {
        let now = &mut self.cpus[cpu];
        if let Some(place) = now.place {
            let ran = &mut self.ran[place];
            ran.counts = ran.counts.plus(counted, now.from);
        }
        now.from = counted;
    }

    /// Sets all counts to zero; `counted` returns the present counters of a CPU.
    pub fn zero(&mut self, counted: impl Fn(usize) -> Counts) {
        self.ran.iter_mut().for_each(|ran| ran.counts = Counts::default());
        self.cpus.iter_mut().enumerate().for_each(|(cpu, now)| now.from = counted(cpu));
    }

    /// Sets the class of service of every thread; 0 for threads without a class of their own.
    pub fn set_classes(&mut self, class: impl Fn(u32) -> usize) {
        self.ran.iter_mut().for_each(|ran| ran.class = class(ran.thread));
    }

    /// The class of the thread that runs on a CPU, if it has one of its own.
    #[must_use]
    pub fn class_on(&self, cpu: usize) -> Option<usize> {
        Some(self.ran[self.cpus[cpu].place?].class).filter(|class| *class != 0)
    }

    /// All threads that have run and are not forgotten, by place.
    #[must_use]
    pub fn all(&self) -> &[Ran] {
        &self.ran
    }

    /// Finds a place for a thread that has none.
    fn place(&mut self, thread: u32) -> usize {
        let new = Ran { thread, ..Ran::default() };
        let place = if self.ran.len() < self.most {
            self.ran.push(new);
            self.ran.len() - 1
        } else {
            let runs = |place: usize| self.cpus.iter().any(|cpu| cpu.place == Some(place));
            let idle = (0..self.ran.len()).filter(|place| !runs(*place)).min_by_key(|place| self.ran[*place].last);
            let idle = idle.unwrap_or(0);
            self.places.remove(&self.ran[idle].thread);
            self.ran[idle] = new;
            idle
        };
        self.places.insert(thread, place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: [u8; 16] = *b"chase\0\0\0\0\0\0\0\0\0\0\0";

    fn at(instructions: u64) -> Counts {
        Counts { instructions, misses: instructions / 10, ..Counts::default() }
    }

    fn instructions(threads: &Threads) -> Vec<(u32, u64)> {
        threads.all().iter().map(|ran| (ran.thread, ran.counts.instructions)).collect()
    }

    /// Thread 7 executes 100 instructions on CPU 0, and 40 on CPU 1, whose first 500 belong to the
    /// thread that ran before the first switch. Thread 9 executes 30 in between.
    #[test]
    fn counts_go_with_the_thread_from_cpu_to_cpu() {
        let mut threads = Threads::new(2, 10);
        threads.switch(0, 7, NAME, at(1_000));
        threads.switch(0, 9, NAME, at(1_100));
        threads.switch(0, 0, [0; 16], at(1_130));
        threads.switch(1, 7, NAME, at(500));
        threads.add_up(1, at(520));
        threads.add_up(1, at(540));
        threads.add_up(0, at(5_000));
        assert_eq!(instructions(&threads), [(7, 140), (9, 30)]);
        let seven = threads.all()[0];
        assert_eq!((seven.counts.misses, seven.name), (14, NAME));
    }

    #[test]
    fn a_class_goes_with_its_thread() {
        let mut threads = Threads::new(2, 10);
        threads.switch(0, 7, NAME, at(0));
        threads.switch(1, 9, NAME, at(0));
        threads.set_classes(|thread| if thread == 7 { 3 } else { 0 });
        assert_eq!((threads.class_on(0), threads.class_on(1)), (Some(3), None));
        threads.switch(0, 0, [0; 16], at(1));
        threads.switch(1, 7, NAME, at(1));
        assert_eq!((threads.class_on(0), threads.class_on(1)), (None, Some(3)));
    }

    #[test]
    fn who_runs_when_counts_are_zeroed_goes_on_from_there() {
        let mut threads = Threads::new(1, 10);
        threads.switch(0, 7, NAME, at(0));
        threads.add_up(0, at(80));
        threads.zero(|_| at(0));
        threads.add_up(0, at(5));
        assert_eq!(instructions(&threads), [(7, 5)]);
    }

    #[test]
    fn of_too_many_the_one_is_forgotten_that_has_not_run_for_longest() {
        let mut threads = Threads::new(1, 2);
        for (thread, now) in [(5, 0), (6, 10), (5, 20), (8, 30)] {
            threads.switch(0, thread, NAME, at(now));
        }
        threads.add_up(0, at(31));
        assert_eq!(instructions(&threads), [(5, 20), (8, 1)], "thread 8 has the place of thread 6");
    }

    /// Thread 5 runs on CPU 0 all the time, while other threads come and go on CPU 1.
    #[test]
    fn who_runs_is_not_forgotten() {
        let mut threads = Threads::new(2, 3);
        threads.switch(0, 5, NAME, at(0));
        (6..20).for_each(|thread| threads.switch(1, thread, NAME, at(0)));
        threads.add_up(0, at(70));
        assert_eq!(instructions(&threads), [(5, 70), (18, 0), (19, 0)]);
    }
}
