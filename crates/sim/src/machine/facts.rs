//! Facts about a machine for reports: its links and its idle latencies.

use super::MachineSpec;
use isobar_model::{Bandwidth, Nanoseconds, NodeId};

/// One direction of a link between neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The node that data comes from.
    pub from: NodeId,
    /// The node that data goes to.
    pub to: NodeId,
    /// The bandwidth sustained in this direction.
    pub bandwidth: Bandwidth,
}

impl MachineSpec {
    /// Both directions of every link that a route of one hop uses, ascending.
    #[must_use]
    pub fn links(&self) -> Vec<Link> {
        let nodes = self.nodes();
        let pairs = nodes.iter().enumerate().flat_map(|from| nodes.iter().enumerate().map(move |to| (from, to)));
        let link = |((a, from), (b, to)): ((usize, &NodeId), (usize, &NodeId))| match self.memory.route(a, b) {
            [only] => {
                Some(Link { from: *from, to: *to, bandwidth: Bandwidth(self.memory.resources()[*only].capacity) })
            }
            _ => None,
        };
        pairs.filter_map(link).collect()
    }

    /// Idle latencies: row = node of the CPU, column = node of the memory, in order of node ids.
    #[must_use]
    pub fn idle_latency(&self) -> Vec<Vec<Nanoseconds>> {
        self.memory.latency().iter().map(|row| row.iter().map(|seconds| Nanoseconds(seconds * 1e9)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::find;

    #[test]
    fn a_square_has_eight_directions() {
        let machine = find("barcelona-4x4").unwrap();
        let links = machine.links();
        assert_eq!(links.len(), 8);
        assert_eq!(links[0], Link { from: NodeId(0), to: NodeId(1), bandwidth: Bandwidth(3.2e9) });
        assert!((machine.idle_latency()[0][3].0 - 190.0).abs() < 1e-9);
    }
}
