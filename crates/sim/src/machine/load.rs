//! The latency of a memory access under load: the curve that a bandwidth-latency benchmark
//! measures.

use super::MachineSpec;
use isobar_model::{Nanoseconds, NodeId};

impl MachineSpec {
    /// The latency of a read from CPUs of node `from` of memory of node `to`, if only such reads
    /// load the machine and use the fraction `utilisation` of what the memory controllers of `to`
    /// can carry. The links of the route carry the same bytes. `None` for a node that does not
    /// exist, and for a load that would fill a controller or a link of the route.
    ///
    /// The curve is flat to about half of what a node carries, and reaches two to three times the
    /// idle latency at nine tenths, which is about what STREAM reaches.
    #[must_use]
    pub fn latency_under_load(&self, from: NodeId, to: NodeId, utilisation: f64) -> Option<Nanoseconds> {
        let (from, to) = (self.node_position(from)?, self.node_position(to)?);
        let resources = self.memory.resources();
        let bytes = utilisation.max(0.0) * resources[to].capacity;
        let passed = std::iter::once(&to).chain(self.memory.route(to, from));
        let waits = passed.map(|k| {
            let part = bytes / resources[*k].capacity;
            (part < 1.0).then(|| resources[*k].wait(part))
        });
        let waits: Option<f64> = waits.sum();
        Some(Nanoseconds((self.memory.latency()[from][to] + waits?) * 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{find, shipped};

    #[test]
    fn flat_to_half_and_two_to_three_times_near_what_stream_reaches() {
        for name in shipped() {
            let machine = find(name).unwrap();
            for node in machine.nodes() {
                let at = |utilisation| machine.latency_under_load(node, node, utilisation).unwrap().0;
                assert!(at(0.5) <= 1.15 * at(0.0), "{name} {node} {} {}", at(0.0), at(0.5));
                assert!((2.0..=3.0).contains(&(at(0.9) / at(0.0))), "{name} {node} {} {}", at(0.0), at(0.9));
                assert!(machine.latency_under_load(node, node, 1.0).is_none());
            }
        }
    }

    #[test]
    fn a_link_narrower_than_the_controller_fills_first() {
        // Nehalem: 20.48 GB/s per node over a link of 9.376 GB/s. At 0.4 the link carries 8.192
        // GB/s, u = 0.8737, and waits 12 * 0.7634 / 0.1263 = 72.5 ns; the controller waits 10 *
        // 0.16 / 0.6 = 2.7 ns; 90 ns idle.
        let machine = find("nehalem-2x4").unwrap();
        let remote = |load| machine.latency_under_load(NodeId(1), NodeId(0), load);
        assert!((remote(0.4).unwrap().0 - 165.2).abs() < 0.2, "{:?}", remote(0.4));
        assert!(remote(0.6).is_none() && (remote(0.0).unwrap().0 - 90.0).abs() < 1e-9);
        assert!(machine.latency_under_load(NodeId(2), NodeId(0), 0.1).is_none());
    }
}
