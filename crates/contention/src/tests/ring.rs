//! Machines whose nodes form a ring: some routes pass two links, so that threads compete far from
//! where they run.

use crate::{Cache, Machine, Packets, Parts, Resource};

/// Nodes in a ring. `latency` is that of local and of remote memory, in seconds; `speed` that of a
/// node's controllers and of one direction of a link, in bytes per second.
pub(super) fn ring(
    nodes: usize,
    llcs: usize,
    latency: [f64; 2],
    speed: [f64; 2],
    packets: Packets,
    cache: Cache,
) -> Machine {
    // Link `k` joins node `k` to the next node. The way there is resource `nodes + 2 k`, the way
    // back the one after.
    let way = |from: usize, to: usize| {
        let up = (to + nodes - from) % nodes;
        let forth = (0..up).map(|hop| nodes + 2 * ((from + hop) % nodes)).collect::<Vec<_>>();
        let back = (0..nodes - up).map(|hop| nodes + 2 * ((from + nodes - 1 - hop) % nodes) + 1).collect();
        if up == 0 || 2 * up <= nodes { forth } else { back }
    };
    let resource = |capacity: f64, queue: f64| Resource { capacity, queue };
    let parts = Parts {
        latency: (0..nodes).map(|from| (0..nodes).map(|to| latency[usize::from(from != to)]).collect()).collect(),
        resources: (0..nodes)
            .map(|_| resource(speed[0], 15e-9))
            .chain((0..2 * nodes).map(|_| resource(speed[1], 12e-9)))
            .collect(),
        routes: (0..nodes).map(|from| (0..nodes).map(|to| way(from, to)).collect()).collect(),
        packets,
        llcs: vec![cache; nodes * llcs],
    };
    Machine::new(parts).unwrap()
}
