//! Policies compared: the same workload and seeds for each, slowdowns against each program alone, means over the repeats.
//!
//! The first repeat of every policy has the seed that was asked for, the next one that plus 1, and so on, so that all policies start
//! from the same placements. Runs do not depend on each other: their order cannot change a result.

use crate::harness::run_policy;
use isobar_model::metrics::{self, Summary};
use isobar_model::validate::PlanFault;
use isobar_model::{Policy, num};
use isobar_sim::{App, AppReport, RunReport, SimMachine, Workload};
use serde::Serialize;
use std::collections::BTreeMap;

/// What to compare on.
#[derive(Clone, Debug)]
pub struct CompareSpec {
    /// The workload, with its machine.
    pub workload: Workload,
    /// Seed of the first repeat.
    pub seed: u64,
    /// How many placements to draw; at least 1.
    pub repeat: u32,
}

/// A policy by its canonical name, and how to make a fresh one.
pub type NamedPolicy<'a> = (String, Box<dyn Fn() -> Box<dyn Policy> + 'a>);

/// Why a comparison could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LabError {
    /// a policy made a plan that cannot be carried out
    #[error("policy {policy} made a plan at {time} s that cannot be carried out: {fault}")]
    Plan {
        /// the policy
        policy: String,
        /// simulated seconds
        time: f64,
        /// what is wrong with the plan
        fault: PlanFault,
    },
    /// an application never completed
    #[error("{app} did not complete within run.max_seconds = {max_seconds}: raise it or lower run.instructions_factor")]
    Unfinished {
        /// the application
        app: String,
        /// the limit
        max_seconds: f64,
    },
}

/// How the policies did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Seed of the first repeat.
    pub seed: u64,
    /// Repeats of each policy.
    pub repeat: u32,
    /// One row for each policy, in the order asked for.
    pub policies: Vec<PolicyRow>,
}

/// How one policy did; means over the repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyRow {
    /// Its canonical name.
    pub policy: String,
    /// The measures of design section 3 over the applications' mean slowdowns, each the mean over the repeats.
    #[serde(flatten)]
    pub summary: Summary,
    /// Simulated seconds.
    pub seconds: f64,
    /// Thread migrations.
    pub thread_migrations: f64,
    /// Memory migrations, as DINO's table 1 counts them.
    pub memory_migrations: f64,
    /// The same by the hour and process (DINO, table 1).
    pub memory_migrations_per_hour: f64,
    /// Pages moved.
    pub pages_moved: f64,
    /// Mean improvement of the applications' completion times over `linux`, in per cent; absent where `linux` was not run.
    pub vs_linux_percent: Option<f64>,
    /// By application.
    pub apps: Vec<AppRow>,
}

/// How one application did under a policy; means over the repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AppRow {
    /// Its name in the workload.
    pub name: String,
    /// Completion time alone on the machine.
    pub alone_seconds: f64,
    /// Completion time.
    pub seconds: f64,
    /// Completion time over completion time alone.
    pub slowdown: f64,
    /// Thread migrations.
    pub thread_migrations: f64,
    /// Memory migrations.
    pub memory_migrations: f64,
    /// Pages moved.
    pub pages_moved: f64,
    /// Improvement of the completion time over `linux`, in per cent.
    pub vs_linux_percent: Option<f64>,
}

