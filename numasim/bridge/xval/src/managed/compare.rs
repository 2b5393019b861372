//! Compares managed mixes on both machines: how slow each program was under each regime, where its
//! memory was, what was moved, and what a policy gained over stock Linux.
//!
//! In numasim a slowdown is a program's mean pass, by its own clock, over its median pass alone. In
//! the simulator it is the time per instruction, in cycles, over the same figure alone. The gain of
//! a policy is the geometric mean, over the programs, of their times under the policy over those
//! under stock Linux.

use super::order::id;
use super::simulate::{Simulated, simulate};
use crate::file::{Mix, Seat, Xval, timer_cpu};
use crate::known::{Bench, Known, known_of};
use crate::ranks::rank_correlation;
use crate::reason::WORTH_A_REASON;
use crate::regime::Regime;
use crate::seen::mean_pass;
use crate::twin::{self, KIB_PER_MIB};
use isobar_model::num;
use numasim_guest::wire::Ran;
use numasim_lab::metrics;
use serde::Serialize;
use statrs::statistics::Statistics;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A larger difference of remote shares means another placement of threads and memory.
const PLACED_APART: f64 = 0.10;
/// Largest distance of a ratio from 1 at which a policy makes no difference.
const NO_DIFFERENCE: f64 = 0.02;
const PAGE_KIB: f64 = 4.0;

/// A value for each of the two machines.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Both<T> {
    /// The value in numasim.
    pub numasim: T,
    /// The value in the simulator.
    pub simulator: T,
}

/// A managed mix under a regime.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Under {
    /// The mix.
    pub mix: String,
    /// `linux`, or the name of the policy.
    pub regime: String,
    /// Its programs.
    pub programs: Vec<Row>,
    /// Misses that another node served, over all misses; `None` if nothing missed.
    pub remote_share: Both<Option<f64>>,
    /// MiB that were moved, in terms of the real machine.
    pub mib_moved: Both<f64>,
    /// How often threads changed their CPU; `None` if the kernel does not report it.
    pub thread_moves: Both<Option<u64>>,
    /// Times under the policy over those under stock Linux; `None` for stock Linux itself, and if
    /// its run did not count.
    pub over_linux: Option<Both<f64>>,
}

/// A program of a managed mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The program, and where it began.
    pub seat: Seat,
    /// Its slowdown.
    pub slowdown: Both<f64>,
    /// Why the slowdowns differ, if the difference is large enough.
    pub reason: Option<String>,
}

/// How well the machines agree on managed mixes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Number of rows, and of rows whose slowdowns are within 10 % of each other.
    pub rows: [usize; 2],
    /// The mean absolute difference of slowdowns.
    pub mean_difference: f64,
    /// Number of pairs of policy and mix, and of pairs on which the machines agree whether the
    /// policy is ahead of stock Linux, level or behind, by its ratio.
    pub verdicts: [usize; 2],
    /// The mean absolute difference of these ratios; `None` without a policy.
    pub ratio_difference: Option<f64>,
    /// Spearman's rank correlation of these ratios; `None` if all are equal.
    pub rank_correlation: Option<f64>,
}

