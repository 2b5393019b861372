//! The machine's counters: plain sums since the last reset. Rates are computed elsewhere.

use crate::spec_check::NODES;

/// The counters of a CPU, all cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCounters {
    /// Loads and stores.
    pub accesses: u64,
    /// Accesses that missed the private cache: LLC references. Accesses to addresses that are no
    /// node's memory do not count.
    pub private_misses: u64,
    /// LLC references that hit the LLC.
    pub llc_hits: u64,
    /// LLC references that missed the LLC.
    pub llc_misses: u64,
    /// LLC misses by the node of the memory.
    pub misses_by_node: [u64; NODES],
    /// Bytes that LLC misses fetched.
    pub bytes_read: u64,
    /// Bytes written back to memory: dirty lines that this CPU's misses evicted from a cache, or
    /// that were flushed from its own.
    pub bytes_written: u64,
    /// Picoseconds charged.
    pub stall_ps: u64,
    /// LLC references that a stream covered.
    pub prefetched: u64,
    /// LLC hits on lines that another CPU of the LLC had changed.
    pub hitm_local: u64,
    /// LLC misses on lines that a CPU of another LLC had changed. The lines came from that LLC, not
    /// from the node for which they are counted as misses.
    pub hitm_remote: u64,
    /// Copies in other caches that its stores took away.
    pub invalidated: u64,
}

/// The counters of a memory controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounters {
    /// Bytes read and written; cumulative.
    pub bytes: u64,
    /// Those of them that were read; cumulative. Lines that came from another cache are not among
    /// them.
    pub bytes_read: u64,
    /// Capacity that the bytes took, in picoseconds; cumulative.
    pub busy_ps: u64,
    /// Delay of a miss here now, in picoseconds.
    pub delay_ps: u64,
    /// Total time that all lines have waited here, in picoseconds; cumulative.
    pub waited_ps: u64,
}

/// The counters of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// The node that the data came from.
    pub from: u32,
    /// The node that the data went to.
    pub to: u32,
    /// Bytes; cumulative.
    pub bytes: u64,
    /// Capacity that the bytes took, in picoseconds; cumulative.
    pub busy_ps: u64,
    /// Delay of a miss here now, in picoseconds.
    pub delay_ps: u64,
    /// Total time that all lines have waited here, in picoseconds; cumulative.
    pub waited_ps: u64,
}

/// Lines that a CPU has moved, by the node of the memory; never reset, so that a window is a
/// difference of two values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Fetched at full cost.
    pub plain: [u64; NODES],
    /// Fetched at the reduced cost of lines that a stream covers.
    pub covered: [u64; NODES],
    /// Written back.
    pub written: [u64; NODES],
    /// Written by stores that bypass the caches, and waited for.
    pub around: [u64; NODES],
    /// Fetched from a cache on the node instead of its memory.
    pub passed: [u64; NODES],
}

impl Traffic {
    /// The traffic since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let less = |a: &[u64; NODES], b: &[u64; NODES]| std::array::from_fn(|node| a[node].wrapping_sub(b[node]));
        Self {
            plain: less(&self.plain, &before.plain),
            covered: less(&self.covered, &before.covered),
            written: less(&self.written, &before.written),
            around: less(&self.around, &before.around),
            passed: less(&self.passed, &before.passed),
        }
    }

    /// Lines sent to a node's memory.
    pub fn sent(&self, node: usize) -> u64 {
        self.written[node] + self.around[node]
    }

    /// Lines fetched from a node's memory.
    pub fn read(&self, node: usize) -> u64 {
        self.plain[node] + self.covered[node]
    }
}
