//! Where the threads of a comparison start: every balanced schedule if there are few, otherwise one
//! drawn by each seed.

use crate::error::LabError;
use isobar_sim::Workload;
use isobar_sim::schedules::{Schedule, balanced};
use std::collections::BTreeMap;

/// Up to this number of schedules, all are evaluated. N-MASS evaluates all 6 of four processes on
/// two nodes (section 4.3). All 70 of its eight-process workloads also fit. The thousands of larger
/// machines do not, and a mean over all of them would not be feasible.
pub const FEW: usize = 100;

/// Where threads start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Starts {
    /// Every balanced schedule if at most [`FEW`] differ and there are at most
    /// [`MOST_THREADS`](isobar_sim::schedules::MOST_THREADS) threads, otherwise one drawn by each
    /// seed.
    #[default]
    Auto,
    /// Every balanced schedule; an error if there are more than [`FEW`].
    Every,
    /// One drawn by each seed.
    Sampled,
}

/// One start.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub workload: Workload,
    /// Its probability.
    pub share: f64,
    /// `parts[i][j]`: the part of `share` in which application `i` has the role of application `j`.
    pub parts: Vec<BTreeMap<usize, f64>>,
}

/// The starts, and whether they are all possible starts.
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

/// The machine draws the start itself.
fn drawn(workload: &Workload) -> Start {
    let parts = (0..workload.apps.len()).map(|app| BTreeMap::from([(app, 1.0)])).collect();
    Start { workload: workload.clone(), share: 1.0, parts }
}
