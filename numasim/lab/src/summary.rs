//! An experiment's boots put together: medians over repeats, ratios to the baseline of the same
//! boot, and what did not count. Pure.

use crate::experiment::Experiment;
use crate::metrics::{self, Measures};
use crate::plan::{alone_id, contenders, program_of, under_id};
use crate::stats::{Ratio, Verdict, median, ratio};
use numasim_guest::wire::{Line, Order, Ran};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A boot: what was asked, what came back.
#[derive(Clone, Debug)]
pub struct Boot {
    /// Which repeat, from 0.
    pub repeat: u32,
    /// What was asked.
    pub order: Order,
    /// What came back.
    pub lines: Vec<Line>,
    /// Why it did not come to its end, if so.
    pub problem: Option<String>,
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Its name.
    pub experiment: String,
    /// What it asks.
    pub about: String,
    /// The machine.
    pub machine: String,
    /// Guest nanoseconds for each of the real machine.
    pub time_scale: f64,
    /// Bytes of a real cache for each byte here.
    pub cache_scale: f64,
    /// Boots.
    pub repeats: u32,
    /// What rotated the order.
    pub seed: u64,
    /// The contender that the others are compared with.
    pub baseline: String,
    /// Median seconds of each program alone.
    pub alone_seconds: BTreeMap<String, f64>,
    /// The contenders, as listed in the experiment.
    pub rows: Vec<Row>,
    /// Boots and runs that did not count, and why.
    pub problems: Vec<String>,
}

/// What came of a contender: medians over the repeats that counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub contender: String,
    /// Runs that counted.
    pub runs: usize,
    /// Completion time of each program, the mean over its instances.
    pub seconds: BTreeMap<String, f64>,
    /// Slowdown of each program.
    pub slowdowns: BTreeMap<String, f64>,
    /// Greatest over least slowdown.
    pub unfairness: Option<f64>,
    /// Sum of 1/slowdown.
    pub stp: Option<f64>,
    /// Mean slowdown.
    pub antt: Option<f64>,
    /// Misses served by another node over all misses, as the plugin saw them.
    pub remote_share: Option<f64>,
    /// The same for jobs that had CPUs to themselves.
    pub remote_share_by_job: BTreeMap<String, f64>,
    /// Pages moved, as the kernel counted.
    pub pages_migrated: Option<f64>,
    /// Changes of CPU of the measured threads, as the kernel counted.
    pub thread_migrations: Option<f64>,
    /// CPU seconds of the daemon.
    pub daemon_cpu_seconds: Option<f64>,
    /// Completion times over those of the baseline in the same boot: geometric mean over the jobs
    /// of each pair.
    pub vs_baseline: Option<Ratio>,
    /// The same program by program.
    pub vs_baseline_by_program: BTreeMap<String, Ratio>,
    /// What `vs_baseline` says; `None` for the baseline.
    pub verdict: Option<Verdict>,
    /// Every run that counted, by repeat.
    pub each: BTreeMap<u32, Measures>,
}

/// Puts an experiment's boots together.
#[must_use]
pub fn summary(experiment: &Experiment, only: &[String], scales: (f64, f64), boots: &[Boot]) -> Summary {
    let mut problems = Vec::new();
    let mut all: BTreeMap<String, BTreeMap<u32, Measures>> = BTreeMap::new();
    let mut alone: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for boot in boots {
        let words = |why: &str| format!("boot {}: {why}", boot.repeat + 1);
        problems.extend(boot.problem.as_deref().map(words));
        let base = alone_seconds(experiment, boot);
        base.iter().for_each(|(program, seconds)| alone.entry(program.clone()).or_default().push(*seconds));
        for ran in boot.lines.iter().filter_map(Line::ran) {
            problems.extend(metrics::problem(ran).map(|why| words(&format!("{}: {why}", ran.id))));
        }
        for (contender, measures) in measured(boot, &base) {
            all.entry(contender).or_default().insert(boot.repeat, measures);
        }
    }
    let baseline = experiment.baseline();
    let base = all.get(&under_id(&baseline)).cloned().unwrap_or_default();
    let row = |name: String| {
        let each = all.get(&under_id(&name)).cloned().unwrap_or_default();
        let compared = (name != baseline).then_some(&base);
        row(name, each, compared)
    };
    Summary {
        experiment: experiment.name.clone(),
        about: experiment.about.clone(),
        machine: experiment.machine.clone(),
        time_scale: scales.0,
        cache_scale: scales.1,
        repeats: u32::try_from(boots.len()).unwrap_or(u32::MAX),
        seed: experiment.seed,
        alone_seconds: alone.iter().filter_map(|(program, all)| Some((program.clone(), median(all)?))).collect(),
        rows: contenders(experiment, only).iter().map(|contender| row(contender.name())).collect(),
        baseline,
        problems,
    }
}

