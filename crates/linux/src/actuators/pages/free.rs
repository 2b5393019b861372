//! How much memory a node can take before it is full: `/sys/devices/system/node/nodeN/meminfo`.

use crate::kernel::parse::meminfo;
use isobar_model::{Bytes, NodeId};
use std::fs;
use std::path::Path;

/// Memory of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeMemory {
    /// Installed memory.
    pub total: Bytes,
    /// Available memory: free memory, and half of the file pages that were not used for long, which
    /// the kernel drops to make room for a page that moves here (its own `MemAvailable` counts half
    /// of the page cache, too). Without these, a server that has read files for a week would look
    /// full.
    pub available: Bytes,
}

/// The memory of a node below `nodes` (`/sys/devices/system/node`). `None` if the kernel does not
/// report it: in that case `move_pages(2)` itself refuses what does not fit.
pub fn memory(nodes: &Path, node: NodeId) -> Option<NodeMemory> {
    parse(&fs::read_to_string(nodes.join(format!("node{node}/meminfo"))).ok()?)
}

fn parse(text: &str) -> Option<NodeMemory> {
    let (total, free) = (meminfo(text, "MemTotal:")?, meminfo(text, "MemFree:")?);
    let cached = meminfo(text, "Inactive(file):").unwrap_or(Bytes(0));
    Some(NodeMemory { total, available: Bytes(free.0.saturating_add(cached.0 / 2)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kibibytes_become_bytes() {
        let text = "Node 1 MemTotal:       1000 kB\nNode 1 MemFree:         10 kB\nNode 1 MemUsed: 990 kB\n";
        assert_eq!(parse(text), Some(NodeMemory { total: Bytes(1_024_000), available: Bytes(10_240) }));
        // 10 KiB free and half of 6 KiB
        let cached = format!("{text}Node 1 Inactive(file): 6 kB\n");
        assert_eq!(parse(&cached).map(|memory| memory.available), Some(Bytes(13 * 1024)));
        assert_eq!(parse("Node 1 MemTotal: many kB\n"), None);
        assert_eq!(parse(""), None);
    }
}
