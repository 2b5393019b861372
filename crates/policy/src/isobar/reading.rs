//! The counter readings of a program in one epoch, as rates per instruction.

use super::math::ln;

/// Lines written back per line read if nothing reports it (a third of what SPEC CPU's memory-bound
/// programs read is written).
pub const WRITE_BACK: f64 = 0.3;
/// Misses per instruction below which phases do not matter.
pub const FEW: f64 = 5e-4;
/// Logarithm of the ratio up to which two readings agree, and the same for parts of a program's
/// time: counters read over a second vary by that much by chance.
pub const AGREE: f64 = 0.05;

/// The reading of an epoch, summed over the threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Instructions per second of the interval.
    pub speed: f64,
    /// Cycles per instruction.
    pub cycles: f64,
    /// The factor by which its computing takes longer because of what else runs on its cores.
    pub crowding: f64,
    /// Threads that ran on one of its cores, itself included.
    pub running: f64,
    /// Misses per instruction.
    pub misses: f64,
    /// Misses per instruction that another cache answered, if that is counted: some of the misses.
    pub transfers: Option<f64>,
    /// Whether its threads ran on several caches.
    pub apart: bool,
    /// Cycles of misses per instruction, if they were waited for one by one.
    pub exposure: f64,
    /// Cycles per instruction that a limit on its bandwidth adds, if one line were read per miss.
    pub delay: f64,
    /// Cache lookups per instruction, if they are counted.
    pub looks: Option<f64>,
    /// Lines transferred per miss that memory answered, if bandwidth is measured.
    pub lines: Option<f64>,
    /// Fraction of its pages that is not on a node where it runs.
    pub remote: Option<f64>,
    /// Number of its pages, 0 if that is not known.
    pub resident: f64,
    /// The nodes where it runs, by position, as a bit mask.
    pub nodes: u64,
    /// Whether pages of it were under way, so that its speed is not representative.
    pub disturbed: bool,
}

/// The pages of a program, by where they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Pages on nodes where it runs.
    pub local: f64,
    /// Pages elsewhere.
    pub remote: f64,
}

impl Reading {
    /// Its pages, by where they are; `None` if that is not known.
    #[must_use]
    pub fn split(&self) -> Option<Split> {
        let remote = self.remote? * self.resident;
        Some(Split { local: self.resident - remote, remote })
    }

    /// The fraction of its misses that memory answered.
    #[must_use]
    pub fn fetched(&self) -> f64 {
        1.0 - self.transfers.map_or(0.0, |lines| lines / self.misses.max(1e-12))
    }

    /// Misses per cache lookup if lookups are counted, otherwise per instruction. What a program
    /// does besides lookups (touching its memory for the first time, in the kernel) says nothing
    /// about its use of the cache.
    #[must_use]
    pub fn missed(&self) -> f64 {
        self.looks.filter(|looks| *looks > 0.0).map_or(self.misses, |looks| (self.misses / looks).min(1.0))
    }
}

/// Whether two readings agree, within what counters read over a second leave to chance.
#[must_use]
pub fn agree(before: f64, now: f64) -> bool {
    ratio(before, now) < AGREE
}

/// The logarithm of the ratio of two readings, 0 or more.
#[must_use]
pub fn ratio(before: f64, now: f64) -> f64 {
    ln(now / before.max(1e-12)).abs()
}
