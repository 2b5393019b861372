//! How much memory a node can take before we fill it: `/sys/devices/system/node/nodeN/meminfo`.

use isobar_model::{Bytes, NodeId};
use std::fs;
use std::path::Path;

/// Memory of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeMemory {
    /// Installed.
    pub total: Bytes,
    /// Free now.
    pub free: Bytes,
}

/// The memory of a node below `nodes` (`/sys/devices/system/node`); `None` where the kernel does not say: then
/// `move_pages(2)` itself refuses what cannot be.
pub fn memory(nodes: &Path, node: NodeId) -> Option<NodeMemory> {
    parse(&fs::read_to_string(nodes.join(format!("node{node}/meminfo"))).ok()?)
}

/// `Node 0 MemFree:         123456 kB`
fn parse(text: &str) -> Option<NodeMemory> {
    let value = |key: &str| {
        let mut rows = text.lines().filter_map(|line| line.split_once(key));
        let kib: u64 = rows.next()?.1.split_ascii_whitespace().next()?.parse().ok()?;
        Some(Bytes(kib.saturating_mul(1024)))
    };
    Some(NodeMemory { total: value("MemTotal:")?, free: value("MemFree:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kibibytes_become_bytes() {
        let text = "Node 1 MemTotal:       1000 kB\nNode 1 MemFree:         10 kB\nNode 1 MemUsed: 990 kB\n";
        assert_eq!(parse(text), Some(NodeMemory { total: Bytes(1_024_000), free: Bytes(10_240) }));
        assert_eq!(parse("Node 1 MemTotal: many kB\n"), None);
        assert_eq!(parse(""), None);
    }
}
