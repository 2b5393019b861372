//! Both machines side by side: every program of every mix, its slowdown here and there, the
//! difference and its reason.
//!
//! A slowdown is the time for the same work in the mix over that alone with local memory and all
//! ways: in the simulator by cycles per instruction; in numasim by the program's own clock (median
//! passes), since the CPU's counters hold the kernel's instructions too, which come by time and so
//! weigh most where a program has few. Without two passes in each run it is cycles per instruction
//! here too. Where both are known, their ratio is how many instructions too many were counted, in
//! mixes and alone; misses per instruction are put right by it.

use crate::derive::{self, Profile, Solo};
use crate::file::{Mix, Seat, Xval};
use crate::lru;
use crate::order::{Alone, alone, first_cpu, mix_id, nearest_other};
use crate::reason::{Mpki, Steps, words};
use crate::seen::{Seen, seen};
use crate::simulate::{Pace, Placed, simulate};
use crate::twin;
use isobar_model::num;
use isobar_sim::program::MissCurve;
use isobar_sim::{MachineSpec, Program};
use numasim_guest::counters::Counters;
use numasim_guest::wire::Ran;
use numasim_lab::LabError;
use numasim_model::Spec;
use serde::Serialize;
use statrs::statistics::{Data, OrderStatistics, RankTieBreaker, Statistics};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The cross-validation's name.
    pub name: String,
    /// The machine.
    pub machine: String,
    /// Guest nanoseconds for each of the real machine.
    pub time_scale: f64,
    /// Bytes of a real cache for each byte here.
    pub cache_scale: f64,
    /// What was derived from runs alone, by program.
    pub profiles: BTreeMap<String, Profile>,
    /// Every program of every mix.
    pub rows: Vec<Row>,
    /// The mean size of the differences; `None` without rows.
    pub mean_difference: Option<f64>,
    /// The mean part by which misses per instruction differ from numasim's: the simulator's, and
    /// those by last use (lru.rs).
    pub misses_apart: Option<[f64; 2]>,
    /// Spearman's rank correlation of the slowdowns; `None` where all are alike.
    pub rank_correlation: Option<f64>,
    /// Runs that did not count.
    pub problems: Vec<String>,
}

/// A program in a mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The mix.
    pub mix: String,
    /// The program and its place.
    pub seat: Seat,
    /// Slowdowns.
    pub steps: Steps,
    /// The part by which the simulator's slowdown is above numasim's.
    pub difference: f64,
    /// numasim's slowdown by the program's own clock: median pass over median pass alone.
    pub by_own_clock: Option<f64>,
    /// numasim's slowdown by the CPU's counters.
    pub by_counters: f64,
    /// Misses.
    pub mpki: Mpki,
    /// Why, where the difference is worth it.
    pub reason: Option<String>,
}

/// A program that is known alone.
struct Known {
    alone: Seen,
    profile: Profile,
    program: Arc<Program>,
    /// The simulator's cycles per instruction alone.
    cpi: f64,
}

/// What the comparison is made on.
struct Bench<'a> {
    spec: &'a Spec,
    machine: Arc<MachineSpec>,
    ran: BTreeMap<&'a str, &'a Ran>,
}

/// Compares what the boots came to.
///
/// # Errors
/// The machine has no twin in the simulator.
pub fn compare(xval: &Xval, spec: &Spec, ran: &[Ran]) -> Result<Comparison, LabError> {
    let ran = ran.iter().map(|ran| (ran.id.as_str(), ran)).collect();
    let bench = Bench { spec, machine: Arc::new(twin::twin(spec)?), ran };
    let mut problems = Vec::new();
    let mut known = BTreeMap::new();
    for program in &xval.program {
        match bench.known(xval, &program.name, &mut problems) {
            Ok(found) => _ = known.insert(program.name.clone(), found),
            Err(problem) => problems.push(problem),
        }
    }
    let mut rows = Vec::new();
    for mix in &xval.mix {
        match bench.rows(mix, &known) {
            Ok(found) => rows.extend(found),
            Err(problem) => problems.push(problem),
        }
    }
    let sizes: Vec<f64> = rows.iter().map(|row: &Row| row.difference.abs()).collect();
    Ok(Comparison {
        name: xval.name.clone(),
        machine: spec.name.clone(),
        time_scale: spec.time_scale,
        cache_scale: spec.cache_scale,
        profiles: known.into_iter().map(|(name, known)| (name, known.profile)).collect(),
        mean_difference: (!sizes.is_empty()).then(|| sizes.iter().sum::<f64>() / num::float_len(sizes.len())),
        misses_apart: misses_apart(&rows),
        rank_correlation: rank_correlation(&rows),
        rows,
        problems,
    })
}

