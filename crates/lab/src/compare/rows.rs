//! Turns runs into the rows of a comparison: means over starts and repeats, and their spread.
//! Arithmetic only.

use crate::congestion::Congestion;
use crate::error::LabError;
use crate::run::seconds;
use crate::spread::{Spread, spread};
use crate::starts::Start;
use crate::stats::mean_or_zero;
use isobar_model::metrics::{self, Summary};
use isobar_model::num;
use isobar_sim::{RunReport, Workload};
use serde::Serialize;

/// The results of one policy; means over the repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyRow {
    /// Its canonical name.
    pub policy: String,
    /// The measures of [`Summary`] over the applications' mean slowdowns, each a mean over the
    /// repeats.
    #[serde(flatten)]
    pub summary: Summary,
    /// Simulated seconds.
    pub seconds: f64,
    /// Thread migrations.
    pub thread_migrations: f64,
    /// Memory migrations, as DINO's table 1 counts them.
    pub memory_migrations: f64,
    /// Memory migrations per hour and process (DINO, table 1).
    pub memory_migrations_per_hour: f64,
    /// Pages moved.
    pub pages_moved: f64,
    /// Mean improvement of the applications' completion times over `linux`, in per cent; absent if
    /// `linux` was not run.
    pub vs_linux_percent: Option<f64>,
    /// The CAMM paper's measures of congestion: time and gap of the node that was congested
    /// longest, and crossings of the node with the most. Absent if latencies were not measured or
    /// there is only one node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Congestion>,
    /// How much the measures vary.
    pub spread: RowSpread,
    /// By application.
    pub apps: Vec<AppRow>,
}

/// The results of one application under a policy; means over the repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AppRow {
    /// Its name in the workload.
    pub name: String,
    /// Completion time alone on the machine, in seconds.
    pub alone_seconds: f64,
    /// Completion time, in seconds.
    pub seconds: f64,
    /// Completion time divided by completion time alone.
    pub slowdown: f64,
    /// Thread migrations.
    pub thread_migrations: f64,
    /// Memory migrations.
    pub memory_migrations: f64,
    /// Pages moved.
    pub pages_moved: f64,
    /// Improvement of the completion time over `linux`, in per cent.
    pub vs_linux_percent: Option<f64>,
    /// How much the slowdown varies.
    pub slowdown_spread: Spread,
    /// How much the improvement varies.
    pub vs_linux_spread: Option<Spread>,
}

/// How much a policy's measures vary from run to run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowSpread {
    /// Greatest slowdown divided by least slowdown.
    pub unfairness: Spread,
    /// System throughput.
    pub stp: Spread,
    /// Mean slowdown.
    pub antt: Spread,
    /// Standard deviation divided by mean of the slowdowns.
    pub unfairness_cov: Spread,
    /// Mean improvement over `linux`, in per cent, comparing runs from the same start and seed.
    pub vs_linux_percent: Option<Spread>,
}

/// The results of one application in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRow {
    /// The policy's canonical name.
    pub policy: String,
    /// The seed of the run.
    pub seed: u64,
    /// Number of the start, from 0.
    pub start: usize,
    /// Probability of the start.
    pub share: f64,
    /// The application's name in the workload.
    pub app: String,
    /// Completion time, in seconds.
    pub seconds: f64,
    /// Completion time divided by completion time alone.
    pub slowdown: f64,
    /// Thread migrations.
    pub thread_migrations: f64,
    /// Memory migrations.
    pub memory_migrations: f64,
    /// Pages moved.
    pub pages_moved: f64,
    /// Simulated seconds of the run as a whole.
    pub run_seconds: f64,
}

/// One run in which every application has ended.
#[derive(Clone, Debug)]
pub(super) struct Run {
    seconds: f64,
    congestion: Option<Congestion>,
    apps: Vec<AppRun>,
}

#[derive(Clone, Copy, Debug)]
struct AppRun {
    seconds: f64,
    thread_migrations: f64,
    memory_migrations: f64,
    pages_moved: f64,
}

/// By repeat and start.
pub(super) type Runs = Vec<Vec<Run>>;

/// Extracts the needed figures from a report.
///
/// # Errors
/// [`LabError::Unfinished`] if an application never completed.
pub(super) fn truth(workload: &Workload, report: &RunReport, congestion: Option<Congestion>) -> Result<Run, LabError> {
    let apps = report.apps.iter().map(|app| {
        Ok(AppRun {
            seconds: seconds(workload, app)?,
            thread_migrations: num::float(app.thread_migrations),
            memory_migrations: num::float(app.memory_migrations),
            pages_moved: num::float(app.pages_moved),
        })
    });
    Ok(Run { seconds: report.seconds, congestion, apps: apps.collect::<Result<_, LabError>>()? })
}

