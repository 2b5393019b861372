//! `camm`: Congestion-Aware Memory Management (section VII): CAMA and CAPM together. New pages go
//! where memory answers fastest; pages that were allocated under other conditions are moved.
//!
//! *Properties*: those of [`super::cama`] and [`super::capm`].
//!
//! *Departures from the paper*: those of both. CAMA and CAPM act on the latencies of the same
//! epoch, each as if it were alone, as in the paper.

use super::cheapest::Cheapest;
use super::config::{Choice, Migration, Reserve};
use super::migrate::migrate;
use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::kit::refused::Refused;
use isobar_model::{Observation, Outcome, Plan, Policy, Sensor};

/// Canonical name.
pub const NAME: &str = "camm";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: super::capm::PAPER,
    summary: "cama and capm together",
    moves: Moves::Pages,
    needs: &[Sensor::Latency, Sensor::SeveralNodes, Sensor::PagesByNode, Sensor::Allocation],
    make: &PolicyMaker { defaults: <((Choice, Migration), Reserve)>::default, new: Camm::new },
};

/// Congestion-aware memory management.
#[derive(Debug)]
pub struct Camm {
    choice: Choice,
    migration: Migration,
    reserve: Reserve,
    cheapest: Cheapest,
    refused: Refused,
}

impl Camm {
    /// Takes validated settings.
    #[must_use]
    pub fn new(((choice, migration), reserve): ((Choice, Migration), Reserve)) -> Self {
        Self { choice, migration, reserve, cheapest: Cheapest::default(), refused: Refused::default() }
    }
}

impl Policy for Camm {
    as_registered!();

    fn uses(&self) -> &'static [Sensor] {
        &[Sensor::AccessedPages]
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = Plan::nothing(NAME);
        self.cheapest.follow(seen, &self.choice, &self.reserve, &mut plan);
        self.refused.next_epoch(seen);
        migrate(seen, &self.migration, &self.reserve, &self.refused, &mut plan);
        plan.notes.dedup(); // both say that latency was not measured
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.cheapest.applied(plan, outcome);
        self.refused.applied(plan, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camm::test_kit::{accessed, cycles, on_nodes};
    use crate::test_kit::{moved, policy};

    #[test]
    fn new_pages_and_old_ones_leave_a_congested_node() {
        let mut seen = cycles("node:2 core:4", &[&[630.0, 375.0], &[500.0, 300.0]], &on_nodes(&[0, 1]));
        accessed(&mut seen, 1, &[20_000, 0]);
        accessed(&mut seen, 2, &[100, 20_000]);
        let plan = policy(&ENTRY, "").decide(&seen);
        assert_eq!(moved(&seen, &plan), ["1: new >1", "1: 7650 0>1", "2: 100 0>1"]);
        (seen.latency, seen.latency_cycles) = (None, None);
        assert_eq!(policy(&ENTRY, "").decide(&seen).notes.len(), 1);
    }
}
