//! Compares mixes that stay where they are on both machines: every program's slowdown, the
//! difference and its reason.
//!
//! A slowdown is the time for the same work in the mix, over the time alone with local memory and
//! all ways. In the simulator it follows from cycles per instruction. In numasim it follows from
//! the program's own clock (median passes), because the CPU's counters also include the kernel's
//! instructions, which grow with time and so weigh most if a program executes few. If a run has
//! fewer than two passes, cycles per instruction are used in numasim, too. If both slowdowns are
//! known, their ratio says how many instructions too many were counted, in mixes and alone, and
//! misses per instruction are corrected by it.

use crate::derive::{self, Profile};
use crate::file::{Mix, Seat};
use crate::known::{Bench, Known, known_of, own_clock, own_work};
use crate::lru;
use crate::order::mix_id;
use crate::reason::{Mpki, Steps, words};
use crate::seen::{Seen, seen};
use crate::simulate::{Pace, simulate};
use isobar_model::num;
use isobar_sim::Program;
use isobar_sim::program::MissCurve;
use numasim_guest::counters::Counters;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program in a mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The mix.
    pub mix: String,
    /// The program and its place.
    pub seat: Seat,
    /// Its slowdowns.
    pub steps: Steps,
    /// The relative amount by which the simulator's slowdown is above numasim's.
    pub difference: f64,
    /// numasim's slowdown by the program's own clock: median pass over median pass alone.
    pub by_own_clock: Option<f64>,
    /// numasim's slowdown by the CPU's counters.
    pub by_counters: f64,
    /// Its misses.
    pub mpki: Mpki,
    /// The reason of the difference, if this is large enough.
    pub reason: Option<String>,
}

impl Bench<'_> {
    /// The rows of all programs of a mix.
    pub(crate) fn rows(&self, mix: &Mix, known: &BTreeMap<String, Known>) -> Result<Vec<Row>, String> {
        let ran = self.ran(&mix_id(&mix.name))?;
        let known = known_of(mix, known, &ran.id)?;
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
        simulate(&self.machine, &self.placed(mix, programs.into_iter()))
    }

    /// MPKI of each program if lines stayed for a time after their last use, for each LLC
    /// separately.
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

    /// Cycles per instruction by the queueing law at the measured misses and utilisations, if only
    /// fetches wait.
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

/// The program with the misses and write-backs that it was seen to have, independent of its space.
fn with_misses(program: &Program, saw: &Seen) -> Program {
    let mpki = MissCurve::measured(1.0, &[1000.0 * saw.misses_per_instruction()]);
    Program { mpki, write_back: saw.write_back(), ..program.clone() }
}

fn wide(number: usize) -> u64 {
    u64::from(num::narrow(number))
}

/// The mean relative difference of misses per instruction from numasim's: of the simulator, and of
/// sharing by last use.
pub(crate) fn misses_apart(rows: &[Row]) -> Option<[f64; 2]> {
    let missing = || rows.iter().map(|row| row.mpki).filter(|mpki| mpki.numasim > 0.0);
    let count = num::float_len(missing().count());
    let mean = |of: fn(&Mpki) -> f64| missing().map(|mpki| (of(&mpki) / mpki.numasim - 1.0).abs()).sum::<f64>() / count;
    (count > 0.0).then(|| [mean(|mpki| mpki.simulator), mean(|mpki| mpki.by_last_use)])
}
