//! Where the threads of a comparison start: every balanced schedule where they are few, else one
//! drawn by each seed.

use crate::error::LabError;
use isobar_sim::Workload;
use isobar_sim::schedules::{Schedule, balanced};
use std::collections::BTreeMap;

/// Up to this number schedules are few: N-MASS evaluates all 6 of four processes on two nodes
/// (section 4.3); all 70 of its eight-process workloads fit too, and the thousands of larger
/// machines, which no mean over all could be had of, do not.
pub const FEW: usize = 100;

/// Where threads start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Starts {
    /// Every balanced schedule where there are at most [`FEW`] that differ, of at most
    /// [`MOST_THREADS`](isobar_sim::schedules::MOST_THREADS) threads, else one drawn by each seed.
    #[default]
    Auto,
    /// Every balanced schedule; an error where they are not few.
    Every,
    /// One drawn by each seed.
    Sampled,
}

/// One start.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub workload: Workload,
    /// How likely it is.
    pub share: f64,
    /// `parts[i][j]`: how much of `share` application `i` fares as `j` does.
    pub parts: Vec<BTreeMap<usize, f64>>,
}

/// The starts, and whether they are all that there are.
pub(crate) fn starts(workload: &Workload, wanted: Starts) -> Result<(Vec<Start>, bool), LabError> {
    if wanted == Starts::Sampled {
        return Ok((vec![drawn(workload)], false));
    }
    match balanced(workload, FEW) {
        Ok(all) => Ok((all.iter().map(|one| start(workload, one)).collect(), true)),
        Err(_) if wanted == Starts::Auto => Ok((vec![drawn(workload)], false)),
        Err(error) => Err(LabError::TooMany { what: "balanced schedules", error }),
    }
}

fn start(workload: &Workload, schedule: &Schedule) -> Start {
    let Schedule { share, parts, .. } = schedule.clone();
    Start { workload: workload.seated(schedule, false), share, parts }
}

/// The machine draws its own.
fn drawn(workload: &Workload) -> Start {
    let parts = (0..workload.apps.len()).map(|app| BTreeMap::from([(app, 1.0)])).collect();
    Start { workload: workload.clone(), share: 1.0, parts }
}
