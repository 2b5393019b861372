//! Reads free memory by node.

use crate::kernel::node_memory::{NODES, NodeMemory};
use isobar_model::{Bytes, NodeId, NodeMap, Topology};
use std::path::Path;

/// Free memory of every node of the machine; a node whose file cannot be read is left out.
#[must_use]
pub fn free_by_node(topology: &Topology) -> NodeMap<Bytes> {
    let nodes = topology.nodes().iter().map(|node| node.id);
    nodes.filter_map(|node| Some((node, free_of(node, topology.nodes().len())?))).collect()
}

fn free_of(node: NodeId, nodes: usize) -> Option<Bytes> {
    let of_node = NodeMemory::of(Path::new(NODES), node);
    let memory = of_node.or_else(|| (nodes == 1).then(NodeMemory::of_machine).flatten())?;
    Some(memory.free)
}