/// Every application of every run, in the order of the policies, seeds and starts.
pub(super) fn runs(
    workload: &Workload,
    all: &[(String, Runs)],
    alone: &[f64],
    starts: &[Start],
    first: u64,
) -> Vec<RunRow> {
    let mut rows = Vec::new();
    for (policy, repeats) in all {
        for (seed, runs) in (0..).map(|repeat| first.wrapping_add(repeat)).zip(repeats) {
            for (start, run) in runs.iter().enumerate() {
                let apps = workload.apps.iter().zip(&run.apps).zip(alone);
                rows.extend(apps.map(|((app, done), alone)| RunRow {
                    policy: policy.clone(),
                    seed,
                    start,
                    share: starts[start].share,
                    app: app.name.clone(),
                    seconds: done.seconds,
                    slowdown: done.seconds / alone,
                    thread_migrations: done.thread_migrations,
                    memory_migrations: done.memory_migrations,
                    pages_moved: done.pages_moved,
                    run_seconds: run.seconds,
                }));
            }
        }
    }
    rows
}

/// The row of every policy.
pub(super) fn rows(workload: &Workload, all: &[(String, Runs)], alone: &[f64], starts: &[Start]) -> Vec<PolicyRow> {
    let linux = all.iter().find(|(name, _)| name == "linux").map(|(_, runs)| runs);
    let row = |(name, runs): &(String, Runs)| Sheet { runs, linux, alone, starts }.row(name, workload);
    all.iter().map(row).collect()
}

/// The runs of a policy, and the runs that they are compared with.
struct Sheet<'a> {
    runs: &'a Runs,
    linux: Option<&'a Runs>,
    alone: &'a [f64],
    starts: &'a [Start],
}

