//! Guest time of several CPUs that a single host thread emulates one after another.
//!
//! Every CPU has its own time. A window is a span of guest time through which all running CPUs pass
//! before the next window begins: each CPU runs until its own time is at the window's end, then the
//! next one runs. CPUs therefore advance side by side, never further apart than a window, whatever
//! the host does. A halted CPU delays no other; it wakes at the time of the CPU that woke it.
//!
//! This file does not know how a CPU is made to yield, or what the time is used for.

use std::cell::Cell;

/// What a CPU has to do after time was charged to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Continue.
    On,
    /// Let another CPU run: this CPU is at the window's end and another is not.
    Yield,
    /// All running CPUs are at the window's end: close it with [`Windows::close`], then let timers
    /// fire.
    Close,
}

/// Times in picoseconds of guest time.
#[derive(Clone, Debug)]
pub struct Windows {
    /// Start of the window.
    base: u64,
    length: u64,
    cpus: Vec<Cpu>,
    /// The CPU that was charged last: when it wakes another CPU, the wake-up happens at its time.
    last: usize,
}

#[derive(Clone, Debug)]
struct Cpu {
    local: Cell<u64>,
    /// Its time when it began to run in this window, plus the time that it has slept in the window.
    since: u64,
    /// Its time less its total running time.
    slept: u64,
    halted: bool,
}

impl Cpu {
    fn comes_to(&mut self, time: u64) {
        let later = time.saturating_sub(self.local.get());
        self.local.set(self.local.get() + later);
        self.since += later;
        self.slept += later;
    }
}

impl Windows {
    /// CPUs that are all halted at time `now`, with windows of the given length.
    #[must_use]
    pub fn new(cpus: usize, length: u64, now: u64) -> Self {
        let cpu = Cpu { local: Cell::new(now), since: now, slept: now, halted: true };
        Self { base: now, length: length.max(1), cpus: vec![cpu; cpus], last: 0 }
    }

    /// Start of the window: the time of everything that is not a CPU.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// End of the window.
    #[must_use]
    #[inline]
    pub fn end(&self) -> u64 {
        self.base + self.length
    }

    /// The CPU's own time.
    #[must_use]
    #[inline]
    pub fn local(&self, cpu: usize) -> u64 {
        self.cpus[cpu].local.get().max(self.base)
    }

    /// The clock of the CPU that was charged last. Adding to it charges that CPU, and must stay
    /// below [`Self::end`].
    #[must_use]
    #[inline]
    pub fn clock(&self) -> &Cell<u64> {
        &self.cpus[self.last].local
    }

    /// Whether the CPU waits for an interrupt.
    #[must_use]
    #[inline]
    pub fn is_halted(&self, cpu: usize) -> bool {
        self.cpus[cpu].halted
    }

    /// Time that each CPU has run in this window, including waiting for memory.
    #[must_use]
    pub fn ran(&self) -> Vec<u64> {
        self.cpus.iter().map(|cpu| cpu.local.get() - cpu.since).collect()
    }

    /// Total time that a CPU has run in all windows.
    #[must_use]
    pub fn has_run(&self, cpu: usize) -> u64 {
        let cpu = &self.cpus[cpu];
        cpu.local.get().saturating_sub(cpu.slept)
    }

    /// Charges a running CPU; true if it has reached the window's end ([`Self::turn`] then says
    /// what to do).
    #[inline]
    pub fn charge(&mut self, cpu: usize, picos: u64) -> bool {
        self.last = cpu;
        let local = &self.cpus[cpu].local;
        local.set(local.get() + picos);
        local.get() >= self.end()
    }

    /// What a CPU at the window's end has to do.
    #[must_use]
    pub fn turn(&self, cpu: usize) -> NextStep {
        if !self.is_over(cpu) {
            return NextStep::On;
        }
        if self.someone_before(self.end()) { NextStep::Yield } else { NextStep::Close }
    }

    /// Whether a CPU is at the window's end while another is not; it does not run then.
    #[must_use]
    #[inline]
    pub fn waits(&self, cpu: usize) -> bool {
        self.is_over(cpu) && self.someone_before(self.end())
    }

    /// Whether a CPU is at the window's end.
    #[must_use]
    #[inline]
    pub fn is_over(&self, cpu: usize) -> bool {
        self.cpus[cpu].local.get() >= self.end()
    }

    /// Whether a running CPU other than this one has not reached a time yet.
    #[must_use]
    #[inline]
    pub fn behind(&self, cpu: usize, time: u64) -> bool {
        let mut all = self.cpus.iter().enumerate();
        all.any(|(at, other)| at != cpu && !other.halted && other.local.get() < time)
    }

    /// Takes back a part of what the CPU was charged last, because it has not done it.
    pub fn uncharge(&mut self, cpu: usize, picos: u64) {
        self.last = cpu;
        let own = &mut self.cpus[cpu];
        own.local.set(own.local.get().saturating_sub(picos));
        own.since = own.since.min(own.local.get());
    }

