//! Runs every mix under every policy, several times, and counts. Its callers compare the results
//! with the paper.

use super::mixes::Mix;
use crate::compare::alone;
use crate::error::LabError;
use crate::parallel;
use crate::reproduce::options::Options;
use crate::run::{run_policy, slowdowns};
use isobar_model::metrics::Summary;
use isobar_model::{Policy, num};
use isobar_sim::RunReport;

/// A policy: its name, and a function that makes a new one.
pub(super) type Strategy = (&'static str, fn() -> Box<dyn Policy>);

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Launch {
    pub summary: Summary,
    /// Slowdown by application.
    pub slowdowns: Vec<f64>,
    /// Threads that moved to another last-level cache, per second.
    pub migrations: f64,
}

/// A mix under every policy.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Number of the mix: 1 to 30.
    pub number: usize,
    pub apps: Vec<String>,
    /// Runs by policy, then by repeat.
    pub launches: Vec<Vec<Launch>>,
}

struct Task {
    mix: usize,
    strategy: usize,
    repeat: usize,
}

/// Runs everything; `progress` is called after each run.
pub(crate) fn run(
    mixes: &[Mix],
    strategies: &[Strategy],
    launches: usize,
    options: &Options,
    progress: &(dyn Fn() + Sync),
) -> Result<Vec<Row>, LabError> {
    let times = parallel::each(options.jobs, mixes, |mix| alone(&mix.workload))?;
    let of_mix = |mix| {
        (0..strategies.len()).flat_map(move |strategy| (0..launches).map(move |repeat| Task { mix, strategy, repeat }))
    };
    let tasks: Vec<_> = (0..mixes.len()).flat_map(of_mix).collect();
    let mut done = parallel::each(options.jobs, &tasks, |task| {
        let workload = &mixes[task.mix].workload;
        let mut policy = strategies[task.strategy].1();
        let report =
            run_policy(workload, options.seed.wrapping_add(u64::from(num::narrow(task.repeat))), policy.as_mut())?;
        progress();
        launch(&mixes[task.mix], &report, &times[task.mix])
    })?
    .into_iter();
    let mut sheet = || (0..strategies.len()).map(|_| done.by_ref().take(launches).collect()).collect();
    Ok(mixes.iter().map(|mix| Row { number: mix.number, apps: names(mix), launches: sheet() }).collect())
}

fn names(mix: &Mix) -> Vec<String> {
    let name = |app: &isobar_sim::App| match app.threads {
        1 => app.name.clone(),
        threads => format!("{} ({threads})", app.name),
    };
    mix.workload.apps.iter().map(name).collect()
}

fn launch(mix: &Mix, report: &RunReport, alone: &[f64]) -> Result<Launch, LabError> {
    let (slowdowns, summary) = slowdowns(&mix.workload, report, alone)?;
    let moved: f64 = report.apps.iter().map(|app| num::float(app.llc_migrations)).sum();
    Ok(Launch { summary, slowdowns, migrations: moved / report.seconds })
}
