//! What is known of a run after everything is put back, besides its tally. This is remarks of the
//! machine, and the truth about a simulated workload: the times that only the simulated machine
//! knows and that no policy is shown. The truth says whether the policy helped; a real machine has
//! no such figures.

use isobar_model::metrics::Summary;
use serde::Serialize;

/// What is known after everything is put back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AfterRun {
    /// Remarks for a person, one line each.
    pub remarks: Vec<String>,
    /// The truth, if the machine was simulated.
    pub truth: Option<Truth>,
    /// How much was recorded, if the run was recorded and nothing went wrong.
    pub recorded: Option<Recorded>,
}

/// How much of a run was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Epochs that were written, including those that were dropped later because they were the
    /// oldest.
    pub epochs: u64,
    /// Epochs that were left out because the disk was too slow.
    pub left_out: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// The applications of a simulated workload, in its order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Truth {
    /// By application.
    pub apps: Vec<AppTruth>,
    /// Measures over all applications; `None` until each has completed once.
    pub summary: Option<Summary>,
}

/// One application of a simulated workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AppTruth {
    /// Its name in the workload.
    pub name: String,
    /// Completed runs.
    pub completed: usize,
    /// Mean completion time; `None` if no run completed.
    pub seconds: Option<f64>,
    /// Completion time alone on the machine; `None` if even that run does not end in time.
    pub alone_seconds: Option<f64>,
    /// Completion time over completion time alone.
    pub slowdown: Option<f64>,
}