impl Bench<'_> {
    fn clock_hz(&self) -> f64 {
        self.spec.clock_mhz * 1e6
    }

    fn ran(&self, id: &str) -> Result<&Ran, String> {
        self.ran.get(id).copied().ok_or_else(|| format!("{id}: it did not run"))
    }

    /// A program from its runs alone. One that did not count is reported; only the one with all
    /// ways is needed.
    fn known(&self, xval: &Xval, name: &str, problems: &mut Vec<String>) -> Result<Known, String> {
        let mut solos = Vec::new();
        for one in alone(xval, self.spec, name) {
            match self.solo(&one) {
                Ok(solo) => solos.push(solo),
                Err(problem) => problems.push(problem),
            }
        }
        let without = || format!("{name}: without a run alone with all ways it is in no mix");
        let alone = solos.iter().find(|solo| self.is_whole(solo)).ok_or_else(without)?.seen;
        solos.iter_mut().for_each(|solo| solo.seen = own_work(&solo.seen, &alone));
        let profile = derive::profile(self.spec, &solos).ok_or_else(without)?;
        let program = Arc::new(profile.program(self.spec, name));
        let (cpu, node) = (first_cpu(self.spec, 0), 0);
        let pace = simulate(&self.machine, &[Placed { program: Arc::clone(&program), cpu, node }]);
        let cpi = pace.and_then(|paces| paces.first().map(|pace| pace.cpi)).ok_or_else(without)?;
        Ok(Known { alone, profile, program, cpi })
    }

    fn is_whole(&self, solo: &Solo) -> bool {
        solo.nodes.0 == solo.nodes.1 && self.spec.llc.first().is_some_and(|llc| llc.ways == solo.ways)
    }

    fn solo(&self, one: &Alone) -> Result<Solo, String> {
        let ways = one.ways.or_else(|| self.spec.llc.first().map(|llc| llc.ways)).unwrap_or(0);
        let memory = if one.remote { nearest_other(self.spec, 0).unwrap_or(0) } else { 0 };
        let seen = seen(self.ran(&one.id())?, 0, first_cpu(self.spec, 0), self.clock_hz())?;
        Ok(Solo { ways, nodes: (0, memory), seen })
    }

    fn rows(&self, mix: &Mix, known: &BTreeMap<String, Known>) -> Result<Vec<Row>, String> {
        let ran = self.ran(&mix_id(&mix.name))?;
        let who =
            |seat: &Seat| known.get(&seat.program).ok_or_else(|| format!("{}: {seat} is not known alone", ran.id));
        let known = mix.of.iter().map(who).collect::<Result<Vec<_>, _>>()?;
        let saw = mix.of.iter().enumerate().map(|(job, seat)| seen(ran, job, seat.cpu, self.clock_hz()));
        let raw = saw.collect::<Result<Vec<_>, _>>()?;
        let saw: Vec<_> = raw.iter().zip(&known).map(|(saw, known)| own_work(saw, &known.alone)).collect();
        let by_last_use = self.by_last_use(mix, &known);
        let own = known.iter().map(|known| Arc::clone(&known.program)).collect();
        let given = known.iter().zip(&saw).map(|(known, saw)| Arc::new(with_misses(&known.program, saw))).collect();
        let paces = self.simulated(mix, own).ok_or_else(|| format!("{}: the simulator counted nothing", ran.id))?;
        let given = self.simulated(mix, given).ok_or_else(|| format!("{}: the simulator counted nothing", ran.id))?;
        let counters = ran.counters.as_ref().ok_or_else(|| format!("{}: it has no counters", ran.id))?;
        let row = |at: usize| {
            let law = self.law(&mix.of[at], known[at], &saw[at], counters);
            let mut row = row(mix, at, known[at], &saw[at], (paces[at], given[at]), law, by_last_use[at]);
            row.by_counters = raw[at].cpi() / known[at].alone.cpi();
            row
        };
        Ok((0..mix.of.len()).map(row).collect())
    }

    fn simulated(&self, mix: &Mix, programs: Vec<Arc<Program>>) -> Option<Vec<Pace>> {
        let placed =
            |(seat, program): (&Seat, Arc<Program>)| Placed { program, cpu: seat.cpu, node: seat.node(self.spec) };
        simulate(&self.machine, &mix.of.iter().zip(programs).map(placed).collect::<Vec<_>>())
    }

    /// MPKI of each if lines stayed for a time after their last use, LLC by LLC.
    fn by_last_use(&self, mix: &Mix, known: &[&Known]) -> Vec<f64> {
        let mut mpki = vec![0.0; mix.of.len()];
        for llc in &self.spec.llc {
            let here = |at: &usize| llc.cpus.as_slice().contains(&num::index(mix.of[*at].cpu));
            let here: Vec<usize> = (0..mix.of.len()).filter(here).collect();
            let sharer = |at: &usize| {
                let seat = &mix.of[*at];
                let ns = self.spec.latency.ns[seat.home(self.spec)][num::index(seat.node(self.spec))];
                lru::Sharer { profile: &known[*at].profile, latency: ns * self.spec.clock_mhz / 1e3 }
            };
            let found = lru::shared(llc.size_kib, &here.iter().map(sharer).collect::<Vec<_>>());
            here.iter().zip(found).for_each(|(at, found)| mpki[*at] = found);
        }
        mpki
    }

    /// Cycles per instruction that the queue's law gives at the measured misses and utilisations,
    /// if only fetches wait.
    fn law(&self, seat: &Seat, known: &Known, saw: &Seen, counters: &Counters) -> Option<f64> {
        let (home, memory) = (seat.home(self.spec), num::index(seat.node(self.spec)));
        let part = |busy_ps: u64| num::float(busy_ps) / 1e3 / num::float(counters.time_ns.max(1));
        let controller = derive::wait(self.spec.queue.controller_ns, part(counters.nodes.get(memory)?.busy_ps));
        let link = if home == memory {
            0.0
        } else {
            let link = counters.links.iter().find(|link| (link.from, link.to) == (wide(memory), wide(home)))?;
            derive::wait(self.spec.queue.link_ns, part(link.busy_ps))
        };
        let ns = self.spec.latency.ns[home][memory] + controller + link;
        let Profile { base_cpi, mlp, .. } = known.profile;
        Some(base_cpi + saw.misses_per_instruction() * ns * self.spec.clock_mhz / 1e3 / mlp)
    }
}

