//! The interface through which a study is observed while it runs: it reports progress, and receives
//! the request to stop and the time. It does not know how progress is shown or how time is
//! measured.

use std::time::Duration;

/// The observer of a study. Its methods are called from any thread.
pub trait Watch: Sync {
    /// Whether the study should stop.
    fn stopped(&self) -> bool;
    /// Time since some fixed moment. It never goes back, and it is the only clock of a study.
    fn elapsed(&self) -> Duration;
    /// Called after each answer with the number of answers so far and the total number.
    fn done(&self, done: usize, all: usize);
    /// Called now and then with the state of a search.
    fn search(&self, standing: &SearchState<'_>);
}

/// The state of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchState<'a> {
    /// The algorithm.
    pub algorithm: &'a str,
    /// Position of the workload, from 1.
    pub workload: usize,
    /// Objective of the best solution so far, if there is one.
    pub best: Option<f64>,
    /// How far that solution may be from the optimum, in percent of its own figure, if known.
    pub gap_percent: Option<f64>,
    /// Number of partial solutions looked at.
    pub nodes: u64,
}
