//! `dino+lfoc+`: DINO places threads and pages, and LFOC+ partitions every LLC (Divide&Content,
//! section VI-A, DINO/LFOC+). The two approaches know nothing of each other. The paper compares
//! Divide&Content with this combination.
//!
//! *Departures from the paper*: none from what the paper says. An LLC that threads leave or join in
//! an epoch keeps its partitions; a sampling there is given up and begins again later. DINO's
//! thresholds are those of section VI-A, 3 and 24 misses per 1000 instructions.

use super::config::Config as LfocConfig;
use super::lfoc_plus::PAPER;
use super::partitioner::Partitioner;
use crate::dino::dino::{self, Dino};
use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::kit::page_settings::PageSettings;
use isobar_model::{Action, Observation, Outcome, Plan, Policy, Sensor, WayCurves};

/// Canonical name.
pub const NAME: &str = "dino+lfoc+";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: PAPER,
    summary: "dino places threads and pages, lfoc+ partitions every LLC",
    moves: Moves::ThreadsAndPages,
    needs: &[Sensor::Instructions, Sensor::LlcMisses, Sensor::PagesByNode, Sensor::SeveralDomains, Sensor::CacheWays],
    make: &PolicyMaker { defaults, new: DinoLfocPlus::new },
};

/// The settings of both, in one section.
pub type Config = (dino::Settings, LfocConfig);

/// The settings of the comparison: DINO's thresholds are those of section VI-A.
#[must_use]
pub fn defaults() -> Config {
    let dino = dino::Config { devil_mpki: 3.0, super_devil_mpki: 24.0, ..dino::Config::default() };
    ((dino, PageSettings::default()), LfocConfig::default())
}

/// DINO and LFOC+ side by side.
#[derive(Debug)]
pub struct DinoLfocPlus {
    dino: Dino,
    partitioner: Partitioner,
}

impl DinoLfocPlus {
    /// Takes validated settings.
    #[must_use]
    pub fn new((dino, lfoc): Config) -> Self {
        Self { dino: Dino::new(dino), partitioner: Partitioner::new(lfoc) }
    }
}

impl Policy for DinoLfocPlus {
    as_registered!();

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = Plan { policy: NAME.to_owned(), ..self.dino.decide(seen) };
        self.partitioner.observe(seen);
        let pending = self.pending(seen, &plan.actions);
        for (llc, pending) in pending.into_iter().enumerate() {
            if pending {
                self.partitioner.stop_sampling(llc);
            } else {
                self.partitioner.run(llc, seen.time.0, &mut plan.actions);
            }
        }
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.dino.applied(plan, outcome);
        self.partitioner.applied(plan, outcome);
    }

    fn learnt(&self) -> Vec<WayCurves> {
        self.partitioner.learnt()
    }
}

impl DinoLfocPlus {
    /// Whether threads leave or join each LLC by a plan.
    fn pending(&self, seen: &Observation, actions: &[Action]) -> Vec<bool> {
        let mut pending = vec![false; self.partitioner.groups().list.len()];
        for action in actions {
            let Action::MoveThread { pid, tid, cpu, .. } = action else { continue };
            let process = seen.processes.binary_search_by_key(pid, |process| process.pid).ok();
            let threads = process.map_or(&[][..], |at| &seen.processes[at].threads);
            let thread = threads.binary_search_by_key(tid, |thread| thread.tid).ok().map(|at| &threads[at]);
            let from = thread.and_then(|thread| self.partitioner.llc_of(thread));
            let to = self.partitioner.groups().of_cpu(*cpu);
            if from != to {
                from.into_iter().chain(to).for_each(|llc| pending[llc] = true);
            }
        }
        pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::PolicyConfig;

    #[test]
    fn the_thresholds_are_those_of_the_comparison() {
        let read = |text: &str| defaults().with(NAME, text.parse().unwrap());
        let ((dino, _), lfoc) = read("super_devil_mpki = 30\nwarm_up_seconds = 0").unwrap();
        assert_eq!((dino.devil_mpki, dino.super_devil_mpki), (3.0, 30.0));
        assert_eq!(lfoc.warm_up_seconds, 0.0);
    }
}
