//! The experiments: runs them, without knowing what the results are compared with.

use super::platform::{PLATFORMS, Platform};
use super::runs::{BASE, Named, Outcome, run};
use super::workloads::{GROWING, HASWELL, HOMOGENEOUS, MIX, Split, WESTMERE, consolidated, homogeneous, mixed, tabled};
use crate::error::LabError;
use crate::parallel;
use crate::reproduce::options::Options;
use isobar_sim::Workload;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Per cent that stay local in the fixed splits (figures 4 and 5).
pub(super) const LOCAL: [u32; 5] = [90, 80, 70, 60, 50];
/// Number of nodes that share the rest on Westmere (section III-B).
pub(super) const SHARERS: [u32; 3] = [2, 4, 8];
/// Fixed migration rates (figure 13a).
pub(super) const FIXED: [&str; 4] = ["2000", "4000", "8000", "16000"];
/// Policies of figure 15, in the order of the printed averages.
pub(super) const POLICIES: [&str; 4] = ["camm", "cama", "capm", "numa-balancing"];
/// Programs of figure 2, of each class of table V.
pub(super) const CONSOLIDATED: [&str; 6] = ["npb-is", "mcf", "libquantum", "milc", "GemsFDTD", "povray"];
/// Epochs of section V, in seconds.
pub(super) const EPOCHS: [f64; 2] = [2.0, 0.2];

/// The measured results.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// By platform and number of sharing nodes: improvements by split, then by program.
    pub splits: Vec<Splits>,
    /// CAMA on each platform, and with the short epoch on the first platform, by program with
    /// growing memory.
    pub cama: Vec<Vec<Pair>>,
    pub short: Vec<Pair>,
    /// The mix of section VI without a policy, under CAPM with fixed rates, and with the gap's
    /// rate; and WL-1 of table VII, which is more congested.
    pub mix: Vec<Pair>,
    pub heavy: Vec<Pair>,
    /// All workloads of figure 15 on each platform.
    pub overall: Vec<Vec<Overall>>,
    /// Slowdown from half of the hardware threads to all of them, in per cent, by program.
    pub consolidation: Vec<(&'static str, f64)>,
}

/// Fixed splits over some nodes.
#[derive(Clone, Debug)]
pub(super) struct Splits {
    pub platform: Platform,
    pub nodes: u32,
    /// By program, in the order of [`HOMOGENEOUS`]: improvements in the order of [`LOCAL`].
    pub gains: Vec<Vec<f64>>,
}

/// A program or mix, without and with a policy.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub name: String,
    pub base: Outcome,
    pub under: Outcome,
}

/// A workload of figure 15.
#[derive(Clone, Debug)]
pub(super) struct Overall {
    pub name: String,
    /// Whether all nodes run the same workload.
    pub identical: bool,
    /// Improvements, in the order of [`POLICIES`].
    pub gains: Vec<f64>,
    /// Number of CAMM's actions that had an effect.
    pub acted: usize,
    /// The run under CAMM or CAPM whose latencies crossed most often per epoch.
    pub oscillation: Oscillation,
}

/// How often latencies crossed in a run, on the node with the most crossings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Oscillation {
    pub policy: &'static str,
    pub crossings: f64,
    /// The crossings between gaps on which CAPM acts.
    pub wide: f64,
    pub epochs: usize,
}

impl Oscillation {
    pub fn of(policy: &'static str, run: &Outcome) -> Self {
        let (crossings, wide) = (run.congestion.oscillations, run.congestion.wide_oscillations);
        Self { policy, crossings, wide, epochs: run.looks.len() }
    }

    /// Crossings per epoch.
    pub fn rate(&self) -> f64 {
        self.crossings / isobar_model::num::float_len(self.epochs.max(1))
    }
}

impl Pair {
    /// Improvement in per cent.
    pub fn gain(&self) -> f64 {
        self.under.improvement(&self.base)
    }
}

