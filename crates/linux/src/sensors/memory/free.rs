//! Free memory by node, from `/sys/devices/system/node/nodeN/meminfo`; on kernels without NUMA, where there is no such
//! folder, `/proc/meminfo` speaks for the only node.

use crate::kernel::proc_fs::read_text;
use isobar_model::{Bytes, NodeId, NodeMap, Topology};

/// Free memory of every node of the machine; a node whose file cannot be read is left out.
#[must_use]
pub fn free_by_node(topology: &Topology) -> NodeMap<Bytes> {
    let nodes = topology.nodes().iter().map(|node| node.id);
    nodes.filter_map(|node| Some((node, free_of(node, topology.nodes().len())?))).collect()
}

fn free_of(node: NodeId, nodes: usize) -> Option<Bytes> {
    let of_node = read_text(&format!("/sys/devices/system/node/node{node}/meminfo"));
    let text = of_node.or_else(|| if nodes == 1 { read_text("/proc/meminfo") } else { None })?;
    mem_free(&text)
}

/// The `MemFree` line of a node's meminfo (`Node 0 MemFree:  123 kB`) or of `/proc/meminfo` (`MemFree:  123 kB`).
#[must_use]
pub fn mem_free(text: &str) -> Option<Bytes> {
    let value = text.lines().find_map(|line| line.split_once("MemFree:").map(|(_, value)| value))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_forms_are_read() {
        let node = "Node 0 MemTotal:        8743116 kB\nNode 0 MemFree:         7545856 kB\n";
        assert_eq!(mem_free(node), Some(Bytes(7_545_856 * 1024)));
        assert_eq!(mem_free("MemTotal: 9 kB\nMemFree:          0 kB\n"), Some(Bytes(0)));
        assert_eq!(mem_free("MemTotal: 9 kB\n"), None);
        assert_eq!(mem_free("MemFree: -3 kB\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(MemFree:)?[0-9 kB\n\\PC]{0,40}") {
            let _ = mem_free(&text);
        }
    }
}
