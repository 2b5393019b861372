//! Counts instructions of one kind separately from all instructions: those for housekeeping
//! ([`crate::Spaces`]), which readers of CPU counters who want to know what programs do subtract,
//! or those of the kernel. One CPU runs at a time.

/// The instructions of one kind, by CPU.
#[derive(Clone, Debug)]
pub struct Apart {
    sums: Vec<u64>,
    /// The CPU that executes this kind now, and the instructions it had executed in total when that
    /// began.
    since: Option<(usize, u64)>,
}

impl Apart {
    /// Counts from zero.
    #[must_use]
    pub fn new(cpus: usize) -> Self {
        Self { sums: vec![0; cpus], since: None }
    }

    /// The CPU that executes this kind now.
    #[must_use]
    pub fn running(&self) -> Option<usize> {
        self.since.map(|(cpu, _)| cpu)
    }

    /// This CPU runs from here on, and executes this kind or not. `executed` returns the total
    /// number of instructions that a CPU has executed.
    pub fn turn(&mut self, cpu: usize, of_the_kind: bool, executed: impl Fn(usize) -> u64) {
        if let Some((before, from)) = self.since.take() {
            self.sums[before] += executed(before).saturating_sub(from);
        }
        self.since = of_the_kind.then(|| (cpu, executed(cpu)));
    }

    /// The instructions of this kind of a CPU whose total number of instructions is `executed`.
    #[must_use]
    pub fn of(&self, cpu: usize, executed: u64) -> u64 {
        let now = self.since.filter(|(running, _)| *running == cpu);
        self.sums[cpu] + now.map_or(0, |(_, from)| executed.saturating_sub(from))
    }

    /// Resets all counts to 0. The totals must restart at 0, too.
    pub fn zero(&mut self) {
        self.sums.fill(0);
        self.since = self.since.map(|(cpu, _)| (cpu, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU 0 executes 100 instructions for a program and 50 for a daemon, which continues after CPU
    /// 1 has had its turn.
    #[test]
    fn what_a_daemon_executes_is_counted_apart() {
        let mut apart = Apart::new(2);
        apart.turn(0, false, |_| 0);
        apart.turn(0, true, |_| 100);
        assert_eq!((apart.of(0, 130), apart.of(1, 0)), (30, 0));
        apart.turn(1, false, |cpu| [150, 0][cpu]);
        assert_eq!((apart.of(0, 150), apart.of(1, 70)), (50, 0));
        apart.turn(0, true, |cpu| [150, 70][cpu]);
        apart.turn(0, false, |cpu| [160, 70][cpu]);
        assert_eq!((apart.of(0, 900), apart.of(1, 70)), (60, 0));
    }

    #[test]
    fn counts_begin_anew_for_whoever_runs() {
        let mut apart = Apart::new(1);
        apart.turn(0, true, |_| 40);
        apart.zero();
        assert_eq!(apart.of(0, 5), 5);
        apart.turn(0, false, |_| 9);
        assert_eq!(apart.of(0, 30), 9);
    }
}
