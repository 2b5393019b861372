//! `static-P`: static allocation ratios (section III, figures 4 and 5), with which CAMA is
//! compared. P per cent of a process's new pages go to the local node, and the rest evenly to the
//! nearest remote nodes. The policy does not react to congestion.
//!
//! ```text
//! for every process, for every node that it runs on:
//!     P % of new pages to that node, (100 - P) / (nodes - 1) % to each of its nearest nodes
//! ```
//!
//! *Properties*: a process's ratios are requested once, and again only if it runs elsewhere.
//!
//! *Departures from the paper*
//! 1. The ratios are weights from 1 to 255, as in the kernel's weighted interleave. The weights
//!    nearest to P are used; they are within half a per cent of it for up to 8 nodes and 97 %.
//! 2. The paper does not say which remote nodes share the rest. Here they are the nearest by the
//!    firmware's distances, then by number.
//! 3. Free memory is not considered: full nodes are left to the kernel.

use super::allocations::{Allocations, Target};
use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::settings::{ConfigError, Section, between, check, settings};
use isobar_model::{Bytes, NodeId, NodeWeight, Observation, Outcome, Plan, Policy, Sensor, Topology, num};
use std::collections::BTreeMap;

/// Canonical name.
pub const NAME: &str = "static-P";
/// What short names begin with, as in `static-60`.
const PREFIX: &str = "static-";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: super::capm::PAPER,
    summary: "P per cent of new pages on the local node (static-60: P = 60)",
    moves: Moves::NewPages,
    needs: &[Sensor::SeveralNodes, Sensor::Allocation],
    make: &PolicyMaker { defaults: Config::default, new: StaticP::new },
};

settings! {
    /// Settings.
    pub struct Config {
        /// P: new pages, in per cent, that go to the node that asks for them; `static-60` is short
        /// for static-P with 60 here.
        pub local_percent: u32 = 60,
        /// How many nodes share the new pages: the local one and its nearest; 0 means all.
        pub nodes: u32 = 2,
    }
}

impl Section for Config {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        between(section, "local_percent", f64::from(self.local_percent), 0.0, 100.0)?;
        check(self.nodes != 1, section, "nodes", self.nodes, "2 or more, or 0 for all")
    }
}

/// The setting that a short name stands for: 60 for `static-60`.
#[must_use]
pub fn shorthand(name: &str) -> Option<(&'static str, u32)> {
    let percent = name.strip_prefix(PREFIX)?;
    let digits = percent.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| percent.parse().ok()).flatten().map(|percent| ("local_percent", percent))
}

/// Static allocation ratios.
#[derive(Debug)]
pub struct StaticP {
    config: Config,
    allocations: Allocations,
}

impl StaticP {
    /// Takes validated settings.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, allocations: Allocations::default() }
    }

    fn target(&self, machine: &Topology, local: NodeId) -> (Target, String) {
        let remote = remote(machine, local, self.config.nodes);
        let target = spread(local, &remote, self.config.local_percent);
        let Config { local_percent, .. } = self.config;
        (target, format!("{local_percent} % of what node {local} allocates stays there, whatever the congestion"))
    }
}

impl Policy for StaticP {
    as_registered!();

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = Plan::nothing(NAME);
        let nodes = seen.machine.nodes().iter().map(|node| node.id);
        let targets: BTreeMap<NodeId, _> = nodes.map(|node| (node, self.target(&seen.machine, node))).collect();
        self.allocations.follow(seen, |node| targets.get(&node).cloned(), &mut plan);
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.allocations.applied(plan, outcome);
    }
}

/// The remote nodes that share the pages of a node: the nearest ones that have memory.
fn remote(machine: &Topology, local: NodeId, nodes: u32) -> Vec<NodeId> {
    let distance = |to: NodeId| machine.distances().and_then(|all| all.get(local, to)).copied().unwrap_or(u32::MAX);
    let has_memory = |node: &&isobar_model::topology::Node| node.id != local && node.memory != Some(Bytes(0));
    let mut remote: Vec<_> =
        machine.nodes().iter().filter(has_memory).map(|node| (distance(node.id), node.id)).collect();
    remote.sort_unstable();
    let share = if nodes == 0 { remote.len() } else { num::index(nodes) - 1 };
    remote.into_iter().take(share).map(|(_, node)| node).collect()
}

