//! `cama`: Congestion-Aware Memory Allocation (section V). "The target node chosen for allocation
//! in CAMA is the one which incurred the lowest probed latency in the previous epoch", as seen from
//! the node that allocates.
//!
//! ```text
//! for every node with CPUs:
//!     target = the node with the lowest latency from it, of those with free memory
//! for every process, for every node that it runs on:
//!     if its new pages go elsewhere than to the target: let them go there
//! ```
//!
//! *Properties*
//! - Equal congestion on all nodes gives no action: local memory is then the fastest, and the
//!   kernel puts new pages there anyway.
//! - A process for which a decision changes nothing gets no action.
//!
//! *Departures from the paper*: those of [`super`], and
//! 1. ESXi asks CAMA at every allocation. Linux does not let a process set another process's memory
//!    policy, so the decision is an action that the machine carries out for commands started under
//!    it.
//! 2. `hysteresis_percent` is not in the paper; at its default of 0 it does nothing.
//! 3. If every node is full, the local node is chosen, as the kernel would.
//! 4. A process is taken to allocate on its own node until this policy has asked for another.
//!    Whether its owner set a memory policy is not known here.

use super::cheapest::Cheapest;
use super::config::{Choice, Reserve};
use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use isobar_model::{Observation, Outcome, Plan, Policy, Sensor};

/// Canonical name.
pub const NAME: &str = "cama";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: super::capm::PAPER,
    summary: "new pages to the node with the lowest probed latency",
    moves: Moves::NewPages,
    needs: &[Sensor::Latency, Sensor::SeveralNodes, Sensor::Allocation],
    make: &PolicyMaker { defaults: <(Choice, Reserve)>::default, new: Cama::new },
};

/// Congestion-aware memory allocation.
#[derive(Debug)]
pub struct Cama {
    choice: Choice,
    reserve: Reserve,
    cheapest: Cheapest,
}

impl Cama {
    /// Takes validated settings.
    #[must_use]
    pub fn new((choice, reserve): (Choice, Reserve)) -> Self {
        Self { choice, reserve, cheapest: Cheapest::default() }
    }
}

impl Policy for Cama {
    as_registered!();

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = Plan::nothing(NAME);
        self.cheapest.follow(seen, &self.choice, &self.reserve, &mut plan);
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.cheapest.applied(plan, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camm::test_kit::{cycles, latency, on_nodes, with_free};
    use crate::test_kit::{moved, policy};

    fn decided(policy: &mut dyn Policy, seen: &Observation) -> Vec<String> {
        moved(seen, &policy.decide(seen))
    }

    #[test]
    fn new_pages_follow_the_lowest_latency() {
        let mut cama = policy(&ENTRY, "");
        let mut seen = cycles("node:2 core:4", &[&[90.0, 130.0], &[130.0, 90.0]], &on_nodes(&[0, 0, 1]));
        assert!(decided(cama.as_mut(), &seen).is_empty());
        latency(&mut seen, &[&[150.0, 140.0], &[150.0, 90.0]]);
        assert_eq!(decided(cama.as_mut(), &seen), ["1: new >1", "2: new >1"], "node 0 is congested");
        assert!(decided(cama.as_mut(), &seen).is_empty(), "nothing changed");
        latency(&mut seen, &[&[140.0, 140.0], &[150.0, 90.0]]);
        assert_eq!(decided(cama.as_mut(), &seen), ["1: new >0", "2: new >0"], "the local node wins ties");
        (seen.latency, seen.latency_cycles) = (None, None);
        let plan = cama.decide(&seen);
        assert!(plan.actions.is_empty() && plan.notes.len() == 1, "{plan:?}");
    }

    #[test]
    fn a_full_node_is_passed_over_for_the_next_best() {
        let rows: [&[f64]; 3] = [&[300.0, 140.0, 200.0], &[140.0, 90.0, 200.0], &[200.0, 200.0, 90.0]];
        let mut seen = cycles("node:3 core:4", &rows, &on_nodes(&[0]));
        with_free(&mut seen, &[10, 0, 10]);
        assert_eq!(decided(policy(&ENTRY, "").as_mut(), &seen), ["1: new >2"]);
        with_free(&mut seen, &[10, 0, 0]);
        assert!(decided(policy(&ENTRY, "").as_mut(), &seen).is_empty());
        with_free(&mut seen, &[0, 0, 0]);
        assert!(decided(policy(&ENTRY, "").as_mut(), &seen).is_empty(), "no node has any: the kernel decides");
    }

    #[test]
    fn hysteresis_keeps_a_choice_that_is_nearly_best() {
        let mut cama = policy(&ENTRY, "hysteresis_percent = 10");
        let mut seen = cycles("node:2 core:4", &[&[200.0, 100.0], &[130.0, 90.0]], &on_nodes(&[0]));
        assert_eq!(decided(cama.as_mut(), &seen), ["1: new >1"]);
        latency(&mut seen, &[&[100.0, 109.0], &[130.0, 90.0]]);
        assert!(decided(cama.as_mut(), &seen).is_empty());
        latency(&mut seen, &[&[100.0, 112.0], &[130.0, 90.0]]);
        assert_eq!(decided(cama.as_mut(), &seen), ["1: new >0"]);
    }
}
