//! The simulated optimum: runs every mapping of a workload's threads to last-level caches, those
//! that are the same by symmetry once, and ranks them by mean slowdown, the measure of the N-MASS
//! paper (section 4.1, after Eyerman and Eeckhout).
//!
//! Threads stay where they are put for the whole run, and so do the threads of later runs of an
//! application. Memory is where the workload puts it, otherwise where it is first touched. A policy
//! that moves threads or pages during a run can do better than any of these mappings.

use crate::compare::alone;
use crate::error::LabError;
use crate::parallel;
use crate::run::{run_policy, slowdowns};
use isobar_model::LlcId;
use isobar_model::metrics::Summary;
use isobar_policy::baseline::linux::Linux;
use isobar_sim::Workload;
use isobar_sim::schedules::{Schedule, mappings};
use serde::Serialize;

/// Maximum number of mappings: a few thousand runs of a minute each take seconds.
pub const MOST_MAPPINGS: usize = 5000;

/// One mapping and its results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mapping {
    /// The last-level cache of each thread, by application in the order of the workload.
    pub llcs: Vec<Vec<LlcId>>,
    /// Fraction of all mappings that are the same as this one by symmetry.
    pub share: f64,
    /// The measures over its slowdowns.
    #[serde(flatten)]
    pub summary: Summary,
    /// Slowdown of each application.
    pub slowdowns: Vec<f64>,
}

/// Every mapping of a workload, the one with the least mean slowdown first; ties go to the higher
/// throughput, then by caches.
///
/// # Errors
/// [`LabError::TooMany`] if more than `most` mappings differ, [`LabError::Unfinished`] if an
/// application does not end in time.
pub fn optimum(workload: &Workload, most: usize, jobs: usize) -> Result<Vec<Mapping>, LabError> {
    let alone = alone(workload)?;
    let all = mappings(workload, most).map_err(|error| LabError::TooMany { what: "static mappings", error })?;
    let mut ranked = parallel::each(jobs, &all, |schedule| mapping(workload, schedule, &alone))?;
    ranked.sort_by(|a, b| {
        let by_measure = a.summary.antt.total_cmp(&b.summary.antt).then(b.summary.stp.total_cmp(&a.summary.stp));
        by_measure.then_with(|| a.llcs.cmp(&b.llcs))
    });
    Ok(ranked)
}

fn mapping(workload: &Workload, schedule: &Schedule, alone: &[f64]) -> Result<Mapping, LabError> {
    let report = run_policy(&workload.seated(schedule, true), 0, &mut Linux)?;
    let (slowdowns, summary) = slowdowns(workload, &report, alone)?;
    Ok(Mapping { llcs: schedule.llcs.clone(), share: schedule.share, summary, slowdowns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(apps: &str) -> Workload {
        let text = format!("machine = \"nehalem-2x4\"\n[run]\nruns = 1\ninstructions_factor = 0.05\n{apps}");
        Workload::from_toml("w.toml", &text).unwrap()
    }

    /// Four clones, memory on node 0: zero to four of them run there.
    #[test]
    fn every_distinct_mapping_is_ranked_and_jobs_change_nothing() {
        let clones = workload("[[app]]\nprogram = \"soplex\"\nmemory_node = 0\ncount = 4\n");
        let ranked = optimum(&clones, 100, 1).unwrap();
        assert_eq!(ranked.len(), 5);
        assert!(ranked.windows(2).all(|two| two[0].summary.antt <= two[1].summary.antt));
        assert_eq!(ranked, optimum(&clones, 100, 2).unwrap());
        let all_remote = ranked.iter().find(|one| one.llcs.iter().flatten().all(|llc| *llc == LlcId(1))).unwrap();
        let all_local = ranked.iter().find(|one| one.llcs.iter().flatten().all(|llc| *llc == LlcId(0))).unwrap();
        assert!(all_remote.summary.antt > all_local.summary.antt);
    }

    #[test]
    fn too_many_are_told() {
        let many = workload("[[app]]\nprogram = \"soplex\"\nmemory_node = 0\ncount = 4\n");
        let message = optimum(&many, 4, 1).unwrap_err().to_string();
        assert!(message.starts_with("static mappings: more than 4"), "{message}");
    }
}