/// Runs every policy on the workload, `repeat` times each.
///
/// # Errors
/// [`LabError`] where a program does not end in time or a policy's plan is not valid.
pub fn compare(spec: &CompareSpec, policies: &[NamedPolicy<'_>]) -> Result<Comparison, LabError> {
    let alone = alone(&spec.workload)?;
    let rows = policies.iter().map(|(name, make)| row(spec, name, &alone, make.as_ref()));
    let mut policies = rows.collect::<Result<Vec<_>, _>>()?;
    against_linux(&mut policies);
    Ok(Comparison { seed: spec.seed, repeat: spec.repeat.max(1), policies })
}

/// Completion time of each application alone on the machine, in seconds, in the order of the workload; `None` for one that does
/// not end in time. Applications that are alike are simulated once.
#[must_use]
pub fn alone_seconds(workload: &Workload) -> Vec<Option<f64>> {
    let mut known = BTreeMap::new();
    let mut alone = |app: &App| {
        let alike = (app.program.name.clone(), app.threads, app.phase_offset.to_bits());
        *known.entry(alike).or_insert_with(|| SimMachine::alone_seconds(workload, app))
    };
    workload.apps.iter().map(&mut alone).collect()
}

/// As [`alone_seconds`], where all must end.
fn alone(workload: &Workload) -> Result<Vec<f64>, LabError> {
    let times = workload.apps.iter().zip(alone_seconds(workload));
    times.map(|(app, seconds)| seconds.ok_or_else(|| unfinished(workload, &app.name))).collect()
}

fn unfinished(workload: &Workload, app: &str) -> LabError {
    LabError::Unfinished { app: app.to_owned(), max_seconds: workload.run.max_seconds }
}

fn row(
    spec: &CompareSpec,
    name: &str,
    alone: &[f64],
    make: &dyn Fn() -> Box<dyn Policy>,
) -> Result<PolicyRow, LabError> {
    let seeds = (0..u64::from(spec.repeat.max(1))).map(|repeat| spec.seed.wrapping_add(repeat));
    let runs = seeds.map(|seed| run_policy(&spec.workload, seed, make().as_mut())).collect::<Result<Vec<_>, _>>()?;
    let apps = (0..alone.len()).map(|index| app(spec, &runs, index, alone[index])).collect::<Result<Vec<_>, _>>()?;
    let summaries: Vec<_> = runs.iter().filter_map(|run| summary(run, alone)).collect();
    let seconds = mean(runs.iter().map(|run| run.seconds));
    let memory_migrations = apps.iter().map(|app| app.memory_migrations).sum();
    Ok(PolicyRow {
        policy: name.to_owned(),
        summary: mean_summary(&summaries),
        seconds,
        thread_migrations: apps.iter().map(|app| app.thread_migrations).sum(),
        memory_migrations,
        memory_migrations_per_hour: memory_migrations * 3600.0 / seconds / num::float_len(apps.len()),
        pages_moved: apps.iter().map(|app| app.pages_moved).sum(),
        vs_linux_percent: None,
        apps,
    })
}

fn app(spec: &CompareSpec, runs: &[RunReport], index: usize, alone_seconds: f64) -> Result<AppRow, LabError> {
    let reports: Vec<&AppReport> = runs.iter().map(|run| &run.apps[index]).collect();
    let times: Option<Vec<f64>> = reports.iter().map(|report| report.mean_seconds).collect();
    let seconds = mean(times.ok_or_else(|| unfinished(&spec.workload, &reports[0].name))?);
    let counted = |read: fn(&AppReport) -> u64| mean(reports.iter().map(|report| num::float(read(report))));
    Ok(AppRow {
        name: reports[0].name.clone(),
        alone_seconds,
        seconds,
        slowdown: seconds / alone_seconds,
        thread_migrations: counted(|report| report.thread_migrations),
        memory_migrations: counted(|report| report.memory_migrations),
        pages_moved: counted(|report| report.pages_moved),
        vs_linux_percent: None,
    })
}

fn summary(run: &RunReport, alone: &[f64]) -> Option<Summary> {
    let slowdowns = run.apps.iter().zip(alone).map(|(app, alone)| Some(app.mean_seconds? / alone));
    metrics::summary(&slowdowns.collect::<Option<Vec<_>>>()?)
}

fn mean_summary(all: &[Summary]) -> Summary {
    let of = |read: fn(&Summary) -> f64| mean(all.iter().map(read));
    Summary {
        unfairness: of(|one| one.unfairness),
        stp: of(|one| one.stp),
        antt: of(|one| one.antt),
        unfairness_cov: of(|one| one.unfairness_cov),
    }
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<_> = values.into_iter().collect();
    values.iter().sum::<f64>() / num::float_len(values.len().max(1))
}

/// Improvement of completion times in per cent, as the DINO paper's figures: how much shorter, of the time under `linux`.
fn against_linux(rows: &mut [PolicyRow]) {
    let Some(linux) = rows.iter().find(|row| row.policy == "linux") else { return };
    let base: Vec<f64> = linux.apps.iter().map(|app| app.seconds).collect();
    for row in rows {
        for (app, base) in row.apps.iter_mut().zip(&base) {
            app.vs_linux_percent = Some(100.0 * (1.0 - app.seconds / base));
        }
        row.vs_linux_percent = Some(mean(row.apps.iter().filter_map(|app| app.vs_linux_percent)));
    }
}

#[cfg(test)]
mod tests;