/// `percent` to `local`, and the rest evenly to `remote`.
fn spread(local: NodeId, remote: &[NodeId], percent: u32) -> Target {
    let Some(nearest) = remote.first().copied().filter(|_| percent < 100) else { return Target::all_on(local) };
    let (local_weight, remote_weight) = weights(percent, num::narrow(remote.len()));
    let of = |node: &NodeId| NodeWeight { node: *node, weight: remote_weight };
    let weights: Vec<_> = local_weight
        .map(|weight| NodeWeight { node: local, weight })
        .into_iter()
        .chain(remote.iter().map(of))
        .collect();
    let node = if local_weight.is_some_and(|weight| weight >= remote_weight) { local } else { nearest };
    if weights.len() == 1 { Target::all_on(node) } else { Target { node, weights } }
}

/// The weights of the local node (none for 0 %) and of each of `remote` nodes that come nearest to
/// a percentage below 100. Of equally near weights, the smallest.
fn weights(percent: u32, remote: u32) -> (Option<u8>, u8) {
    let wanted = f64::from(percent) / 100.0;
    let share = |local: u8, each: u8| f64::from(local) / (f64::from(local) + f64::from(each) * f64::from(remote));
    let mut best = (f64::INFINITY, None, 1);
    if percent == 0 {
        return (None, 1);
    }
    for each in 1..=u8::MAX {
        // The local weight that makes the share exact, as far as weights go.
        let exact = num::round(wanted * f64::from(each) * f64::from(remote) / (1.0 - wanted));
        let local = u8::try_from(exact.clamp(1, u64::from(u8::MAX))).unwrap_or(u8::MAX);
        let error = (share(local, each) - wanted).abs();
        if error < best.0 - 1e-12 {
            best = (error, Some(local), each);
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camm::test_kit::on_nodes;
    use crate::test_kit::{moved, observation, policy, refused};

    fn decided(machine: &str, section: &str) -> Vec<String> {
        let seen = observation(machine, on_nodes(&[0, 1]));
        let mut policy = policy(&ENTRY, section);
        let plan = policy.decide(&seen);
        assert!(policy.decide(&seen).actions.is_empty(), "asked once");
        moved(&seen, &plan)
    }

    #[test]
    fn new_pages_are_spread_in_the_ratio() {
        assert_eq!(decided("node:2 core:4", ""), ["1: new >0 3x0 2x1", "2: new >1 3x1 2x0"]);
        assert_eq!(decided("node:2 core:4", "local_percent = 30"), ["1: new >1 3x0 7x1", "2: new >0 3x1 7x0"]);
        assert!(decided("node:2 core:4", "local_percent = 100").is_empty());
        assert_eq!(decided("node:2 core:4", "local_percent = 0"), ["1: new >1", "2: new >0"]);
        let four = decided("node:8 core:4", "nodes = 4\nlocal_percent = 70");
        assert_eq!(four, ["1: new >0 7x0 1x1 1x2 1x3", "2: new >1 7x1 1x0 1x2 1x3"]);
    }

    #[test]
    fn weights_come_near_to_every_percentage() {
        for remote in 1..8 {
            for percent in 1..=97 {
                let (local, each) = weights(percent, remote);
                let local = f64::from(local.unwrap());
                let share = 100.0 * local / (local + f64::from(each) * f64::from(remote));
                assert!((share - f64::from(percent)).abs() < 0.5, "{percent} % beside {remote}: {share}");
            }
        }
    }

    #[test]
    fn short_names_and_impossible_settings() {
        assert_eq!(shorthand("static-70"), Some(("local_percent", 70)));
        assert_eq!(["static-", "static-P", "static-+6", "static-6x", "70"].map(shorthand), [None; 5]);
        assert_eq!(refused(&ENTRY, "nodes = 1"), "static-P.nodes: 1 is impossible: expected 2 or more, or 0 for all");
        assert_eq!(
            refused(&ENTRY, "local_percent = 101"),
            "static-P.local_percent: 101 is impossible: expected 0 to 100"
        );
    }
}
