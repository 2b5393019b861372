//! Compares policies: each runs the same workload from the same starts. Slowdowns are relative to
//! each program alone, and figures are means over the starts and the repeats.
//!
//! The first repeat uses the requested seed, the next one that seed plus 1, and so on, so that all
//! policies start from the same placements. Runs do not depend on each other: neither their order
//! nor the number of threads that compute them can change a result.

mod rows;

pub(crate) use rows::shorter;
pub use rows::{AppRow, PolicyRow, RowSpread, RunRow};

use crate::congestion::Meter;
use crate::error::LabError;
use crate::parallel;
use crate::run::observed;
use crate::starts::{Starts, starts};
use isobar_model::Policy;
use isobar_sim::{App, SimMachine, Workload};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What to compare.
#[derive(Clone, Debug)]
pub struct CompareSpec {
    /// The workload, with its machine.
    pub workload: Workload,
    /// Seed of the first repeat.
    pub seed: u64,
    /// Number of runs from each start, each with the next seed; at least 1.
    pub repeat: u32,
    /// Where threads start.
    pub starts: Starts,
    /// Number of runs computed side by side; changes no result.
    pub jobs: usize,
}

impl Comparison {
    /// The row of a policy, by its name.
    pub(crate) fn row(&self, policy: &str) -> Option<&PolicyRow> {
        self.policies.iter().find(|row| row.policy == policy)
    }
}

impl CompareSpec {
    /// A comparison on a workload: seed 1, one repeat, every balanced schedule if there are few,
    /// one job.
    #[must_use]
    pub fn new(workload: Workload) -> Self {
        Self { workload, seed: 1, repeat: 1, starts: Starts::Auto, jobs: 1 }
    }
}

/// A policy: its canonical name, and a function that makes a new one.
pub type NamedPolicy<'a> = (String, Box<dyn Fn() -> Box<dyn Policy> + Sync + 'a>);

/// The results of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Seed of the first repeat.
    pub seed: u64,
    /// Repeats of each policy.
    pub repeat: u32,
    /// Number of schedules over which each repeat is a mean: all schedules that a scheduler which
    /// balances CPU load may choose, counting those that are the same by symmetry once. `None` if
    /// each repeat draws one schedule by its seed.
    pub schedules: Option<usize>,
    /// One row for each policy, in the requested order.
    pub policies: Vec<PolicyRow>,
}

/// Runs every policy on the workload, `repeat` times from each start.
///
/// # Errors
/// [`LabError`] if a program does not end in time or a policy's plan is not valid.
pub fn compare(spec: &CompareSpec, policies: &[NamedPolicy<'_>]) -> Result<Comparison, LabError> {
    compare_with(spec, policies, &|_, _| ())
}

/// Like [`compare()`], and calls `progress` after each run with the number of runs done and the
/// total.
///
/// # Errors
/// As [`compare()`].
pub fn compare_with(
    spec: &CompareSpec,
    policies: &[NamedPolicy<'_>],
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Comparison, LabError> {
    compare_in_full(spec, policies, progress).map(|(comparison, _)| comparison)
}

/// Like [`compare_with`], and also returns every application of every run, before any mean.
///
/// # Errors
/// As [`compare()`].
pub fn compare_in_full(
    spec: &CompareSpec,
    policies: &[NamedPolicy<'_>],
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(Comparison, Vec<RunRow>), LabError> {
    let alone = alone(&spec.workload)?;
    let (starts, listed) = starts(&spec.workload, spec.starts)?;
    let repeat = spec.repeat.max(1);
    let tasks = tasks(policies.len(), repeat, starts.len());
    let done = AtomicUsize::new(0);
    let run = |task: &Task| {
        let seed = spec.seed.wrapping_add(u64::from(task.repeat));
        let mut meter = Meter::default();
        let mut policy = policies[task.policy].1();
        let report = observed(&starts[task.start].workload, seed, policy.as_mut(), &mut meter);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, tasks.len());
        rows::truth(&spec.workload, &report?, meter.worst())
    };
    let mut runs = parallel::each(spec.jobs, &tasks, run)?.into_iter();
    let mut sheet = || -> rows::Runs { (0..repeat).map(|_| runs.by_ref().take(starts.len()).collect()).collect() };
    let all: Vec<_> = policies.iter().map(|(name, _)| (name.clone(), sheet())).collect();
    let policies = rows::rows(&spec.workload, &all, &alone, &starts);
    let runs = rows::runs(&spec.workload, &all, &alone, &starts, spec.seed);
    Ok((Comparison { seed: spec.seed, repeat, schedules: listed.then_some(starts.len()), policies }, runs))
}

/// One run to make.
struct Task {
    policy: usize,
    repeat: u32,
    start: usize,
}

fn tasks(policies: usize, repeat: u32, starts: usize) -> Vec<Task> {
    let repeats = move |policy| (0..repeat).map(move |repeat| (policy, repeat));
    let all = (0..policies).flat_map(repeats);
    all.flat_map(|(policy, repeat)| (0..starts).map(move |start| Task { policy, repeat, start })).collect()
}

/// Completion time of each application alone on the machine, in seconds, in the order of the
/// workload; `None` for an application that does not end in time. Identical applications are
/// simulated once.
///
/// # Errors
/// [`LabError::Sim`] if the contention model has no answer.
pub fn alone_seconds(workload: &Workload) -> Result<Vec<Option<f64>>, LabError> {
    let mut known = BTreeMap::new();
    let mut alone = |app: &App| {
        let alike = (app.program.name.clone(), app.threads, app.phase_offset.to_bits());
        if let Some(seconds) = known.get(&alike) {
            return Ok(*seconds);
        }
        let seconds = SimMachine::alone_seconds(workload, app)?;
        known.insert(alike, seconds);
        Ok(seconds)
    };
    workload.apps.iter().map(&mut alone).collect()
}

/// Like [`alone_seconds`], but every application must end.
pub(crate) fn alone(workload: &Workload) -> Result<Vec<f64>, LabError> {
    let times = workload.apps.iter().zip(alone_seconds(workload)?);
    times.map(|(app, seconds)| seconds.ok_or_else(|| LabError::unfinished(workload, &app.name))).collect()
}

#[cfg(test)]
mod tests;
