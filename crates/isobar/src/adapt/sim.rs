//! The simulated machine and the comparison of policies on it.

use super::input;
use crate::args::Schedules;
use crate::failure::{self, bad_input};
use crate::report::{AppTruth, Truth};
use isobar_lab::{CompareSpec, LabError, NamedPolicy, Starts};
use isobar_model::metrics;
use isobar_runtime::policies;
use isobar_runtime::settings::Config;
use isobar_sim::{AppReport, SimMachine, Workload};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// What `isobar sim` prints.
pub struct Comparison {
    /// the table for people
    pub text: String,
    /// the document for programs
    pub json: Value,
}

/// A simulated machine that runs a workload.
pub fn open(workload: &Workload, seed: u64) -> SimMachine {
    SimMachine::new(workload, seed)
}

/// What became of a workload on a machine, against each of its programs alone on it.
pub fn truth(workload: &Workload, machine: &SimMachine) -> Truth {
    let finished = machine.report().apps.into_iter().zip(isobar_lab::alone_seconds(workload));
    let apps: Vec<AppTruth> = finished.map(|(app, alone)| app_truth(app, alone)).collect();
    let slowdowns: Option<Vec<f64>> = apps.iter().map(|app| app.slowdown).collect();
    Truth { summary: slowdowns.and_then(|slowdowns| metrics::summary(&slowdowns)), apps }
}

fn app_truth(report: AppReport, alone_seconds: Option<f64>) -> AppTruth {
    let slowdown = report.mean_seconds.zip(alone_seconds).map(|(here, alone)| here / alone);
    let AppReport { name, completed, mean_seconds: seconds, .. } = report;
    AppTruth { name, completed, seconds, alone_seconds, slowdown }
}

/// How to compare.
pub struct Wanted {
    /// seed of the first repeat
    pub seed: u64,
    /// runs from each start
    pub repeat: u32,
    /// where threads start
    pub schedules: Schedules,
    /// whether to run every static mapping too
    pub optimum: bool,
    /// runs computed side by side
    pub jobs: usize,
}

/// Runs a workload under each policy; `progress` is told runs done and runs in all.
///
/// # Errors
/// Bad input: the workload, a policy, a setting.
pub fn compare(
    file: &Path,
    policies: &[String],
    config: &Config,
    wanted: &Wanted,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> anyhow::Result<Comparison> {
    each_once(policies)?;
    let policies = policies.iter().map(|name| named(name, config)).collect::<anyhow::Result<Vec<_>>>()?;
    let Wanted { seed, repeat, jobs, .. } = *wanted;
    let spec = CompareSpec { workload: read(file)?, seed, repeat, starts: starts(wanted.schedules), jobs };
    let failed = |error| match error {
        LabError::Unfinished { .. } | LabError::TooMany { .. } => bad_input(format!("{}: {error}", file.display())),
        LabError::Jobs { .. } | LabError::Sim(_) | LabError::Sra(_) | LabError::Study(_) | LabError::Settings(_) => {
            anyhow::anyhow!("{error}")
        }
        LabError::Run(error) => failure::of_run(error),
    };
    // First, since it fails early where there are too many.
    let most = isobar_lab::MOST_MAPPINGS;
    let ranked = wanted.optimum.then(|| isobar_lab::optimum(&spec.workload, most, jobs)).transpose().map_err(failed)?;
    let compared = isobar_lab::compare_with(&spec, &policies, progress).map_err(failed)?;
    let mut text = isobar_lab::table(&compared);
    if compared.policies.iter().all(|row| row.vs_linux_percent.is_none()) {
        text.push_str("\nvs linux: not compared, since `linux` is not among the policies of --policy\n");
    }
    let mut json = serde_json::to_value(&compared)?;
    if let Some(ranked) = ranked {
        let names: Vec<_> = spec.workload.apps.iter().map(|app| app.name.as_str()).collect();
        text.push_str(&isobar_lab::optimum_table(&ranked, &names));
        json["optimum"] = json!({"mappings": ranked.len(), "best": ranked.first(), "worst": ranked.last()});
    }
    add_notes(&spec.workload, &mut text, &mut json);
    Ok(Comparison { text, json })
}

fn starts(schedules: Schedules) -> Starts {
    match schedules {
        Schedules::Auto => Starts::Auto,
        Schedules::All => Starts::Every,
        Schedules::Sampled => Starts::Sampled,
    }
}

/// What is worth telling about the programs' numbers.
fn add_notes(workload: &Workload, text: &mut String, json: &mut Value) {
    let notes: BTreeSet<_> = workload.apps.iter().flat_map(|app| app.program.notes()).collect();
    if notes.is_empty() {
        return;
    }
    text.push('\n');
    notes.iter().for_each(|note| text.extend(["note: ", &crate::text::plain(note), "\n"]));
    json["notes"] = notes.into_iter().collect();
}

/// A list with a hole or with a policy twice is a slip: it would cost minutes and tell nothing more.
fn each_once(policies: &[String]) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    for name in policies {
        if name.trim().is_empty() {
            let known = policies::names().join(", ");
            return Err(bad_input(format!("--policy {}: an empty name: expected some of {known}", policies.join(","))));
        }
        if !seen.insert(name) {
            return Err(bad_input(format!("--policy {}: `{name}` occurs twice: name each once", policies.join(","))));
        }
    }
    Ok(())
}

fn named<'a>(name: &str, config: &Config) -> anyhow::Result<NamedPolicy<'a>> {
    Ok((name.to_owned(), Box::new(policies::maker(name, config, &input::settings).map_err(bad_input)?)))
}

/// A workload from its file.
///
/// # Errors
/// Bad input: a workload that cannot be read or does not hold together.
pub fn read(file: &Path) -> anyhow::Result<Workload> {
    let name = file.display().to_string();
    let text = input::text(file, input::SETTINGS)
        .map_err(|error| bad_input(format!("{name}: cannot be read: {error}: expected a TOML workload")))?;
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let beside = |path: &str| input::described(&folder.join(path)).map_err(|error| format!("cannot be read: {error}"));
    Workload::from_toml_with(&name, &text, &beside).map_err(bad_input)
}
