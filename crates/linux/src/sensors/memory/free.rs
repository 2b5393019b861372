//! Reads free memory by node, from `/sys/devices/system/node/nodeN/meminfo`. On kernels without
//! NUMA, which have no such folder, `/proc/meminfo` has the figures of the only node.

use crate::kernel::parse;
use crate::kernel::proc_fs::read_text;
use isobar_model::{Bytes, NodeId, NodeMap, Topology};

/// Free memory of every node of the machine; a node whose file cannot be read is left out.
#[must_use]
pub fn free_by_node(topology: &Topology) -> NodeMap<Bytes> {
    let nodes = topology.nodes().iter().map(|node| node.id);
    nodes.filter_map(|node| Some((node, free_of(node, topology.nodes().len())?))).collect()
}

fn free_of(node: NodeId, nodes: usize) -> Option<Bytes> {
    let of_node = read_text(format!("/sys/devices/system/node/node{node}/meminfo"));
    let text = of_node.or_else(|| read_text("/proc/meminfo").filter(|_| nodes == 1))?;
    parse::meminfo(&text, "MemFree:")
}
