//! Machines and threads for tests and measurements. The benches include this file too, so that both
//! use the same ones.

use crate::{Cache, Demand, Machine, MissCurve, Packets, Parts, Place, Resource};

pub(crate) const MIB: f64 = 1_048_576.0;

/// Nodes with `llcs` caches of 8 MiB each, 20 GB/s per node, 80 ns local and 130 ns remote, and a
/// link of 10 GB/s each way between any two nodes.
pub(crate) fn mesh(nodes: usize, llcs: usize) -> Machine {
    let resource = |gb: f64| Resource { capacity: gb * 1e9, queue: 15e-9 };
    let links = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let position: Vec<_> = links.collect();
    let route = |from, to| position.iter().position(|link| *link == (from, to)).map(|link| nodes + link);
    let row = |from| (0..nodes).map(|to| route(from, to).into_iter().collect()).collect();
    let latency = |from| (0..nodes).map(|to| if from == to { 80e-9 } else { 130e-9 }).collect();
    let parts = Parts {
        latency: (0..nodes).map(latency).collect(),
        resources: (0..nodes).map(|_| resource(20.0)).chain(position.iter().map(|_| resource(10.0))).collect(),
        routes: (0..nodes).map(row).collect(),
        packets: Packets::default(),
        llcs: vec![Cache { bytes: 8.0 * MIB, ways: 16, private: 0.0 }; nodes * llcs],
    };
    Machine::new(parts).unwrap()
}

pub(crate) fn at(node: usize) -> Place {
    Place { node, llc: node }
}

/// A memory-intensive thread at 2.5 GHz with all of its memory on one node.
pub(crate) fn devil(place: Place, memory: usize, nodes: usize) -> Demand {
    Demand {
        share: 1.0,
        place,
        mask: u64::MAX,
        compute: 0.8 / 2.5e9,
        curve: MissCurve::parametric(12.0, 20.0, 1.0),
        factor: 1.0,
        mlp: 3.0,
        prefetch: 0.0,
        write_back: 0.3,
        footprint: 1e9,
        reach: 1.0,
        weights: (0..nodes).map(|node| if node == memory { 1.0 } else { 0.0 }).collect(),
        delay: 0.0,
        held: 0.0,
    }
}

/// Threads of eight programs as in SPEC CPU 2006 (mcf, lbm, povray, milc, omnetpp, soplex, namd,
/// gobmk; crates/sim), spread over the nodes. Three in four have local memory; the fourth has half
/// of it on the next node.
pub(crate) fn mixed(count: usize, nodes: usize) -> Vec<Demand> {
    let programs = [
        (1.62, MissCurve::parametric(12.0, 109.4, 2.52), 7.51, 0.25, 1600.0),
        (0.52, MissCurve::parametric(11.0, 17.4, 3.92), 6.78, 0.8, 410.0),
        (0.8, MissCurve::parametric(0.03, 0.3, 0.4), 1.5, 0.2, 3.0),
        (0.617, MissCurve::parametric(16.0, 3.55, 4.5), 5.9, 0.35, 680.0),
        (1.1, MissCurve::parametric(0.0, 29.5, 8.9), 3.53, 0.35, 150.0),
        (0.66, MissCurve::parametric(10.9, 24.9, 6.77), 4.69, 0.2, 440.0),
        (0.65, MissCurve::parametric(0.08, 0.3, 0.5), 2.0, 0.3, 46.0),
        (0.95, MissCurve::parametric(0.02, 0.88, 6.0), 1.5, 0.3, 30.0),
    ];
    let thread = |index: usize| {
        let (node, (cpi, curve, mlp, write_back, mib)) = (index % nodes, programs[index % programs.len()].clone());
        let mut one = devil(at(node), node, nodes);
        if index % 4 == 3 && nodes > 1 {
            (one.weights[node], one.weights[(node + 1) % nodes]) = (0.5, 0.5);
        }
        Demand { compute: cpi / 2.5e9, curve, mlp, write_back, footprint: mib * MIB, ..one }
    };
    (0..count).map(thread).collect()
}
