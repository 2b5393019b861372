//! The home of a process: the node where it runs locally (section 2). The paper gives every process
//! one home. Section 5 says how the home is found if memory is scattered: by the distribution of
//! pages.
//!
//! - Home is the node with more than half of the process's pages. A process whose memory is spread
//!   has none: wherever it ran, most of its accesses would be remote, and packing its threads onto
//!   one node would take cores and caches from it without any benefit.
//! - Pages on a node without CPUs count for the nearest node that has some (by the kernel's
//!   distances, on a tie the lowest id), because running there is as local as possible.
//! - A process keeps its home until another node has more of its pages by a margin, or until the
//!   home falls short of half of them by the same margin. Otherwise memory that is about halfway
//!   between two nodes would send the process back and forth.

use crate::kit::previous::PreviousValues;
use isobar_model::{NodeId, NodeMap, Pages, Pid, Process, Topology, num};

/// For each node, the nearest node with CPUs.
#[derive(Clone, Debug)]
pub struct NearestCpus(NodeMap<NodeId>);

impl NearestCpus {
    /// Finds the nearest nodes on a machine.
    #[must_use]
    pub fn on(machine: &Topology) -> Self {
        let has_cpus = |node: &NodeId| machine.cpus_of_node(*node).is_some_and(|cpus| !cpus.is_empty());
        let with_cpus: Vec<NodeId> = machine.nodes().iter().map(|node| node.id).filter(has_cpus).collect();
        let nearest_to = |from: NodeId| with_cpus.iter().copied().min_by_key(|to| (distance(machine, from, *to), *to));
        Self(machine.nodes().iter().filter_map(|node| Some((node.id, nearest_to(node.id)?))).collect())
    }

    fn of(&self, node: NodeId) -> Option<NodeId> {
        self.0.get(node).copied()
    }
}

/// The distance from one node to another: 0 if they are the same, otherwise the kernel's. If the
/// kernel gives no distances, all other nodes are equally far.
#[must_use]
pub fn distance(machine: &Topology, from: NodeId, to: NodeId) -> u32 {
    let distance = machine.distances().and_then(|distances| distances.get(from, to)).copied();
    if from == to { 0 } else { distance.unwrap_or(u32::MAX) }
}

/// The homes of the last interval, ascending by pid.
#[derive(Clone, Debug, Default)]
pub struct Homes(Vec<(Pid, NodeId)>);

impl Homes {
    /// The home of each process, in their order; `None` if its pages were not counted or are
    /// spread. `margin` is a fraction of all its pages.
    pub fn update(&mut self, nearest: &NearestCpus, processes: &[Process], margin: f64) -> Vec<Option<NodeId>> {
        let mut before = PreviousValues::take_from(&mut self.0);
        let mut homes = Vec::with_capacity(processes.len());
        for process in processes {
            let old = before.take(&process.pid);
            let home = process.pages.as_ref().and_then(|pages| choose(&gathered(nearest, pages), old, margin));
            self.0.extend(home.map(|home| (process.pid, home)));
            homes.push(home);
        }
        homes
    }
}

/// Number of pages by node with CPUs; pages on a node without CPUs count for the nearest such node.
fn gathered(nearest: &NearestCpus, pages: &NodeMap<Pages>) -> NodeMap<u64> {
    let mut counts = NodeMap::default();
    for (node, count) in pages.iter() {
        if let Some(node) = nearest.of(node) {
            *counts.entry(node) += count.0;
        }
    }
    counts
}

fn choose(counts: &NodeMap<u64>, old: Option<NodeId>, margin: f64) -> Option<NodeId> {
    let total = num::float(counts.values().sum());
    let (best, most) = counts.iter().max_by_key(|(_, count)| **count)?;
    let keeps = |old: &NodeId| {
        let count = counts.get(*old).copied().unwrap_or(0);
        num::float(most - count) <= margin * total && num::float(count) >= (0.5 - margin) * total
    };
    // Two nodes cannot both have more than half.
    let majority = || (2.0 * num::float(*most) > total).then_some(best);
    if total > 0.0 { old.filter(keeps).or_else(majority) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nmass::test_kit::observation;
    use crate::test_kit::topology;

    fn home(homes: &mut Homes, pages: &[u64]) -> Option<u32> {
        let seen = observation("node:2 core:2", &[(1, 0, 5.0, None, pages)]);
        homes.update(&NearestCpus::on(&seen.machine), &seen.processes, 0.1)[0].map(|node| node.0)
    }

    #[test]
    fn home_is_where_more_than_half_of_the_pages_are() {
        assert_eq!(home(&mut Homes::default(), &[10, 90]), Some(1));
        assert_eq!(home(&mut Homes::default(), &[49, 51]), Some(1));
        assert_eq!(home(&mut Homes::default(), &[50, 50]), None, "half is no majority");
        assert_eq!(home(&mut Homes::default(), &[0, 0]), None);
        assert_eq!(home(&mut Homes::default(), &[]), None);
    }

    #[test]
    fn a_home_is_kept_until_another_node_has_clearly_more() {
        let mut homes = Homes::default();
        let kept = [[40, 60], [52, 48], [55, 45], [56, 44], [50, 50]].map(|pages| home(&mut homes, &pages));
        assert_eq!(kept, [Some(1), Some(1), Some(1), Some(0), Some(0)]);
    }

    #[test]
    fn memory_that_spreads_ends_a_home_and_spread_memory_has_none() {
        // Half less the margin is 40 %.
        let spread = |shares: [u64; 4]| NodeMap::from_iter((0..).map(NodeId).zip(shares));
        let home = |shares, old: Option<u32>| choose(&spread(shares), old.map(NodeId), 0.1).map(|node| node.0);
        assert_eq!(home([25, 25, 25, 25], None), None);
        assert_eq!(home([40, 20, 20, 20], None), None, "a plurality is not enough");
        assert_eq!(home([40, 20, 20, 20], Some(0)), Some(0));
        assert_eq!(home([39, 21, 20, 20], Some(0)), None);
        assert_eq!(home([41, 52, 7, 0], Some(0)), Some(1), "11 % more");
    }

    #[test]
    fn memory_without_cpus_counts_for_its_nearest_node() {
        // Nodes 0 and 1 have a CPU each; node 2 has none and is nearer to node 1.
        let machine = topology(
            r#"{"nodes": [{"id": 0}, {"id": 1}, {"id": 2}], "cpus": [{"id": 0, "node": 0}, {"id": 1, "node": 1}],
                "distances": [[10, 20, 40], [20, 10, 30], [40, 30, 10]]}"#,
        );
        let nearest = NearestCpus::on(&machine);
        let pages: NodeMap<Pages> = (0..).map(NodeId).zip([40, 25, 35].map(Pages)).collect();
        assert_eq!(choose(&gathered(&nearest, &pages), None, 0.1), Some(NodeId(1)));
    }
}
