//! The contents of the page, as values: the machine (once), and its counters (again and again).
//! Host and guest use the same types, so that what the one writes is what the other reads.
//!
//! The fields of a CPU, a thread, a controller and a link stand on the page in the order that they
//! have here (row.rs). Counters are cumulative since modelling began, or since they were last
//! zeroed. Times in picoseconds of guest time end in `_ps`.

use crate::layout::MISS_NODES;
use serde::Serialize;
use std::collections::BTreeMap;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// classes of service of each last-level cache
    pub classes: usize,
    /// clock of a guest CPU, in kHz
    pub clock_khz: u64,
    /// length of a window of guest time, in nanoseconds
    pub window_ns: u64,
    /// bytes of a cache line
    pub line_bytes: u64,
    /// whether CPUs are charged for what they wait
    pub delays: bool,
    /// the last-level caches
    pub llcs: Vec<LlcFigures>,
    /// capacity of each memory controller, in bytes a second
    pub nodes: Vec<u64>,
    /// where each CPU is
    pub cpus: Vec<Place>,
}

/// A last-level cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LlcFigures {
    /// its ways
    pub ways: u32,
    /// its bytes
    pub bytes: u64,
}

/// Where a CPU is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// its node
    pub node: usize,
    /// its last-level cache
    pub llc: usize,
}

impl LlcFigures {
    /// The mask of all ways.
    #[must_use]
    pub const fn full_mask(&self) -> u64 {
        if self.ways >= 64 { u64::MAX } else { (1 << self.ways) - 1 }
    }
}

/// All counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// guest time, in nanoseconds
    pub time_ns: u64,
    /// whether modelling has started
    pub modelling: bool,
    /// by CPU
    pub cpus: Vec<CpuFigures>,
    /// by memory node
    pub nodes: Vec<NodeFigures>,
    /// by directed link: node from, node to
    pub links: BTreeMap<(usize, usize), LinkFigures>,
    /// by last-level cache, then class of service
    pub classes: Vec<Vec<ClassFigures>>,
}

/// What a CPU did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct CpuFigures {
    /// instructions executed, without those of marked daemons
    pub instructions: u64,
    /// cycles in which it was busy, stalls included
    pub cycles: u64,
    /// references to its last-level cache
    pub llc_references: u64,
    /// misses of its last-level cache
    pub llc_misses: u64,
    /// misses by node of the memory
    pub misses_by_node: [u64; MISS_NODES],
    /// bytes that its misses fetched
    pub bytes_read: u64,
    /// bytes that its misses wrote back
    pub bytes_written: u64,
    /// waiting for memory
    pub stall_ps: u64,
    /// busy, stalls included
    pub busy_ps: u64,
    /// misses that a stream of the prefetcher covered
    pub covered: u64,
    /// loads and stores
    pub accesses: u64,
    /// references to lines that a CPU of the same last-level cache had changed: hits
    pub hitm_local: u64,
    /// references to lines that a CPU of another last-level cache had changed: misses, by the
    /// node of the memory, though the line came from that cache
    pub hitm_remote: u64,
}

/// What a thread did, on whatever CPUs, the kernel on its behalf and interrupts meanwhile included.
/// A marked daemon's instructions count here, in which it is `time_scale` times as fast as a
/// program; its accesses do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct ThreadFigures {
    /// its number in the initial PID namespace; 0: none
    pub tid: u64,
    /// its name when it last began to run: bytes, the rest zero
    pub name: [u8; NAME_BYTES],
    /// instructions executed
    pub instructions: u64,
    /// cycles in which it ran, stalls included
    pub cycles: u64,
    /// references to last-level caches
    pub llc_references: u64,
    /// misses of last-level caches
    pub llc_misses: u64,
    /// bytes that its misses fetched
    pub bytes_read: u64,
    /// bytes that its misses wrote back
    pub bytes_written: u64,
    /// waiting for memory
    pub stall_ps: u64,
}

/// Bytes of a thread's name (`TASK_COMM_LEN` of Linux).
pub const NAME_BYTES: usize = 16;

impl ThreadFigures {
    /// Its name as text.
    #[must_use]
    pub fn name(&self) -> String {
        let length = self.name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        String::from_utf8_lossy(&self.name[..length]).into_owned()
    }
}

/// How the guest's kernel switches threads, which the guest writes for the plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// address of the function that is called with the next thread as its second argument
    pub address: u64,
    /// where in the kernel's description of a thread its number is, in bytes
    pub id: u64,
    /// where its name is
    pub name: u64,
}

/// What a memory controller carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct NodeFigures {
    /// bytes read
    pub bytes_read: u64,
    /// bytes written
    pub bytes_written: u64,
    /// busy
    pub busy_ps: u64,
    /// what a miss waits here now; a level, no sum
    pub delay_ps: u64,
    /// bytes that it carries in a second at most; no sum
    pub bytes_per_second: u64,
    /// accesses by CPUs of its own node
    pub from_local: u64,
    /// accesses by CPUs of other nodes
    pub from_remote: u64,
    /// what all lines together have waited here
    pub waited_ps: u64,
}

/// What one direction of a link carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct LinkFigures {
    /// bytes carried
    pub bytes: u64,
    /// busy
    pub busy_ps: u64,
    /// what a miss waits here now; a level, no sum
    pub delay_ps: u64,
    /// what all lines together have waited here
    pub waited_ps: u64,
}

/// What a class of service has and moved in one last-level cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassFigures {
    /// bytes that it holds there now; a level, no sum
    pub occupancy: u64,
    /// bytes to and from memory
    pub total_bytes: u64,
    /// those to and from the memory of the LLC's own node
    pub local_bytes: u64,
}

/// What the guest wants: a class of service for each CPU and for some threads, and a way mask for
/// each class of each last-level cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// the number under which the guest will look for it
    pub generation: u64,
    /// by CPU
    pub classes: Vec<usize>,
    /// by thread: those that have a class of their own, which their CPU has while they run
    pub threads: BTreeMap<u64, usize>,
    /// by last-level cache, then class
    pub masks: Vec<Vec<u64>>,
}