/// What was seen, with the instructions of the program alone: as many as its own clock says for the
/// cycles that it had.
fn own_work(saw: &Seen, alone: &Seen) -> Seen {
    let Some(by_clock) = own_clock(saw, alone) else { return *saw };
    let too_many = by_clock * alone.cpi() / saw.cpi();
    Seen { instructions: saw.instructions / too_many, ..*saw }
}

fn own_clock(saw: &Seen, alone: &Seen) -> Option<f64> {
    Some(saw.pass? / alone.pass?)
}

fn row(
    mix: &Mix,
    at: usize,
    known: &Known,
    saw: &Seen,
    paces: (Pace, Pace),
    law: Option<f64>,
    by_last_use: f64,
) -> Row {
    let alone = known.alone.cpi();
    let steps = Steps {
        simulator: paces.0.cpi / known.cpi,
        misses_given: paces.1.cpi / known.cpi,
        law: law.map(|cpi| cpi / alone),
        numasim: saw.cpi() / alone,
    };
    let mpki = Mpki {
        alone: 1000.0 * known.alone.misses_per_instruction(),
        numasim: 1000.0 * saw.misses_per_instruction(),
        simulator: 1000.0 * paces.0.misses,
        by_last_use,
    };
    Row {
        mix: mix.name.clone(),
        seat: mix.of[at].clone(),
        difference: steps.difference(),
        by_own_clock: own_clock(saw, &known.alone),
        by_counters: steps.numasim,
        reason: words(&steps, &mpki),
        mpki,
        steps,
    }
}

/// The program with the misses and write-backs that it was seen to have, whatever its space.
fn with_misses(program: &Program, saw: &Seen) -> Program {
    let mpki = MissCurve::measured(1.0, &[1000.0 * saw.misses_per_instruction()]);
    Program { mpki, write_back: saw.write_back(), ..program.clone() }
}

fn wide(number: usize) -> u64 {
    u64::from(num::narrow(number))
}

fn misses_apart(rows: &[Row]) -> Option<[f64; 2]> {
    let missing = || rows.iter().map(|row| row.mpki).filter(|mpki| mpki.numasim > 0.0);
    let count = num::float_len(missing().count());
    let mean = |of: fn(&Mpki) -> f64| missing().map(|mpki| (of(&mpki) / mpki.numasim - 1.0).abs()).sum::<f64>() / count;
    (count > 0.0).then(|| [mean(|mpki| mpki.simulator), mean(|mpki| mpki.by_last_use)])
}

/// Spearman's: the correlation of ranks, equal values sharing the mean of theirs.
fn rank_correlation(rows: &[Row]) -> Option<f64> {
    let ranks = |of: fn(&Row) -> f64| ranks(rows.iter().map(of).collect());
    correlation(&ranks(|row| row.steps.numasim), &ranks(|row| row.steps.simulator))
}

fn ranks(values: Vec<f64>) -> Vec<f64> {
    Data::new(values).ranks(RankTieBreaker::Average)
}

fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let spread = a.std_dev() * b.std_dev();
    (spread > 0.0).then(|| a.covariance(b) / spread)
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
