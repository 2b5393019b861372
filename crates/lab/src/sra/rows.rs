//! The results of a page-migration study, row by row: field names are those of its JSON document.

use super::strategy::Strategy;
use serde::Serialize;

/// A program of the study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramRow {
    /// Its name.
    pub name: String,
    /// Its threads; the first of them moves.
    pub threads: u16,
    /// Pages of its resident set.
    pub pages: u32,
    /// Accesses of its trace.
    pub accesses: u64,
    /// The part of its accesses that the daemon samples, in per cent.
    pub sampled_percent: f64,
}

/// A strategy with a K and a rate of samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// Page moves.
    pub moves: f64,
    /// Moves of pages that were not accessed any more.
    pub wasted: f64,
}

/// The strategies with one seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeedRow {
    /// The seed.
    pub seed: u64,
    /// Mean SRA over the programs in per cent, in the order of [`Strategy::COMPARED`].
    pub by_strategy: Vec<(Strategy, f64)>,
    /// Completion time with the paper's K over that with whole resident sets, improvement in per
    /// cent: each program whose threads share.
    pub shared_percent: Vec<(String, f64)>,
}

/// SRA at a time after the move.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OverTime {
    /// Seconds of execution.
    pub seconds: f64,
    /// Mean SRA until then, in per cent.
    pub sra_percent: f64,
}

/// How a program does with K pages a sample, or with its whole resident set, when copying takes
/// time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Versus {
    /// The program.
    pub program: String,
    /// Whether its threads share data.
    pub shared: bool,
    /// K; none = the whole resident set.
    pub k: Option<u32>,
    /// Remote accesses of all threads saved, in per cent of those of the moved thread; below 0
    /// where those that stayed lose more.
    pub sra_percent: f64,
    /// Page moves.
    pub moves: u64,
    /// Moves of pages that were not accessed any more.
    pub wasted: u64,
    /// Shorter completion time than without moving pages, in per cent.
    pub gain_percent: f64,
    /// Shorter completion time than with the whole resident set, in per cent (figures 9 and 10).
    pub over_whole_percent: f64,
}
