//! Instructions that CPUs execute for housekeeping ([`crate::Spaces`]), apart from all that they
//! execute: who counts CPUs to learn what programs do leaves them out. One CPU runs at a time.

/// The instructions of housekeeping, by CPU.
#[derive(Clone, Debug)]
pub struct Apart {
    sums: Vec<u64>,
    /// The CPU that runs housekeeping now, and what it had executed in all when it began.
    since: Option<(usize, u64)>,
}

impl Apart {
    /// Nothing is executed yet.
    #[must_use]
    pub fn new(cpus: usize) -> Self {
        Self { sums: vec![0; cpus], since: None }
    }

    /// From here on it is this CPU that runs, and housekeeping or not. `executed` is what a CPU has
    /// executed in all.
    pub fn turn(&mut self, cpu: usize, housekeeping: bool, executed: impl Fn(usize) -> u64) {
        if let Some((before, from)) = self.since.take() {
            self.sums[before] += executed(before).saturating_sub(from);
        }
        self.since = housekeeping.then(|| (cpu, executed(cpu)));
    }

    /// The instructions of housekeeping of a CPU whose instructions in all are `executed`.
    #[must_use]
    pub fn of(&self, cpu: usize, executed: u64) -> u64 {
        let now = self.since.filter(|(running, _)| *running == cpu);
        self.sums[cpu] + now.map_or(0, |(_, from)| executed.saturating_sub(from))
    }

    /// All counts begin at 0, those of all instructions, too.
    pub fn zero(&mut self) {
        self.sums.fill(0);
        self.since = self.since.map(|(cpu, _)| (cpu, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU 0 executes 100 for a program, 50 for a daemon, which goes on after CPU 1 has had its
    /// turn.
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
