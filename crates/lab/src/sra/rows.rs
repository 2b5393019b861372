//! The results of a page-migration study, row by row.

use super::strategy::Strategy;

/// A strategy with a K and a rate of samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The program; none = the mean over all.
    pub program: Option<String>,
    /// The strategy.
    pub strategy: Strategy,
    /// Pages a sample moves.
    pub k: u32,
    /// The part of the accesses that is sampled; none = the daemon's, one sample in 10 ms.
    pub rate: Option<f64>,
    /// Saved remote accesses in per cent.
    pub sra_percent: f64,
}

/// The strategies with one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedRow {
    /// Mean SRA over the programs in per cent, in the order of [`Strategy::COMPARED`].
    pub by_strategy: Vec<(Strategy, f64)>,
    /// Completion time with the paper's K over that with whole resident sets, improvement in per
    /// cent: each program whose threads share.
    pub shared_percent: Vec<(String, f64)>,
}

/// How a program does with K pages a sample against its whole resident set, when copying takes
/// time.
#[derive(Clone, Debug, PartialEq)]
pub struct Versus {
    /// The program.
    pub program: String,
    /// Whether its threads share data.
    pub shared: bool,
    /// K.
    pub k: u32,
    /// Shorter completion time than with the whole resident set, in per cent (figures 9 and 10).
    pub over_whole_percent: f64,
}
