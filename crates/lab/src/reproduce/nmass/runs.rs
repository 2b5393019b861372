//! Runs every workload and map under every policy and compares them with the stock scheduler: the
//! mean over all its balanced schedules, as in section 4.3.

use super::profiles::Profiles;
use super::workloads::Case;
use crate::compare::{AppRow, CompareSpec, Comparison, compare};
use crate::error::LabError;
use crate::reproduce::options::Options;
use crate::starts::Starts;

/// The results, in the order of table 2.
#[derive(Clone, Debug)]
pub(super) struct Runs(pub Vec<Run>);

/// A workload with a map, under every policy.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub case: Case,
    pub compared: Comparison,
}

/// Runs every case; `progress` is called with the number done.
pub(super) fn run(
    cases: Vec<Case>,
    profiles: &Profiles,
    options: &Options,
    progress: &dyn Fn(usize),
) -> Result<Runs, LabError> {
    let policies = profiles.policies()?;
    let mut runs = Vec::with_capacity(cases.len());
    for case in cases {
        let workload = case.workload.clone();
        let spec = CompareSpec { workload, seed: options.seed, repeat: 1, starts: Starts::Every, jobs: options.jobs };
        runs.push(Run { compared: compare(&spec, &policies)?, case });
        progress(runs.len());
    }
    Ok(Runs(runs))
}

impl Run {
    /// The results of its programs under a policy.
    pub fn apps(&self, policy: &str) -> &[AppRow] {
        self.compared.row(policy).map_or(&[], |row| &row.apps)
    }

    /// Improvement over the stock scheduler, as the mean over the programs, in per cent.
    pub fn gain(&self, policy: &str) -> f64 {
        self.compared.row(policy).and_then(|row| row.vs_linux_percent).unwrap_or_default()
    }

    /// Improvement of each program, in per cent.
    pub fn gains(&self, policy: &str) -> impl Iterator<Item = f64> {
        self.apps(policy).iter().filter_map(|app| app.vs_linux_percent)
    }

    /// Slowdown of each program above 1, in per cent.
    pub fn degradations(&self, policy: &str) -> impl Iterator<Item = f64> {
        self.apps(policy).iter().map(|app| 100.0 * (app.slowdown - 1.0))
    }
}

impl Runs {
    /// The runs with all memory on node 0: one for each workload.
    pub fn on_one_node(&self) -> impl Iterator<Item = &Run> {
        self.0.iter().filter(|run| run.case.is_on_one_node())
    }

    /// The runs of a workload under every map.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Run> {
        self.0.iter().filter(move |run| run.case.name == name)
    }

    /// The run of a workload under a map.
    pub fn one<'a>(&'a self, name: &'a str, map: &str) -> Option<&'a Run> {
        self.of(name).find(|run| run.case.map == map)
    }
}