/// Runs everything; `progress` is called with the number of experiments done and the total.
pub(super) fn all(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Seen, LabError> {
    let counter = Counter { done: AtomicUsize::new(0), all: 8 + 2 * PLATFORMS.len(), progress };
    let [haswell, westmere] = &PLATFORMS;
    let mut splits = vec![counter.done(fixed(haswell, 2, options)?)];
    for nodes in SHARERS {
        splits.push(counter.done(fixed(westmere, nodes, options)?));
    }
    let cama = PLATFORMS.iter().map(|platform| Ok(counter.done(growing(platform, EPOCHS[0], options)?)));
    let cama = cama.collect::<Result<_, LabError>>()?;
    let short = counter.done(growing(haswell, EPOCHS[1], options)?);
    let mix = counter.done(rates(&mixed(haswell, MIX, 1, &[], options)?, options)?);
    let heavy = counter.done(rates(&tabled(haswell, HASWELL[0].0, HASWELL[0].1, false, options)?, options)?);
    let overall = PLATFORMS.iter().map(|platform| Ok(counter.done(figure_15(platform, options)?)));
    let overall = overall.collect::<Result<_, LabError>>()?;
    let consolidation = counter.done(figure_2(haswell, options)?);
    Ok(Seen { splits, cama, short, mix, heavy, overall, consolidation })
}

struct Counter<'a> {
    done: AtomicUsize,
    all: usize,
    progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Counter<'_> {
    fn done<T>(&self, result: T) -> T {
        (self.progress)(self.done.fetch_add(1, Ordering::Relaxed) + 1, self.all);
        result
    }
}

/// Programs of the homogeneous workloads; quick: the first two.
pub(super) fn programs(options: &Options) -> &'static [&'static str] {
    if options.quick { &HOMOGENEOUS[..2] } else { &HOMOGENEOUS }
}

/// The weights of a split: the part that is not local goes to the nearest other nodes in equal
/// parts. Node 0's nearest are 1, 2, 3 and so on (table III).
pub(super) fn weights(local: u32, nodes: u32) -> Vec<(u32, u32)> {
    let others = nodes - 1;
    // Multiplied by the number of others, so that parts are whole. In lowest terms, all of them fit
    // a byte.
    let (home, away) = (local * others, 100 - local);
    let common = gcd(home, away);
    std::iter::once((0, home / common)).chain((1..nodes).map(|node| (node, away / common))).collect()
}

const fn gcd(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { gcd(other, one % other) }
}

fn fixed(platform: &Platform, nodes: u32, options: &Options) -> Result<Splits, LabError> {
    let gains = parallel::each(options.jobs, programs(options), |program| {
        let one = |split: Split<'_>| run(&homogeneous(platform, program, split, options)?, (BASE, &[]), options.seed);
        let base = one(&[])?;
        LOCAL.iter().map(|local| Ok(one(&weights(*local, nodes))?.improvement(&base))).collect()
    })?;
    Ok(Splits { platform: *platform, nodes, gains })
}

/// CAMA on programs whose memory grows, with an epoch of the given number of seconds.
fn growing(platform: &Platform, epoch: f64, options: &Options) -> Result<Vec<Pair>, LabError> {
    let programs = if options.quick { &GROWING[2..3] } else { &GROWING[..] };
    parallel::each(options.jobs, programs, |program| {
        let mut workload = homogeneous(platform, program, &[], options)?;
        let base = run(&workload, (BASE, &[]), options.seed)?;
        workload.run.epoch_seconds = epoch;
        let under = run(&workload, ("cama", &[]), options.seed)?;
        Ok(Pair { name: (*program).to_owned(), base, under })
    })
}

/// CAPM on a workload, by migration rate; the gap's rate is last.
fn rates(workload: &Workload, options: &Options) -> Result<Vec<Pair>, LabError> {
    let base = run(workload, (BASE, &[]), options.seed)?;
    let pair = |name: &str, set: &[(&str, &str)]| {
        let under = run(workload, ("capm", set), options.seed)?;
        Ok(Pair { name: name.to_owned(), base: base.clone(), under })
    };
    let fixed = FIXED.iter().map(|rate| pair(rate, &[("capm.rate", "static"), ("capm.pages_per_epoch", *rate)]));
    fixed.chain([pair("gap * 60", &[])]).collect()
}

