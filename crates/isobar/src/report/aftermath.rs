//! What is known of a run once everything is put back, beside what was counted: remarks of the
//! machine, and the truth about a simulated workload, which the simulated machine alone knows and
//! no policy is shown. It says whether the policy helped; on a real machine there is no such thing.

use isobar_model::metrics::Summary;
use serde::Serialize;

/// What is known once everything is put back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aftermath {
    /// What a person should look at, a line each.
    pub remarks: Vec<String>,
    /// Where the machine was simulated.
    pub truth: Option<Truth>,
    /// What was recorded of the run, where it was and nothing went wrong.
    pub recorded: Option<Recorded>,
}

/// What was recorded of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Epochs that were written, those included that were dropped again as the oldest.
    pub epochs: u64,
    /// Epochs for which the disk was too slow.
    pub left_out: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// The applications of a simulated workload, in its order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Truth {
    /// By application.
    pub apps: Vec<AppTruth>,
    /// Over all of them; `None` until each has completed once.
    pub summary: Option<Summary>,
}

/// One application of a simulated workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AppTruth {
    /// Its name in the workload.
    pub name: String,
    /// Completed runs.
    pub completed: usize,
    /// Mean completion time; `None` where no run completed.
    pub seconds: Option<f64>,
    /// Completion time alone on the machine; `None` where even that does not end in time.
    pub alone_seconds: Option<f64>,
    /// Completion time over completion time alone.
    pub slowdown: Option<f64>,
}
