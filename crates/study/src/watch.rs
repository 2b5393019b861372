//! How a study is observed while it runs: progress out, the wish to stop and the time in. Knows
//! nothing of how either is shown or measured.

use std::time::Duration;

/// The observer of a study; called from any thread.
pub trait Watch: Sync {
    /// Whether the study should stop.
    fn stopped(&self) -> bool;
    /// The time since some moment, never going back: the only clock of a study.
    fn elapsed(&self) -> Duration;
    /// Called after each answer with the number of answers so far, and of all.
    fn done(&self, done: usize, all: usize);
    /// Called now and then with the state of a search.
    fn search(&self, standing: &Standing<'_>);
}

/// The state of a search.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// The algorithm.
    pub algorithm: &'a str,
    /// Position of the workload, from 1.
    pub workload: usize,
    /// The objective of the best solution so far, where there is one.
    pub best: Option<f64>,
    /// How far it may be from the best, in percent of it, where that is known.
    pub gap_percent: Option<f64>,
    /// Partial solutions looked at.
    pub nodes: u64,
}
