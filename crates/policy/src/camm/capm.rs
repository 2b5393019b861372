//! `capm`: Congestion-Aware Page Migration (section VI). At the end of an epoch every node compares
//! the latency of its own memory with that of its neighbour, the remote node with the lowest
//! latency. If one of the two is above their mean by more than eta, pages that were accessed in the
//! epoch move from it to the other: away from a congested local node, or back from a congested
//! neighbour. [`super::gap`] has algorithm 3, [`super::migrate`] the rate.
//!
//! *Properties*
//! - Equal congestion on all nodes gives no action: local memory is then the fastest, and no page
//!   is away from it.
//! - No page moves between two nodes whose latencies are within the threshold, in either direction.
//! - No process moves more pages than it accessed on the congested node, and no node takes more
//!   than is free there.
//!
//! *Departures from the paper*: those of [`super`], and
//! 1. Algorithm 3 uses `neighboringNode` without defining it. Here it is the remote node with the
//!    lowest latency (design reading 10). Pages on other remote nodes stay until theirs is the
//!    neighbour.
//! 2. If free memory does not suffice for all, processes share it evenly. The paper only says "rate
//!    0" if there is no free memory.
//! 3. If accessed pages were not measured, any resident page is a candidate, and the plan says so.
//! 4. Of the accessed pages, those accessed most move first. The paper only separates accessed
//!    pages from the others and names no order.

use super::config::{Migration, Reserve};
use super::migrate::migrate;
use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::kit::refused::Refused;
use isobar_model::{Observation, Outcome, Plan, Policy, Sensor};

/// Canonical name.
pub const NAME: &str = "capm";
/// The paper.
pub const PAPER: &str =
    "Kotra et al., Congestion-Aware Memory Management on NUMA Platforms: A VMware ESXi Case Study (2017)";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: PAPER,
    summary: "accessed pages away from congested nodes, by probed latency",
    moves: Moves::Pages,
    needs: &[Sensor::Latency, Sensor::SeveralNodes, Sensor::PagesByNode],
    make: &PolicyMaker { defaults: <(Migration, Reserve)>::default, new: Capm::new },
};

/// Congestion-aware page migration.
#[derive(Debug)]
pub struct Capm {
    migration: Migration,
    reserve: Reserve,
    refused: Refused,
}

impl Capm {
    /// Takes validated settings.
    #[must_use]
    pub fn new((migration, reserve): (Migration, Reserve)) -> Self {
        Self { migration, reserve, refused: Refused::default() }
    }
}

impl Policy for Capm {
    as_registered!();

    fn uses(&self) -> &'static [Sensor] {
        &[Sensor::AccessedPages]
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = Plan::nothing(NAME);
        self.refused.next_epoch(seen);
        migrate(seen, &self.migration, &self.reserve, &self.refused, &mut plan);
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.refused.applied(plan, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camm::test_kit::{accessed, cycles, on_nodes, with_free};
    use crate::test_kit::{moved, policy, refused, with_pages};

    const UNCONGESTED: &[f64] = &[500.0, 300.0];

    /// Process 1 on node 0 with 20,000 pages on each node, all accessed.
    fn one(local: f64, remote: f64) -> Observation {
        let mut seen = cycles("node:2 core:4", &[&[local, remote], UNCONGESTED], &on_nodes(&[0]));
        accessed(&mut seen, 1, &[20_000, 20_000]);
        seen
    }

    fn pages(seen: &Observation, section: &str) -> Vec<String> {
        moved(seen, &policy(&ENTRY, section).decide(seen))
    }

    #[test]
    fn the_figures_of_the_paper_in_both_directions() {
        assert_eq!(pages(&one(630.0, 375.0), ""), ["1: 7650 0>1"], "npb_is: gap 127.5");
        assert_eq!(pages(&one(434.0, 340.0), ""), ["1: 2820 0>1"], "WL8: gap 47");
        assert_eq!(pages(&one(340.0, 434.0), ""), ["1: 2820 1>0"]);
        assert!(pages(&one(400.0, 400.0), "").is_empty());
        assert_eq!(pages(&one(630.0, 375.0), "rate = \"static\""), ["1: 8000 0>1"]);
        assert_eq!(pages(&one(434.0, 340.0), "rate = \"static\"\npages_per_epoch = 2000"), ["1: 2000 0>1"]);
    }

    #[test]
    fn only_accessed_pages_move() {
        let mut seen = one(630.0, 375.0);
        with_pages(&mut seen, 1, &[5000, 0]);
        assert_eq!(pages(&seen, ""), ["1: 5000 0>1"], "no more than are there");
        accessed(&mut seen, 1, &[300, 0]);
        assert_eq!(pages(&seen, ""), ["1: 300 0>1"]);
        seen.processes[0].accessed_pages = None;
        with_pages(&mut seen, 1, &[5000, 0]);
        let plan = policy(&ENTRY, "").decide(&seen);
        assert_eq!(moved(&seen, &plan), ["1: 5000 0>1"]);
        assert!(plan.notes[0].starts_with("accessed pages were not measured for 1 of the 1 processes"), "{plan:?}");
    }

    #[test]
    fn several_nodes_and_processes_share_what_is_free() {
        // Nodes 0 and 1 are congested. Node 2 is the neighbour of both and has 9000 free pages.
        let rows: [&[f64]; 3] = [&[630.0, 700.0, 375.0], &[700.0, 630.0, 375.0], &[400.0, 400.0, 300.0]];
        let mut seen = cycles("node:3 core:4", &rows, &on_nodes(&[0, 0, 1]));
        for pid in 1..=3 {
            accessed(&mut seen, pid, &[if pid == 2 { 1000 } else { 20_000 }, 20_000, 0]);
        }
        with_free(&mut seen, &[0, 0, 9000]);
        let plan = policy(&ENTRY, "").decide(&seen);
        assert_eq!(moved(&seen, &plan), ["1: 4000 0>2", "2: 1000 0>2", "3: 4000 1>2"]);
        assert_eq!(plan.notes, ["node 2 has free memory for 9000 of the 16300 pages that would move to it"]);
        with_free(&mut seen, &[0, 0, 0]);
        assert!(policy(&ENTRY, "").decide(&seen).actions.is_empty());
    }

    #[test]
    fn equal_congestion_and_missing_latency_move_nothing() {
        let mut seen = cycles("node:2 core:4", &[&[600.0, 900.0], &[900.0, 600.0]], &on_nodes(&[0, 1]));
        accessed(&mut seen, 1, &[20_000, 0]);
        accessed(&mut seen, 2, &[0, 20_000]);
        assert_eq!(policy(&ENTRY, "").decide(&seen), Plan::nothing(NAME));
        (seen.latency, seen.latency_cycles) = (None, None);
        let plan = policy(&ENTRY, "").decide(&seen);
        assert!(plan.actions.is_empty() && plan.notes.len() == 1, "{plan:?}");
    }

    #[test]
    fn impossible_settings_are_refused() {
        assert!(refused(&ENTRY, "rate = \"fast\"").starts_with("capm.rate: unknown variant `fast`"));
        assert!(refused(&ENTRY, "ghz = 0").contains("capm.ghz: "));
        assert_eq!(
            refused(&ENTRY, "threshold_percent = 101"),
            "capm.threshold_percent: 101 is impossible: expected 0 to 100"
        );
    }
}
