//! Runs a workload once under a policy, through the loop of the program. Threads are selected as
//! `manage` selects them, by the threshold `[run] min_cpu_percent`.

use crate::error::LabError;
use isobar_model::Policy;
use isobar_model::metrics::{self, Summary};
use isobar_runtime::selection::Rules;
use isobar_runtime::{Limits, Loop, Observer, RunError};
use isobar_sim::{AppReport, RunReport, SimMachine, Workload};

/// Runs a workload under a policy to its end. A policy also runs if the machine lacks what it
/// needs, so that a comparison shows the consequences.
///
/// # Errors
/// [`RunError`] if the policy panics or makes a plan that cannot be carried out, which is a fault
/// of the policy.
pub fn run_policy(workload: &Workload, seed: u64, policy: &mut dyn Policy) -> Result<RunReport, RunError> {
    observed(workload, seed, policy, &mut ())
}

/// Like [`run_policy`], with an observer.
pub(crate) fn observed(
    workload: &Workload,
    seed: u64,
    policy: &mut dyn Policy,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunError> {
    let machine = SimMachine::new(workload, seed).probing_for(policy.needs());
    let limits = Limits { despite_missing: true, ..Limits::every(machine.epoch()) };
    let rules = Rules { min_share: workload.run.min_cpu_percent / 100.0, ..Rules::default() };
    let mut run = Loop::new(machine, Box::new(policy), limits).selecting(rules);
    run.run(observer)?;
    Ok(run.machine().report())
}

/// Completion times divided by those alone, by application, and their measures.
pub(crate) fn slowdowns(
    workload: &Workload,
    report: &RunReport,
    alone: &[f64],
) -> Result<(Vec<f64>, Summary), LabError> {
    let one = |(app, alone): (&AppReport, &f64)| Ok(seconds(workload, app)? / alone);
    let slowdowns = report.apps.iter().zip(alone).map(one).collect::<Result<Vec<_>, LabError>>()?;
    let summary = metrics::summary(&slowdowns).ok_or_else(|| LabError::unfinished(workload, "an application"))?;
    Ok((slowdowns, summary))
}

/// The mean completion time of an application.
pub(crate) fn seconds(workload: &Workload, app: &AppReport) -> Result<f64, LabError> {
    app.mean_seconds.ok_or_else(|| LabError::unfinished(workload, &app.name))
}
