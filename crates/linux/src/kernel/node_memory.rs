//! Reads the memory of a node from `/sys/devices/system/node/nodeN/meminfo`. On kernels without
//! NUMA, which have no such folder, `/proc/meminfo` has the figures of the only node.

use super::page_range::base_bytes;
use super::parse::meminfo;
use super::proc_fs::read_text;
use isobar_model::{Bytes, NodeId};
use std::path::Path;

/// The folder in which the kernel describes nodes.
pub const NODES: &str = "/sys/devices/system/node";

/// Memory of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeMemory {
    /// Installed memory.
    pub total: Bytes,
    /// Memory that is not in use.
    pub free: Bytes,
    /// Available memory: free memory, and half of the file pages that were not used for long, which
    /// the kernel drops to make room for a page that moves here (its own `MemAvailable` counts half
    /// of the page cache, too). Without these, a server that has read files for a week would look
    /// full.
    pub available: Bytes,
}

impl NodeMemory {
    /// The memory of a node below `nodes` ([`NODES`]); `None` if the kernel does not report it.
    #[must_use]
    pub fn of(nodes: &Path, node: NodeId) -> Option<Self> {
        Self::parse(&read_text(nodes.join(format!("node{node}/meminfo")))?)
    }

    /// The memory of the whole machine.
    #[must_use]
    pub fn of_machine() -> Option<Self> {
        Self::parse(&read_text("/proc/meminfo")?)
    }

    fn parse(text: &str) -> Option<Self> {
        let (total, free) = (meminfo(text, "MemTotal:")?, meminfo(text, "MemFree:")?);
        let cached = meminfo(text, "Inactive(file):").unwrap_or(Bytes(0));
        Some(Self { total, free, available: Bytes(free.0.saturating_add(cached.0 / 2)) })
    }

    /// Number of base pages that it can take if `reserve` bytes are left available.
    #[must_use]
    pub fn pages_beyond(&self, reserve: Bytes) -> u64 {
        self.available.0.saturating_sub(reserve.0) / base_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kibibytes_become_bytes() {
        let text = "Node 1 MemTotal:       1000 kB\nNode 1 MemFree:         10 kB\nNode 1 MemUsed: 990 kB\n";
        let (total, free) = (Bytes(1_024_000), Bytes(10_240));
        assert_eq!(NodeMemory::parse(text), Some(NodeMemory { total, free, available: free }));
        // 10 KiB free and half of 6 KiB
        let cached = format!("{text}Node 1 Inactive(file): 6 kB\n");
        assert_eq!(NodeMemory::parse(&cached), Some(NodeMemory { total, free, available: Bytes(13 * 1024) }));
        assert_eq!(NodeMemory::parse("Node 1 MemTotal: many kB\n"), None);
        assert_eq!(NodeMemory::parse(""), None);
    }

    #[test]
    fn the_reserve_is_not_filled() {
        let with = |available| NodeMemory { total: Bytes(1 << 40), free: Bytes(0), available: Bytes(available) };
        assert_eq!(with(10 * base_bytes()).pages_beyond(Bytes(7 * base_bytes())), 3);
        assert_eq!(with(10 * base_bytes()).pages_beyond(Bytes(7 * base_bytes() + 1)), 2);
        assert_eq!(with(1).pages_beyond(Bytes(u64::MAX)), 0);
    }

    #[test]
    fn this_machine_has_memory() {
        let machine = NodeMemory::of_machine().unwrap();
        assert!(machine.free < machine.total && machine.free <= machine.available);
        assert_eq!(NodeMemory::of(Path::new("/nowhere"), NodeId(0)), None);
    }
}