/// All managed mixes under all regimes. Runs that did not count are added to the problems.
pub(crate) fn all(
    bench: &Bench<'_>,
    xval: &Xval,
    known: &BTreeMap<String, Known>,
    problems: &mut Vec<String>,
) -> Vec<Under> {
    let mut found = Vec::new();
    for mix in &xval.managed {
        let mut linux: Option<Vec<Both<f64>>> = None;
        for regime in Regime::all(&xval.policies) {
            match under(bench, xval, mix, regime, known) {
                Ok(mut under) => {
                    let slowdowns: Vec<Both<f64>> = under.programs.iter().map(|row| row.slowdown).collect();
                    if regime == Regime::Linux {
                        linux = Some(slowdowns);
                    } else {
                        under.over_linux = linux.as_ref().map(|linux| over(&slowdowns, linux));
                    }
                    found.push(under);
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    found
}

fn under(
    bench: &Bench<'_>,
    xval: &Xval,
    mix: &Mix,
    regime: Regime<'_>,
    known: &BTreeMap<String, Known>,
) -> Result<Under, String> {
    let id = id(mix, regime);
    let ran = bench.ran(&id)?;
    let wrong = |why: String| format!("{id}: {why}");
    metrics::problem(ran).map_or(Ok(()), |why| Err(wrong(why)))?;
    let known = known_of(mix, known, &id)?;
    let placed = bench.placed(mix, known.iter().map(|known| Arc::clone(&known.program)));
    let clock = timer_cpu(bench.spec);
    let simulated = simulate(&bench.machine, &placed, clock, regime, xval.managed_seconds).map_err(wrong)?;
    let measures = metrics::measures(ran, &BTreeMap::new(), &[]);
    let mut found = Under {
        mix: mix.name.clone(),
        regime: regime.name().to_owned(),
        programs: Vec::new(),
        remote_share: Both { numasim: measures.remote_share, simulator: simulated.remote_share },
        mib_moved: Both {
            numasim: twin::real_mib(bench.spec, PAGE_KIB * num::float(measures.pages_migrated.unwrap_or(0))),
            simulator: PAGE_KIB * num::float(simulated.pages_moved) / KIB_PER_MIB,
        },
        thread_moves: Both { numasim: thread_moves(ran), simulator: Some(simulated.thread_moves) },
        over_linux: None,
    };
    for (at, (seat, known)) in mix.of.iter().zip(&known).enumerate() {
        let slowdown = slowdown(ran, &simulated, at, known)
            .ok_or_else(|| wrong(format!("{seat}: fewer than two passes, here or alone")))?;
        let reason = found.reason(slowdown);
        found.programs.push(Row { seat: seat.clone(), slowdown, reason });
    }
    Ok(found)
}

/// Moves of the programs' threads alone; the timer's thread never moves.
fn thread_moves(ran: &Ran) -> Option<u64> {
    ran.jobs.iter().filter(|job| job.background).map(|job| job.migrations).sum()
}

fn slowdown(ran: &Ran, simulated: &Simulated, at: usize, known: &Known) -> Option<Both<f64>> {
    let mean = mean_pass(ran.jobs.get(at)?.line.as_ref()?)?;
    Some(Both { numasim: mean / known.alone.pass?, simulator: simulated.cycles.get(at)? / known.cpi })
}

/// The geometric mean of ratios, for each machine.
fn over(slowdowns: &[Both<f64>], linux: &[Both<f64>]) -> Both<f64> {
    let mean = |of: fn(&Both<f64>) -> f64| {
        slowdowns.iter().zip(linux).map(|(one, linux)| of(one) / of(linux)).geometric_mean()
    };
    Both { numasim: mean(|both| both.numasim), simulator: mean(|both| both.simulator) }
}

impl Both<f64> {
    /// The relative amount by which the simulator is above numasim.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.simulator / self.numasim - 1.0
    }
}

impl Under {
    /// Why a slowdown of one of its programs differs: because threads and memory of the mix were
    /// placed differently, or for another reason.
    fn reason(&self, slowdown: Both<f64>) -> Option<String> {
        if slowdown.difference().abs() <= WORTH_A_REASON {
            return None;
        }
        let Both { numasim, simulator } = self.remote_share;
        let (here, there) = (numasim.unwrap_or(0.0), simulator.unwrap_or(0.0));
        let shares = format!("{:.0} % of misses remote here, {:.0} % in the simulator", here * 100.0, there * 100.0);
        let is_placed_apart = (here - there).abs() > PLACED_APART;
        let kind = if is_placed_apart { "placement" } else { "caches, queues or decisions" };
        Some(format!("{kind}: {shares}"))
    }
}

/// How well the machines agree; `None` if nothing was compared.
#[must_use]
pub fn agreement(found: &[Under]) -> Option<Agreement> {
    let rows: Vec<f64> =
        found.iter().flat_map(|under| &under.programs).map(|row| row.slowdown.difference().abs()).collect();
    let ratios: Vec<Both<f64>> = found.iter().filter_map(|under| under.over_linux).collect();
    let mean = |sizes: &[f64]| sizes.iter().sum::<f64>() / num::float_len(sizes.len().max(1));
    let apart: Vec<f64> = ratios.iter().map(|ratio| ratio.difference().abs()).collect();
    (!rows.is_empty()).then(|| Agreement {
        rows: [rows.len(), rows.iter().filter(|size| **size <= WORTH_A_REASON).count()],
        mean_difference: mean(&rows),
        verdicts: [
            ratios.len(),
            ratios.iter().filter(|ratio| verdict(ratio.numasim) == verdict(ratio.simulator)).count(),
        ],
        ratio_difference: (!apart.is_empty()).then(|| mean(&apart)),
        rank_correlation: rank_correlation(ratios.iter().map(|ratio| (ratio.numasim, ratio.simulator))),
    })
}

/// -1 if ahead of stock Linux, 0 if level, 1 if behind.
fn verdict(ratio: f64) -> i8 {
    if (ratio - 1.0).abs() <= NO_DIFFERENCE {
        0
    } else if ratio < 1.0 {
        -1
    } else {
        1
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
