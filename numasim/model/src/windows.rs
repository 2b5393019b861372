//! Guest time of several CPUs that a single host thread emulates one after another.
//!
//! Every CPU has its own time. A window is a span of guest time that all running CPUs live through
//! before the next begins: each runs until its own time is at the window's end, then the next one
//! runs. So CPUs advance side by side, never further apart than a window, whatever the host does. A
//! halted CPU delays no other; it wakes at the time of the CPU that woke it.
//!
//! It refuses to know how a CPU is made to yield, and what the time is used for.

/// What a CPU has to do after it was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Go on.
    On,
    /// Let another CPU run: this one is at the window's end and another is not.
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
    local: Vec<u64>,
    halted: Vec<bool>,
    /// Time that each CPU has run in this window.
    ran: Vec<u64>,
    /// The time of the CPU that ran last: what wakes another happened then.
    latest: u64,
}

impl Windows {
    /// CPUs that are all halted, at a time, with windows of a length.
    #[must_use]
    pub fn new(cpus: usize, length: u64, now: u64) -> Self {
        let (local, halted, ran) = (vec![now; cpus], vec![true; cpus], vec![0; cpus]);
        Self { base: now, length: length.max(1), local, halted, ran, latest: now }
    }

    /// Start of the window: the time of everything that is no CPU.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The CPU's own time.
    #[must_use]
    pub fn local(&self, cpu: usize) -> u64 {
        self.local[cpu].max(self.base)
    }

    /// Whether the CPU waits for an interrupt.
    #[must_use]
    #[inline]
    pub fn is_halted(&self, cpu: usize) -> bool {
        self.halted[cpu]
    }

    /// Time that each CPU has run in this window, what it waited for memory included.
    #[must_use]
    pub fn ran(&self) -> &[u64] {
        &self.ran
    }

    /// Charges a running CPU; true when it has reached the window's end ([`Self::turn`] then says
    /// what to do).
    #[inline]
    pub fn charge(&mut self, cpu: usize, picos: u64) -> bool {
        self.ran[cpu] += picos;
        self.local[cpu] += picos;
        self.latest = self.local[cpu];
        self.latest >= self.base + self.length
    }

    /// What a CPU at the window's end has to do.
    #[must_use]
    pub fn turn(&self, cpu: usize) -> Turn {
        let end = self.base + self.length;
        if self.local[cpu] < end {
            return Turn::On;
        }
        if self.someone_before(end) { Turn::Yield } else { Turn::Close }
    }

    /// Whether a CPU is at the window's end while another is not: it does not run.
    #[must_use]
    #[inline]
    pub fn waits(&self, cpu: usize) -> bool {
        let end = self.base + self.length;
        self.local[cpu] >= end && self.someone_before(end)
    }

    /// Whether a CPU is at the window's end.
    #[must_use]
    #[inline]
    pub fn is_over(&self, cpu: usize) -> bool {
        self.local[cpu] >= self.base + self.length
    }

    /// Whether a running CPU other than this has not yet come to a time.
    #[must_use]
    pub fn behind(&self, cpu: usize, time: u64) -> bool {
        let mut all = self.halted.iter().zip(&self.local).enumerate();
        all.any(|(other, (halted, local))| other != cpu && !halted && *local < time)
    }

    /// Takes back a part of what the CPU was charged last: it has not done it.
    pub fn uncharge(&mut self, cpu: usize, picos: u64) {
        self.ran[cpu] = self.ran[cpu].saturating_sub(picos);
        self.local[cpu] = self.local[cpu].saturating_sub(picos);
        self.latest = self.local[cpu];
    }

    fn someone_before(&self, end: u64) -> bool {
        self.halted.iter().zip(&self.local).any(|(halted, local)| !halted && *local < end)
    }

    /// The CPU halts. `Close` where all others are at the window's end, `Yield` where it was the
    /// last that ran: the time then is its own until [`Self::jump`].
    pub fn halt(&mut self, cpu: usize) -> Turn {
        self.halted[cpu] = true;
        if self.is_quiet() {
            return Turn::Yield;
        }
        if self.someone_before(self.base + self.length) { Turn::On } else { Turn::Close }
    }

    /// A halted CPU runs again, from the time of what woke it.
    pub fn wake(&mut self, cpu: usize) {
        self.halted[cpu] = false;
        self.local[cpu] = self.local[cpu].max(self.latest).max(self.base);
    }

    /// This window and all later ones have another length.
    pub fn set_length(&mut self, length: u64) {
        self.length = length.max(1);
    }

    /// The next window begins where this one ends.
    pub fn close(&mut self) {
        self.base += self.length;
        self.begin();
    }

    /// All CPUs are halted and nothing happens before `time`: a window begins there. An earlier
    /// time changes nothing.
    pub fn jump(&mut self, time: u64) {
        if time > self.base {
            self.base = time;
            self.latest = self.latest.max(time);
            self.begin();
        }
    }

    /// Whether all CPUs are halted.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.halted.iter().all(|halted| *halted)
    }

    /// The time at which the last CPU halted: where a window may begin while all of them are.
    #[must_use]
    pub fn quiet(&self) -> u64 {
        self.latest.max(self.base)
    }

    fn begin(&mut self) {
        self.ran.fill(0);
        for local in &mut self.local {
            *local = (*local).max(self.base);
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
        assert_eq!(windows.turn(0), Turn::Yield, "CPU 1 is still at 1,000");
        assert!(windows.charge(1, 100));
        assert_eq!(windows.turn(1), Turn::Close);
        assert_eq!(windows.ran(), [120, 100]);
        windows.close();
        assert_eq!(
            (windows.base(), windows.local(0), windows.local(1)),
            (1_100, 1_120, 1_100),
            "what CPU 0 ran over is kept"
        );
        assert_eq!(windows.ran(), [0, 0]);
    }

    #[test]
    fn a_halted_cpu_holds_nobody_up_and_wakes_at_the_time_of_its_waker() {
        let mut windows = Windows::new(2, 100, 0);
        windows.wake(0);
        assert!(windows.charge(0, 100));
        assert_eq!(windows.turn(0), Turn::Close);
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
        assert_eq!(windows.halt(0), Turn::Yield);
        assert_eq!(windows.quiet(), 30);
        windows.jump(5_000);
        windows.wake(0);
        assert_eq!((windows.base(), windows.local(0)), (5_000, 5_000));
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
        assert_eq!(windows.halt(1), Turn::Close);
        windows.close();
        windows.wake(1);
        assert_eq!(windows.local(1), 100);
    }
}
