//! The nodes where a process runs, which stand for the source node of a VM in the CAMM paper.
//!
//! *Departure from the paper*: a process may run on several nodes. Its new pages are placed for
//! each of them (CAMA). Its old pages are moved for its main node alone (CAPM), the one where its
//! threads used more than half of their CPU time in the epoch: pages are shared, and what is nearer
//! for one thread is farther for others. A process without such a node keeps its old pages where
//! they are.

use isobar_model::{NodeId, Process, Topology};
use std::collections::BTreeMap;

/// The nodes on which a process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// All, ascending; at least one.
    pub nodes: Vec<NodeId>,
    /// The node with more than half of the CPU time or, if no CPU time was measured or used, of the
    /// threads.
    pub main: Option<NodeId>,
}

impl Running {
    /// The nodes where threads of a process used CPU time in the epoch. If that was not measured or
    /// no thread did, the nodes where they ran last. `None` if no thread's CPU is known.
    #[must_use]
    pub fn of(process: &Process, machine: &Topology) -> Option<Self> {
        let mut times: BTreeMap<NodeId, f64> = BTreeMap::new();
        let mut counts: BTreeMap<NodeId, f64> = BTreeMap::new();
        for thread in &process.threads {
            let Some(node) = thread.cpu.and_then(|cpu| machine.node_of(cpu)) else { continue };
            *counts.entry(node).or_default() += 1.0;
            let used = thread.cpu_time.map_or(0.0, |time| time.0);
            if used > 0.0 {
                *times.entry(node).or_default() += used;
            }
        }
        let by_node = if times.is_empty() { counts } else { times };
        let total: f64 = by_node.values().sum();
        let main = by_node.iter().find(|(_, share)| 2.0 * **share > total).map(|(node, _)| *node);
        (!by_node.is_empty()).then(|| Self { nodes: by_node.into_keys().collect(), main })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{observation, process, thread};
    use isobar_model::{Seconds, Thread, Tid};

    fn nodes(threads: Vec<Thread>) -> Option<(Vec<u32>, Option<u32>)> {
        let seen = observation("node:2 core:2", vec![process(1, threads)]);
        let running = Running::of(&seen.processes[0], &seen.machine)?;
        Some((running.nodes.iter().map(|node| node.0).collect(), running.main.map(|node| node.0)))
    }

    fn used(tid: u32, cpu: u32, seconds: Option<f64>) -> Thread {
        Thread { cpu_time: seconds.map(Seconds), ..thread(tid, cpu, 1.0) }
    }

    #[test]
    fn the_main_node_has_more_than_half_of_the_cpu_time_or_else_of_the_threads() {
        let by_time = vec![used(1, 0, Some(0.1)), used(2, 1, Some(0.1)), used(3, 2, Some(0.5))];
        assert_eq!(nodes(by_time), Some((vec![0, 1], Some(1))));
        let half = vec![used(1, 0, Some(0.2)), used(2, 1, Some(0.3)), used(3, 2, Some(0.5))];
        assert_eq!(nodes(half), Some((vec![0, 1], None)), "half is not more than half");
        let asleep = vec![used(1, 0, Some(0.0)), used(2, 2, Some(0.5))];
        assert_eq!(nodes(asleep), Some((vec![1], Some(1))), "a thread that slept does not count");
        assert_eq!(nodes(vec![used(1, 0, None), used(2, 2, None), used(3, 3, None)]), Some((vec![0, 1], Some(1))));
        assert_eq!(nodes(vec![used(1, 0, None), used(2, 2, None)]), Some((vec![0, 1], None)));
        assert_eq!(nodes(vec![Thread::unmeasured(Tid(1))]), None);
    }
}
