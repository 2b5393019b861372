//! Reads one thread's counters over an epoch as the three rates that LFOC+ uses.

use isobar_model::{Thread, num};

/// Rates of a thread over an epoch, or their mean over several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Instructions per cycle.
    pub ipc: f64,
    /// LLC misses per 1000 cycles.
    pub llcmpkc: f64,
    /// LLC misses per 1000 instructions. Unlike the other two, this rate does not change with the
    /// latency of memory.
    pub mpki: f64,
}

impl Reading {
    /// `None` if a counter was not measured or the thread did not run.
    #[must_use]
    pub fn of(thread: &Thread) -> Option<Self> {
        let positive = |count: Option<u64>| count.filter(|count| *count > 0).map(num::float);
        let (instructions, cycles) = (positive(thread.instructions)?, positive(thread.cycles)?);
        Some(Self::from_counts(instructions, cycles, num::float(thread.llc_misses?)))
    }

    /// The rates that follow from counts; instructions and cycles must be above 0.
    #[must_use]
    pub fn from_counts(instructions: f64, cycles: f64, misses: f64) -> Self {
        Self { ipc: instructions / cycles, llcmpkc: misses * 1000.0 / cycles, mpki: misses * 1000.0 / instructions }
    }

    /// The rates between two readings, a fraction `part` of the way to the other.
    #[must_use]
    pub fn towards(&self, other: &Self, part: f64) -> Self {
        let between = |a: f64, b: f64| a + (b - a) * part;
        Self {
            ipc: between(self.ipc, other.ipc),
            llcmpkc: between(self.llcmpkc, other.llcmpkc),
            mpki: between(self.mpki, other.mpki),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_what_lies_between() {
        let a = Reading::from_counts(2000.0, 1000.0, 4.0);
        assert_eq!(a, Reading { ipc: 2.0, llcmpkc: 4.0, mpki: 2.0 });
        let b = Reading { ipc: 1.0, llcmpkc: 8.0, mpki: 6.0 };
        assert_eq!(a.towards(&b, 0.25), Reading { ipc: 1.75, llcmpkc: 5.0, mpki: 3.0 });
    }
}
