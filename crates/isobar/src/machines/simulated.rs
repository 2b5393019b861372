//! The simulated machine: reads workloads from files, and reports how they ended.

use crate::failure::bad_input;
use crate::input;
use crate::report::{AppTruth, Truth};
use isobar_model::metrics;
use isobar_sim::{AppReport, SimMachine, Workload};
use std::path::Path;

/// How a workload ended on a machine, compared with each of its programs alone on the machine.
pub fn truth(workload: &Workload, machine: &SimMachine) -> Truth {
    // If the model has no answer for a program alone, its slowdown is not known.
    let alone = isobar_lab::alone_seconds(workload).unwrap_or_else(|_| vec![None; workload.apps.len()]);
    let finished = machine.report().apps.into_iter().zip(alone);
    let apps: Vec<AppTruth> = finished.map(|(app, alone)| app_truth(app, alone)).collect();
    let slowdowns: Option<Vec<f64>> = apps.iter().map(|app| app.slowdown).collect();
    Truth { summary: slowdowns.and_then(|slowdowns| metrics::summary(&slowdowns)), apps }
}

fn app_truth(report: AppReport, alone_seconds: Option<f64>) -> AppTruth {
    let slowdown = report.mean_seconds.zip(alone_seconds).map(|(here, alone)| here / alone);
    let AppReport { name, completed, mean_seconds: seconds, .. } = report;
    AppTruth { name, completed, seconds, alone_seconds, slowdown }
}

/// Reads a workload from its file.
///
/// # Errors
/// Bad input: a workload that cannot be read or is inconsistent.
pub fn read(file: &Path) -> anyhow::Result<Workload> {
    let name = file.display().to_string();
    let text = input::text(file, input::SETTINGS)
        .map_err(|error| bad_input(format!("{name}: cannot be read: {error}: expected a TOML workload")))?;
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let beside = |path: &str| input::described(&folder.join(path)).map_err(|error| format!("cannot be read: {error}"));
    Workload::from_toml_with(&name, &text, &beside).map_err(bad_input)
}
