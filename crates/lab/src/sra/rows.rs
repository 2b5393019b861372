//! The results of a page-migration study, row by row.

use super::strategy::Strategy;

/// One result: a strategy with a K and a sampling rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The program; `None` = the mean over all programs.
    pub program: Option<String>,
    /// The strategy.
    pub strategy: Strategy,
    /// Number of pages that a sample moves.
    pub k: u32,
    /// Fraction of the accesses that is sampled; `None` = the daemon's rate, one sample in 10 ms.
    pub rate: Option<f64>,
    /// Saved remote accesses in per cent.
    pub sra_percent: f64,
}

/// The results of the strategies with one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedRow {
    /// Mean SRA over the programs in per cent, in the order of [`Strategy::COMPARED`].
    pub by_strategy: Vec<(Strategy, f64)>,
    /// Completion time with the paper's K compared with that for whole resident sets, as
    /// improvement in per cent: each program whose threads share data.
    pub shared_percent: Vec<(String, f64)>,
}

/// A program with K pages per sample compared with moving its whole resident set, when copying
/// takes time.
#[derive(Clone, Debug, PartialEq)]
pub struct Versus {
    /// The program.
    pub program: String,
    /// Whether its threads share data.
    pub shared: bool,
    /// K.
    pub k: u32,
    /// How much shorter the completion time is than with the whole resident set, in per cent
    /// (figures 9 and 10).
    pub over_whole_percent: f64,
}