impl Sheet<'_> {
    fn row(&self, name: &str, workload: &Workload) -> PolicyRow {
        let apps: Vec<_> = (0..self.alone.len()).map(|index| self.app(index, &workload.apps[index].name)).collect();
        let seconds = mean(&self.by_repeat(|run| run.seconds));
        let memory_migrations: f64 = apps.iter().map(|app| app.memory_migrations).sum();
        let versus: Option<Vec<f64>> = apps.iter().map(|app| app.vs_linux_percent).collect();
        let (unfairness, stp) = (self.measure(|all| all.unfairness), self.measure(|all| all.stp));
        let (antt, cov) = (self.measure(|all| all.antt), self.measure(|all| all.unfairness_cov));
        PolicyRow {
            policy: name.to_owned(),
            summary: Summary { unfairness: unfairness.0, stp: stp.0, antt: antt.0, unfairness_cov: cov.0 },
            seconds,
            thread_migrations: apps.iter().map(|app| app.thread_migrations).sum(),
            memory_migrations,
            memory_migrations_per_hour: memory_migrations * 3600.0 / seconds / num::float_len(apps.len()),
            pages_moved: apps.iter().map(|app| app.pages_moved).sum(),
            vs_linux_percent: versus.map(|all| mean(&all)),
            congestion: self.congestion(),
            spread: RowSpread {
                unfairness: unfairness.1,
                stp: stp.1,
                antt: antt.1,
                unfairness_cov: cov.1,
                vs_linux_percent: self.versus(),
            },
            apps,
        }
    }

    fn app(&self, index: usize, name: &str) -> AppRow {
        let of = |read: fn(&AppRun) -> f64| mean(&self.app_by_repeat(self.runs, index, read));
        let times = self.app_by_repeat(self.runs, index, |app| app.seconds);
        let alone_seconds = self.alone[index];
        let slowdowns: Vec<_> = times.iter().map(|seconds| seconds / alone_seconds).collect();
        let each = self.app_runs(self.runs, index);
        let linux = self.linux.map(|linux| self.app_by_repeat(linux, index, |app| app.seconds));
        let seconds = mean(&times);
        AppRow {
            name: name.to_owned(),
            alone_seconds,
            seconds,
            slowdown: seconds / alone_seconds,
            thread_migrations: of(|app| app.thread_migrations),
            memory_migrations: of(|app| app.memory_migrations),
            pages_moved: of(|app| app.pages_moved),
            vs_linux_percent: linux.as_ref().map(|linux| shorter(seconds, mean(linux))),
            slowdown_spread: known(spread(each.iter().map(|app| app.seconds / alone_seconds), &slowdowns)),
            vs_linux_spread: self.linux.zip(linux).map(|(runs, linux)| {
                let repeats: Vec<_> = times.iter().zip(&linux).map(|(own, base)| shorter(*own, *base)).collect();
                let base = self.app_runs(runs, index);
                known(spread(each.iter().zip(base).map(|(own, base)| shorter(own.seconds, base.seconds)), &repeats))
            }),
        }
    }

    /// A measure over the slowdowns of each run: its mean and its spread.
    fn measure(&self, read: fn(&Summary) -> f64) -> (f64, Spread) {
        let of = |run: &Run| self.summary(run).map_or(0.0, |all| read(&all));
        let repeats = self.by_repeat(of);
        (mean(&repeats), known(spread(self.runs.iter().flatten().map(of), &repeats)))
    }

    fn summary(&self, run: &Run) -> Option<Summary> {
        let slowdowns: Vec<_> = run.apps.iter().zip(self.alone).map(|(app, alone)| app.seconds / alone).collect();
        metrics::summary(&slowdowns)
    }

    /// Means over the runs, if all of them measured congestion.
    fn congestion(&self) -> Option<Congestion> {
        let measured = self.runs.iter().flatten().all(|run| run.congestion.is_some());
        let of = |read: fn(&Congestion) -> f64| mean(&self.by_repeat(|run| run.congestion.as_ref().map_or(0.0, read)));
        measured.then(|| Congestion {
            congestion_seconds: of(|one| one.congestion_seconds),
            oscillations: of(|one| one.oscillations),
            wide_oscillations: of(|one| one.wide_oscillations),
            mean_gap_cycles: of(|one| one.mean_gap_cycles),
        })
    }

    /// Mean improvement of the applications, run by run.
    fn versus(&self) -> Option<Spread> {
        let linux = self.linux?;
        let one = |own: &Run, base: &Run| {
            let apps = own.apps.iter().zip(&base.apps);
            mean(&apps.map(|(own, base)| shorter(own.seconds, base.seconds)).collect::<Vec<_>>())
        };
        let pairs = self.runs.iter().flatten().zip(linux.iter().flatten());
        let repeats: Vec<_> = (0..self.runs.len()).map(|repeat| self.app_means(linux, repeat)).collect();
        spread(pairs.map(|(own, base)| one(own, base)), &repeats)
    }

    /// Mean improvement over the applications in one repeat.
    fn app_means(&self, linux: &Runs, repeat: usize) -> f64 {
        let seconds = |runs: &Runs, index| self.app_mean(&runs[repeat], index, |app| app.seconds);
        let apps = (0..self.alone.len()).map(|index| shorter(seconds(self.runs, index), seconds(linux, index)));
        mean(&apps.collect::<Vec<_>>())
    }

    /// The mean of a value over the starts, for each repeat.
    fn by_repeat(&self, read: impl Fn(&Run) -> f64) -> Vec<f64> {
        let one = |runs: &Vec<Run>| self.starts.iter().zip(runs).map(|(start, run)| start.share * read(run)).sum();
        self.runs.iter().map(one).collect()
    }

    fn app_by_repeat(&self, runs: &Runs, index: usize, read: fn(&AppRun) -> f64) -> Vec<f64> {
        runs.iter().map(|runs| self.app_mean(runs, index, read)).collect()
    }

    /// The mean of an application's value over the starts, in each role that it has there.
    fn app_mean(&self, runs: &[Run], index: usize, read: fn(&AppRun) -> f64) -> f64 {
        let start = |(start, run): (&Start, &Run)| {
            start.parts[index].iter().map(|(role, part)| part * read(&run.apps[*role])).sum::<f64>()
        };
        self.starts.iter().zip(runs).map(start).sum()
    }

    /// The results of an application in every run, in each role that it has.
    fn app_runs(&self, runs: &Runs, index: usize) -> Vec<AppRun> {
        let one =
            |(start, run): (&Start, &Run)| start.parts[index].keys().map(|role| run.apps[*role]).collect::<Vec<_>>();
        runs.iter().flat_map(|runs| self.starts.iter().zip(runs).flat_map(one)).collect()
    }
}

/// Improvement of a completion time in per cent, as in the DINO paper's figures: how much shorter
/// it is, relative to the time under `linux`.
pub(crate) fn shorter(seconds: f64, linux: f64) -> f64 {
    100.0 * (1.0 - seconds / linux)
}

fn mean(values: &[f64]) -> f64 {
    mean_or_zero(values.iter().copied())
}

/// A comparison has at least one run, so there is always a spread.
fn known(spread: Option<Spread>) -> Spread {
    spread.unwrap_or(Spread { min: 0.0, max: 0.0, half_width_95: None })
}