fn alone_seconds(experiment: &Experiment, boot: &Boot) -> BTreeMap<String, f64> {
    let of = |name: &String| {
        let ran = boot.lines.iter().filter_map(Line::ran).find(|ran| ran.id == alone_id(name))?;
        Some((name.clone(), metrics::seconds(ran.jobs.first()?)?))
    };
    experiment.program.iter().map(|program| &program.name).filter_map(of).collect()
}

/// The runs of a boot that count, by id.
fn measured(boot: &Boot, alone: &BTreeMap<String, f64>) -> BTreeMap<String, Measures> {
    let one = |ran: &Ran| {
        let asked = boot.order.runs.iter().find(|run| run.id == ran.id)?;
        metrics::problem(ran).is_none().then(|| (ran.id.clone(), metrics::measures(ran, alone, &asked.jobs)))
    };
    boot.lines.iter().filter_map(Line::ran).filter_map(one).collect()
}

fn row(contender: String, each: BTreeMap<u32, Measures>, base: Option<&BTreeMap<u32, Measures>>) -> Row {
    let all = || each.values();
    let middle = |of: &dyn Fn(&Measures) -> Option<f64>| median(&all().filter_map(of).collect::<Vec<_>>());
    let count = |of: &dyn Fn(&Measures) -> Option<u64>| middle(&|one| of(one).map(numasim_model::num::float));
    let pairs = base.map(|base| paired(&each, base)).unwrap_or_default();
    let vs_baseline = ratio(&pairs.iter().filter_map(|(run, base)| overall(run, base)).collect::<Vec<_>>());
    let programs: BTreeSet<&str> = all().flat_map(|one| one.seconds.keys()).map(|job| program_of(job)).collect();
    let against = |program: &str| {
        let mean = |one: &Measures| by_program(&one.seconds).get(program).copied();
        ratio(&pairs.iter().filter_map(|(run, base)| Some((mean(run)?, mean(base)?))).collect::<Vec<_>>())
    };
    Row {
        runs: each.len(),
        seconds: medians(all().map(|one| by_program(&one.seconds))),
        slowdowns: medians(all().map(|one| by_program(&one.slowdowns))),
        unfairness: middle(&|one| Some(one.summary?.unfairness)),
        stp: middle(&|one| Some(one.summary?.stp)),
        antt: middle(&|one| Some(one.summary?.antt)),
        remote_share: middle(&|one| one.remote_share),
        remote_share_by_job: medians(all().map(|one| one.remote_share_by_job.clone())),
        pages_migrated: count(&|one| one.pages_migrated),
        thread_migrations: count(&|one| one.thread_migrations),
        daemon_cpu_seconds: middle(&|one| one.daemon_cpu_seconds),
        vs_baseline_by_program: programs.iter().filter_map(|p| Some(((*p).to_owned(), against(p)?))).collect(),
        verdict: vs_baseline.map(Ratio::verdict),
        vs_baseline,
        contender,
        each,
    }
}

/// Runs of the same boot.
fn paired<'a>(
    runs: &'a BTreeMap<u32, Measures>,
    base: &'a BTreeMap<u32, Measures>,
) -> Vec<(&'a Measures, &'a Measures)> {
    runs.iter().filter_map(|(repeat, run)| Some((run, base.get(repeat)?))).collect()
}

/// Geometric means of completion times over the jobs that both have.
pub(crate) fn overall(run: &Measures, base: &Measures) -> Option<(f64, f64)> {
    let both: Vec<_> =
        run.seconds.iter().filter_map(|(job, seconds)| Some((*seconds, *base.seconds.get(job)?))).collect();
    (both.len() == base.seconds.len() && both.len() == run.seconds.len()).then_some(())?;
    Some((ratio_mean(both.iter().map(|pair| pair.0))?, ratio_mean(both.iter().map(|pair| pair.1))?))
}

fn ratio_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    ratio(&values.map(|value| (value, 1.0)).collect::<Vec<_>>()).map(|ratio| ratio.mean)
}

/// The mean over the instances of each program.
fn by_program(jobs: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    jobs.iter().for_each(|(job, value)| all.entry(program_of(job).to_owned()).or_default().push(*value));
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / numasim_model::num::float_len(values.len());
    all.into_iter().map(|(program, values)| (program, mean(values))).collect()
}

/// The median of each key over all that have it.
fn medians(all: impl Iterator<Item = BTreeMap<String, f64>>) -> BTreeMap<String, f64> {
    let mut lists: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    all.flatten().for_each(|(key, value)| lists.entry(key).or_default().push(value));
    lists.into_iter().filter_map(|(key, values)| Some((key, median(&values)?))).collect()
}
