//! What was read of a program in an epoch.

/// Lines written back for each line read where nothing tells (a third of what SPEC CPU's
/// memory-bound programs read is written).
pub const WRITE_BACK: f64 = 0.3;

/// A reading of an epoch, summed over the threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Instructions a second of the interval.
    pub speed: f64,
    /// Cycles an instruction.
    pub cycles: f64,
    /// The factor on its computing by what else runs on its cores.
    pub crowding: f64,
    /// Threads that ran on a core of its, itself included.
    pub running: f64,
    /// Misses an instruction.
    pub misses: f64,
    /// Cycles of misses an instruction, were they waited for one by one.
    pub exposure: f64,
    /// Cycles an instruction that a limit on its bandwidth adds, were one line read for each miss.
    pub delay: f64,
    /// What it looks for in the cache an instruction, where that is counted.
    pub looks: Option<f64>,
    /// Lines that pass memory for each miss, where bandwidth is measured.
    pub lines: Option<f64>,
    /// Part of its pages that is not on a node where it runs.
    pub remote: Option<f64>,
    /// The nodes where it runs, by position, as bits.
    pub nodes: u64,
    /// Whether pages of it were under way, so that its speed is not its own.
    pub disturbed: bool,
}

impl Reading {
    /// Misses for each look in the cache, where looks are counted; else for each instruction. What
    /// a program does beside looking (touching its memory for the first time, in the kernel) says
    /// nothing of its use of the cache.
    #[must_use]
    pub fn missed(&self) -> f64 {
        self.looks.filter(|looks| *looks > 0.0).map_or(self.misses, |looks| (self.misses / looks).min(1.0))
    }
}