    fn someone_before(&self, end: u64) -> bool {
        self.cpus.iter().any(|cpu| !cpu.halted && cpu.local.get() < end)
    }

    /// Halts the CPU. `Close` if all others are at the window's end, `Yield` if it was the last
    /// that ran: the time is then that of this CPU until [`Self::jump`].
    pub fn halt(&mut self, cpu: usize) -> NextStep {
        self.cpus[cpu].halted = true;
        if self.is_quiet() {
            return NextStep::Yield;
        }
        if self.someone_before(self.end()) { NextStep::On } else { NextStep::Close }
    }

    /// Wakes a halted CPU, at the time of the event that woke it.
    pub fn wake(&mut self, cpu: usize) {
        let time = self.quiet();
        self.cpus[cpu].halted = false;
        self.cpus[cpu].comes_to(time);
    }

    /// Sets the length of this window and all later ones.
    pub fn set_length(&mut self, length: u64) {
        self.length = length.max(1);
    }

    /// Begins the next window where this one ends.
    pub fn close(&mut self) {
        self.base += self.length;
        self.begin();
    }

    /// Begins a window at `time`, if all CPUs are halted and nothing happens before. An earlier
    /// time changes nothing.
    pub fn jump(&mut self, time: u64) {
        if time > self.base {
            self.base = time;
            self.begin();
        }
    }

    /// Whether all CPUs are halted.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.cpus.iter().all(|cpu| cpu.halted)
    }

    /// The time at which the last CPU halted: a window may begin there while all CPUs are halted.
    #[must_use]
    pub fn quiet(&self) -> u64 {
        self.local(self.last)
    }

    fn begin(&mut self) {
        for cpu in &mut self.cpus {
            cpu.comes_to(self.base);
            cpu.since = cpu.local.get();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_take_turns_and_the_last_one_closes_the_window() {
        let mut windows = Windows::new(2, 100, 1_000);
        windows.wake(0);
        windows.wake(1);
        assert!(!windows.charge(0, 60));
        assert!(windows.charge(0, 60));
        assert_eq!(windows.turn(0), NextStep::Yield, "CPU 1 is still at 1,000");
        assert!(windows.charge(1, 100));
        assert_eq!(windows.turn(1), NextStep::Close);
        assert_eq!(windows.ran(), [120, 100]);
        windows.close();
        assert_eq!(
            (windows.base(), windows.local(0), windows.local(1)),
            (1_100, 1_120, 1_100),
            "what CPU 0 ran over is kept"
        );
        assert_eq!((windows.ran(), windows.has_run(0), windows.has_run(1)), (vec![0, 0], 120, 100));
    }

    #[test]
    fn a_halted_cpu_holds_nobody_up_and_wakes_at_the_time_of_its_waker() {
        let mut windows = Windows::new(2, 100, 0);
        windows.wake(0);
        assert!(windows.charge(0, 100));
        assert_eq!(windows.turn(0), NextStep::Close);
        windows.close();
        assert!(!windows.charge(0, 40));
        windows.wake(1);
        assert_eq!(windows.local(1), 140, "CPU 0 was at 140 when it sent the interrupt");
    }

    #[test]
    fn the_last_to_halt_leaves_the_time_to_the_timers() {
        let mut windows = Windows::new(2, 100, 0);
        windows.wake(0);
        windows.charge(0, 30);
        assert_eq!(windows.halt(0), NextStep::Yield);
        assert_eq!(windows.quiet(), 30);
        windows.jump(5_000);
        windows.wake(0);
        assert_eq!((windows.base(), windows.local(0)), (5_000, 5_000));
        assert_eq!(windows.has_run(0), 30, "it slept until then");
        windows.jump(10);
        assert_eq!(windows.base(), 5_000, "time does not go back");
    }

    #[test]
    fn a_cpu_at_the_end_waits_and_one_in_front_knows_who_is_behind() {
        let mut windows = Windows::new(3, 100, 0);
        windows.wake(0);
        windows.wake(1);
        windows.charge(0, 40);
        assert!(windows.behind(0, 40) && !windows.behind(1, 40), "CPU 2 is halted");
        windows.charge(1, 110);
        assert!(windows.waits(1) && !windows.waits(0));
        windows.uncharge(1, 30);
        assert_eq!((windows.local(1), windows.ran()[1], windows.waits(1)), (80, 80, false));
    }

    #[test]
    fn a_halt_closes_the_window_that_the_others_have_lived_through() {
        let mut windows = Windows::new(2, 100, 0);
        windows.wake(0);
        windows.wake(1);
        windows.charge(0, 100);
        windows.charge(1, 20);
        assert_eq!(windows.halt(1), NextStep::Close);
        windows.close();
        windows.wake(1);
        assert_eq!(windows.local(1), 100);
    }
}
