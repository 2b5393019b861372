//! Latencies as the CPUs of one node see them (section IV): of the node's own memory, and of every
//! other node's from the fastest to the slowest.
//!
//! *Departure from the paper*: a latency of 0 or less counts as not measured, whoever reports it,
//! because it would win every comparison.

use isobar_model::{NodeId, NodeMatrix, Observation};
use std::collections::BTreeSet;

/// The note of a plan when nothing can be decided.
pub const NOT_MEASURED: &str = "memory latency between nodes was not measured in this epoch: nothing is decided";

/// The unit of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    /// As measured.
    Nanoseconds,
    /// CPU cycles as measured; if cycles were not measured, nanoseconds times this many GHz.
    Cycles(f64),
}

/// Latencies from a node.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The node of the CPUs.
    pub node: NodeId,
    /// Latency to its own memory; `None` if it has none or was not probed.
    pub local: Option<f64>,
    /// Latencies to the other nodes, ascending by latency, then node.
    pub remote: Vec<(NodeId, f64)>,
}

impl View {
    /// The remote node with the lowest latency, and that latency: the paper's neighbour.
    #[must_use]
    pub fn neighbour(&self) -> Option<(NodeId, f64)> {
        self.remote.first().copied()
    }

    /// The latency to a node.
    #[must_use]
    pub fn to(&self, node: NodeId) -> Option<f64> {
        if node == self.node {
            return self.local;
        }
        self.remote.iter().find(|(remote, _)| *remote == node).map(|(_, latency)| *latency)
    }
}

/// The views of all nodes that have CPUs and from which latencies were probed, ascending by node.
#[must_use]
pub fn views(seen: &Observation, unit: Unit) -> Vec<View> {
    let with_cpus: BTreeSet<NodeId> = seen.machine.cpus().iter().filter_map(|cpu| cpu.node).collect();
    let known = |view: &View| view.local.is_some() || !view.remote.is_empty();
    with_cpus.into_iter().map(|node| view(seen, node, unit)).filter(known).collect()
}

fn view(seen: &Observation, node: NodeId, unit: Unit) -> View {
    let nanoseconds = |to| positive(seen.latency.as_ref()?.get(node, to)?.0);
    let cycles = |to| positive(*seen.latency_cycles.as_ref()?.get(node, to)?);
    // All latencies of a row have one unit: a gap between a measured and a converted figure would
    // mean nothing.
    let row = |matrix: &NodeMatrix<f64>| matrix.nodes().iter().all(|to| cycles(*to).is_some());
    let in_cycles = seen.latency_cycles.as_ref().is_some_and(row);
    let latency = |to| match unit {
        Unit::Nanoseconds => nanoseconds(to),
        Unit::Cycles(_) if in_cycles => cycles(to),
        Unit::Cycles(ghz) => nanoseconds(to).map(|latency| latency * ghz),
    };
    let others = seen.machine.nodes().iter().map(|other| other.id).filter(|other| *other != node);
    let mut remote: Vec<_> = others.filter_map(|other| Some((other, latency(other)?))).collect();
    remote.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    View { node, local: latency(node), remote }
}

fn positive(latency: f64) -> Option<f64> {
    (latency.is_finite() && latency > 0.0).then_some(latency)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camm::test_kit::{matrix, seen};

    #[test]
    fn remote_nodes_are_in_the_order_of_their_latency() {
        let seen = seen("node:3 core:1", &[&[100.0, 180.0, 150.0], &[150.0, 100.0, 150.0], &[0.0, 150.0, 100.0]]);
        let views = views(&seen, Unit::Nanoseconds);
        assert_eq!(views[0].remote, [(NodeId(2), 150.0), (NodeId(1), 180.0)]);
        assert_eq!(views[1].neighbour(), Some((NodeId(0), 150.0)), "ties go to the lower node");
        assert_eq!(views[2].remote, [(NodeId(1), 150.0)], "no load takes 0 ns");
        assert_eq!((views[0].to(NodeId(0)), views[2].to(NodeId(0))), (Some(100.0), None));
    }

    #[test]
    fn cycles_are_taken_as_measured_else_converted() {
        let mut seen = seen("node:2 core:1", &[&[100.0, 200.0], &[200.0, 100.0]]);
        assert_eq!(views(&seen, Unit::Cycles(2.0))[0].local, Some(200.0));
        seen.latency_cycles = Some(matrix(&[&[630.0, 375.0], &[0.0, 300.0]]));
        let views = views(&seen, Unit::Cycles(2.0));
        assert_eq!((views[0].local, views[0].remote[0].1), (Some(630.0), 375.0));
        assert_eq!(
            (views[1].local, views[1].remote[0].1),
            (Some(200.0), 400.0),
            "a row with a hole is converted whole"
        );
    }

    #[test]
    fn nothing_measured_is_nothing_seen() {
        let mut seen = seen("node:2 core:1", &[&[100.0, 200.0], &[200.0, 100.0]]);
        seen.latency = None;
        assert_eq!(views(&seen, Unit::Cycles(2.0)), []);
    }
}
