//! The results of one contender over the boots: medians, and ratios to the baseline of the same
//! boot. Pure.

use crate::metrics::Measures;
use crate::plan::program_of;
use crate::stats::{Ratio, Verdict, median, ratio};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The results of a contender: medians over the repeats that counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub contender: String,
    /// Number of runs that counted.
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
    /// Misses served by another node, over all misses, as the plugin counted.
    pub remote_share: Option<f64>,
    /// The same for each job that had its CPUs to itself.
    pub remote_share_by_job: BTreeMap<String, f64>,
    /// Pages moved, as the kernel counted.
    pub pages_migrated: Option<f64>,
    /// Changes of CPU of the measured threads, as the kernel counted.
    pub thread_migrations: Option<f64>,
    /// CPU time of the daemon, in seconds.
    pub daemon_cpu_seconds: Option<f64>,
    /// Latencies that each program printed: the members of its line that end in `_us`, the mean
    /// over its instances.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub latencies_us: BTreeMap<String, BTreeMap<String, f64>>,
    /// Completion times over those of the baseline in the same boot: for each pair of runs the
    /// geometric mean over the jobs.
    pub vs_baseline: Option<Ratio>,
    /// The same for each program.
    pub vs_baseline_by_program: BTreeMap<String, Ratio>,
    /// ANTT over that of the baseline in the same boot.
    pub antt_vs_baseline: Option<Ratio>,
    /// The program that gained most, or lost least.
    pub best_program: Option<Extreme>,
    /// The program that lost most, or gained least.
    pub worst_program: Option<Extreme>,
    /// What `vs_baseline` shows; `None` for the baseline.
    pub verdict: Option<Verdict>,
    /// Every run that counted, by repeat.
    pub each: BTreeMap<u32, Measures>,
}

/// The program at one end of a contender's ratios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extreme {
    /// Its name.
    pub program: String,
    /// Its time over its time under the baseline.
    pub ratio: f64,
}

/// Combines the runs of a contender. `base` has those of the baseline, unless the contender is the
/// baseline.
pub(super) fn row(contender: String, each: BTreeMap<u32, Measures>, base: Option<&BTreeMap<u32, Measures>>) -> Row {
    let all = || each.values();
    let middle = |of: &dyn Fn(&Measures) -> Option<f64>| median(&all().filter_map(of).collect::<Vec<_>>());
    let count = |of: &dyn Fn(&Measures) -> Option<u64>| middle(&|one| of(one).map(numasim_model::num::float));
    let pairs = base.map(|base| paired(&each, base)).unwrap_or_default();
    let against = |of: Compared<'_>| ratio(&pairs.iter().filter_map(|(run, base)| of(run, base)).collect::<Vec<_>>());
    let vs_baseline = against(&overall);
    let vs_baseline_by_program = by_program_against(&each, &against);
    let extreme = |(program, ratio): (&String, &Ratio)| Extreme { program: program.clone(), ratio: ratio.mean };
    let by_ratio = |one: &(&String, &Ratio), other: &(&String, &Ratio)| one.1.mean.total_cmp(&other.1.mean);
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
        latencies_us: latencies(&each),
        antt_vs_baseline: against(&|run, base| Some((run.summary?.antt, base.summary?.antt))),
        best_program: vs_baseline_by_program.iter().min_by(by_ratio).map(extreme),
        worst_program: vs_baseline_by_program.iter().max_by(by_ratio).map(extreme),
        vs_baseline_by_program,
        verdict: vs_baseline.map(Ratio::verdict),
        vs_baseline,
        contender,
        each,
    }
}

/// Selects the figure of a run and the figure of the baseline's run that are compared.
type Compared<'a> = &'a dyn Fn(&Measures, &Measures) -> Option<(f64, f64)>;
/// The ratio of the selected figures over all pairs of runs.
type Against<'a> = &'a dyn Fn(Compared<'_>) -> Option<Ratio>;

fn by_program_against(each: &BTreeMap<u32, Measures>, against: Against<'_>) -> BTreeMap<String, Ratio> {
    let programs: BTreeSet<&str> =
        each.values().flat_map(|one| one.seconds.keys()).map(|job| program_of(job)).collect();
    let mean = |one: &Measures, program: &str| by_program(&one.seconds).get(program).copied();
    let one = |program: &&str| {
        let ratio = against(&|run, base| Some((mean(run, program)?, mean(base, program)?)))?;
        Some(((*program).to_owned(), ratio))
    };
    programs.iter().filter_map(one).collect()
}

/// Medians over the runs of what each program printed, as the mean over its instances.
fn latencies(each: &BTreeMap<u32, Measures>) -> BTreeMap<String, BTreeMap<String, f64>> {
    let members: BTreeSet<&String> =
        each.values().flat_map(|one| one.latencies_us.values()).flat_map(BTreeMap::keys).collect();
    let mut all: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for member in members {
        let of = |one: &Measures| {
            let jobs = one.latencies_us.iter().filter_map(|(job, all)| Some((job.clone(), *all.get(member)?)));
            by_program(&jobs.collect())
        };
        for (program, value) in medians(each.values().map(of)) {
            all.entry(program).or_default().insert(member.clone(), value);
        }
    }
    all
}

/// Pairs of runs of the same boot.
fn paired<'a>(
    runs: &'a BTreeMap<u32, Measures>,
    base: &'a BTreeMap<u32, Measures>,
) -> Vec<(&'a Measures, &'a Measures)> {
    runs.iter().filter_map(|(repeat, run)| Some((run, base.get(repeat)?))).collect()
}

/// Geometric means of completion times over the jobs of two runs; `None` if their jobs differ.
#[must_use]
pub fn overall(run: &Measures, base: &Measures) -> Option<(f64, f64)> {
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
