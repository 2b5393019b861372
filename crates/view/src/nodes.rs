//! Nodes, links and the latency of pairs of nodes.

use crate::history::{History, Past};
use crate::view::{LinkView, NodeView, Pair};
use isobar_model::{CpuSet, NodeId, Observation, num};
use isobar_policy::isobar::outlook::EpochAssessment;
use std::collections::BTreeMap;

/// The ratio of a latency to the idle latency from which on a pair counts as congested. By the
/// queueing curve of the model, 1.3 is what a controller at 70 % of its capacity shows.
pub const CONGESTED: f64 = 1.3;

/// The nodes of an epoch. Earlier epochs come from `history`, to which this epoch is added.
pub fn nodes(
    seen: &Observation,
    standing: Option<&EpochAssessment>,
    latency: &[Pair],
    history: &mut History,
) -> Vec<NodeView> {
    let busy = busy(seen);
    let machine = &seen.machine;
    let one = |(at, node): (usize, &isobar_model::topology::Node)| {
        let cpus = machine.cpus_of_node(node.id).map_or(0, CpuSet::len);
        let load = standing.and_then(|standing| standing.controllers.get(at));
        let nearest = nearest(latency, node.id);
        let mut view = NodeView {
            id: node.id,
            cpus,
            busy: busy.as_ref().filter(|_| cpus > 0).map(|busy| part(busy.get(&node.id), cpus, seen.interval.0)),
            memory_bytes: node.memory.map(|bytes| bytes.0),
            free_bytes: seen.free.get(node.id).map(|bytes| bytes.0),
            bandwidth: load.map(|load| load.used),
            max_bandwidth: load.map(|load| load.capacity).or(node.max_bandwidth.map(|most| most.0)),
            max_is_told: load.map_or(node.max_bandwidth.is_some(), |load| load.told),
            latency_ns: nearest.map(|pair| pair.latency_ns),
            idle_latency_ns: nearest.and_then(|pair| pair.idle_latency_ns),
            ..NodeView::default()
        };
        history.take(node.id, Past { busy: view.busy, load: view.load(), latency: view.latency_ns });
        view.busy_history = history.of(node.id, |past| past.busy);
        view.load_history = history.of(node.id, |past| past.load);
        view.latency_history = history.of(node.id, |past| past.latency);
        view
    };
    machine.nodes().iter().enumerate().map(one).collect()
}

fn part(seconds: Option<&f64>, cpus: usize, interval: f64) -> f64 {
    (seconds.copied().unwrap_or(0.0) / (num::float_len(cpus) * interval.max(1e-9))).clamp(0.0, 1.0)
}

/// The pair that best represents a node's memory: from its own CPUs, otherwise from the nearest
/// ones.
fn nearest(latency: &[Pair], node: NodeId) -> Option<&Pair> {
    let to = || latency.iter().filter(move |pair| pair.to == node);
    to().find(|pair| pair.from == node).or_else(|| to().min_by(|a, b| a.latency_ns.total_cmp(&b.latency_ns)))
}

/// CPU seconds by node; `None` if no thread's time is measured.
fn busy(seen: &Observation) -> Option<BTreeMap<NodeId, f64>> {
    let mut busy = BTreeMap::new();
    let mut measured = false;
    for (_, thread) in seen.threads() {
        let Some(time) = thread.cpu_time else { continue };
        measured = true;
        if let Some(node) = thread.cpu.and_then(|cpu| seen.machine.node_of(cpu)) {
            *busy.entry(node).or_insert(0.0) += time.0;
        }
    }
    (measured || seen.processes.is_empty()).then_some(busy)
}

/// The probed pairs, row by row.
pub fn pairs(seen: &Observation) -> Vec<Pair> {
    let Some(table) = &seen.latency else { return Vec::new() };
    let idle = |from, to| seen.latency_idle.as_ref().and_then(|idle| idle.get(from, to)).map(|ns| ns.0);
    let mut found = Vec::new();
    for from in table.nodes() {
        for to in table.nodes() {
            let Some(ns) = table.get(*from, *to) else { continue };
            found.push(Pair {
                from: *from,
                to: *to,
                latency_ns: ns.0,
                idle_latency_ns: idle(*from, *to),
                congested: false,
            });
        }
    }
    let marks: Vec<bool> = found.iter().map(|pair| is_congested(pair, &found)).collect();
    found.iter_mut().zip(marks).for_each(|(pair, mark)| pair.congested = mark);
    found
}

fn is_congested(pair: &Pair, all: &[Pair]) -> bool {
    match pair.idle_latency_ns.filter(|idle| *idle > 0.0) {
        Some(idle) => pair.latency_ns >= CONGESTED * idle,
        None => {
            pair.from == pair.to
                && all.iter().any(|other| other.from == pair.from && other.latency_ns < pair.latency_ns)
        }
    }
}

/// The links.
pub fn links(standing: &EpochAssessment) -> Vec<LinkView> {
    let one = |(from, to, load): &(NodeId, NodeId, isobar_policy::isobar::outlook::Load)| LinkView {
        from: *from,
        to: *to,
        bandwidth: load.used,
        max_bandwidth: load.capacity,
    };
    standing.links.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{latencies, process, seen, thread};
    use isobar_model::{Bytes, NodeId};

    /// Two nodes of four cores. Two threads run all the time on node 0, and one runs half of the
    /// time on node 1.
    #[test]
    fn a_node_is_busy_by_the_threads_that_run_on_it() {
        let mut half = thread(3, 4);
        half.cpu_time = Some(isobar_model::Seconds(0.5));
        let mut seen = seen("node:2 core:4", vec![process(1, "a", vec![thread(1, 0), thread(2, 1), half])]);
        seen.free = [(NodeId(0), Bytes(1 << 30))].into_iter().collect();
        let nodes = nodes(&seen, None, &[], &mut History::default());
        assert_eq!((nodes[0].busy, nodes[1].busy), (Some(0.5), Some(0.125)));
        assert_eq!((nodes[0].cpus, nodes[0].memory_bytes, nodes[0].free_bytes), (4, Some(4 << 30), Some(1 << 30)));
        assert_eq!((nodes[1].free_bytes, nodes[0].load()), (None, None));
        assert_eq!(nodes[0].busy_history, [Some(0.5)]);
    }

    #[test]
    fn pairs_are_congested_against_idle_or_where_own_memory_is_the_farther() {
        let mut seen = seen("node:2 core:4", vec![]);
        seen.latency = latencies([[90.0, 140.0], [190.0, 85.0]]);
        seen.latency_idle = latencies([[85.0, 135.0], [135.0, 85.0]]);
        let marked = |seen: &Observation| -> Vec<(u32, u32)> {
            pairs(seen).iter().filter(|pair| pair.congested).map(|pair| (pair.from.0, pair.to.0)).collect()
        };
        assert_eq!(marked(&seen), [(1, 0)], "190 is 1.41 times 135");
        seen.latency_idle = None;
        assert_eq!(marked(&seen), []);
        seen.latency = latencies([[160.0, 140.0], [150.0, 85.0]]);
        assert_eq!(marked(&seen), [(0, 0)]);
    }
}
