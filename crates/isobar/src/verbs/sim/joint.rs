//! Computes the reference of `--optimum joint`, within the user's time limit.

use super::Sim;
use isobar_lab::{Joint, LabError, QUESTIONS};
use isobar_sim::Workload;
use std::time::{Duration, Instant};

/// The best static arrangement that the search finds.
///
/// # Errors
/// As [`isobar_lab::joint`].
pub fn yardstick(workload: &Workload, args: &Sim) -> Result<Joint, LabError> {
    // A limit longer than a Duration can be is no limit.
    let limit = args.time_limit.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    let start = Instant::now();
    isobar_lab::joint(workload, QUESTIONS, &|| limit.is_some_and(|limit| start.elapsed() >= limit))
}