/// A workload of figure 15: its name, whether all nodes run it, and the workload.
type Case = (String, bool, Workload);

fn cases(platform: &Platform, options: &Options) -> Result<Vec<Case>, LabError> {
    let mut cases = Vec::new();
    let table = if platform.machine == PLATFORMS[0].machine { HASWELL } else { WESTMERE };
    let table = &table[..if options.quick { 1 } else { table.len() }];
    for program in programs(options) {
        cases.push(((*program).to_owned(), false, homogeneous(platform, program, &[], options)?));
    }
    for (name, mix) in table {
        cases.push(((*name).to_owned(), false, tabled(platform, name, mix, false, options)?));
    }
    for (name, mix) in table.iter().filter(|(name, _)| ["WL-1", "WL-8", "WL-10"].contains(name)) {
        cases.push((format!("{name} identical"), true, tabled(platform, name, mix, true, options)?));
    }
    let homogeneous: &[&str] = if options.quick { &["npb-is"] } else { &["mcf", "npb-is", "lbm"] };
    for program in homogeneous {
        let mix = [(*program, platform.hardware_threads)];
        cases.push((format!("{program} identical"), true, mixed(platform, &mix, platform.nodes, &[], options)?));
    }
    Ok(cases)
}

fn figure_15(platform: &Platform, options: &Options) -> Result<Vec<Overall>, LabError> {
    parallel::each(options.jobs, &cases(platform, options)?, |(name, identical, workload)| {
        let base = run(workload, (BASE, &[]), options.seed)?;
        let mut balanced = workload.clone();
        balanced.run.numa_balancing = true;
        let named = |policy: &'static str| -> Result<Outcome, LabError> {
            let (workload, policy): (_, Named<'_>) =
                if policy == POLICIES[3] { (&balanced, (BASE, &[])) } else { (workload, (policy, &[])) };
            run(workload, policy, options.seed)
        };
        let runs = POLICIES.iter().map(|policy| named(policy)).collect::<Result<Vec<_>, _>>()?;
        Ok(Overall {
            name: name.clone(),
            identical: *identical,
            gains: runs.iter().map(|one| one.improvement(&base)).collect(),
            acted: runs[0].effective,
            oscillation: worst(&runs),
        })
    })
}

/// Of the runs in the order of [`POLICIES`], the run under CAMM or CAPM with the most crossings per
/// epoch.
fn worst(runs: &[Outcome]) -> Oscillation {
    let [camm, capm] = [0, 2].map(|index| Oscillation::of(POLICIES[index], &runs[index]));
    if capm.rate() > camm.rate() { capm } else { camm }
}

fn figure_2(platform: &Platform, options: &Options) -> Result<Vec<(&'static str, f64)>, LabError> {
    let programs = if options.quick { &["npb-is", "povray"][..] } else { &CONSOLIDATED[..] };
    parallel::each(options.jobs, programs, |program| {
        let seconds = |count| {
            let workload = consolidated(platform, program, count, options)?;
            Ok::<_, LabError>(crate::stats::mean_or_zero(run(&workload, (BASE, &[]), options.seed)?.seconds))
        };
        let (half, full) = (platform.hardware_threads / 2, platform.hardware_threads);
        Ok((*program, 100.0 * (seconds(full)? / seconds(half)? - 1.0)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_exact_and_fit_a_byte() {
        for (local, nodes) in LOCAL.iter().flat_map(|local| SHARERS.map(|nodes| (*local, nodes))) {
            let all = weights(local, nodes);
            let sum: u32 = all.iter().map(|(_, weight)| weight).sum();
            assert_eq!(100 * all[0].1, local * sum, "{all:?}");
            assert!(all.iter().all(|(_, weight)| (1..256).contains(weight)), "{all:?}");
        }
        assert_eq!(weights(90, 8)[..2], [(0, 63), (1, 1)]);
    }
}
