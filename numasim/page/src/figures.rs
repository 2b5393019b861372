//! The contents of the page, as values: the machine (written once) and its counters (written
//! repeatedly). Host and guest use the same types, so the guest reads what the host writes.
//!
//! The fields of a CPU, a thread, a controller and a link are on the page in the order that they
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
    /// whether CPUs are charged for the time that they wait
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

/// The counters of a CPU.
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
    /// references to lines that a CPU of another last-level cache had changed. They count as
    /// misses, by the node of the memory, although the line came from that cache
    pub hitm_remote: u64,
}

/// The counters of a thread, on whatever CPUs it ran, including the kernel on its behalf and
/// interrupts meanwhile. A marked daemon's instructions count here, at `time_scale` times the speed
/// of a program's; its accesses do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct ThreadFigures {
    /// its number in the initial PID namespace; 0: none
    pub tid: u64,
    /// its name when it last began to run, as bytes, padded with zeros
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
    /// those of the instructions that were the kernel's
    pub kernel_instructions: u64,
}

/// Bytes of a thread's name (`TASK_COMM_LEN` of Linux).
pub const NAME_BYTES: usize = 16;

/// Bytes of a cache line, which each miss that memory answers fetches.
const LINE_BYTES: u64 = 64;

impl ThreadFigures {
    /// Its own instructions, without the kernel's.
    #[must_use]
    pub const fn user_instructions(&self) -> u64 {
        self.instructions.saturating_sub(self.kernel_instructions)
    }

    /// Its misses that another last-level cache answered: those that fetched nothing from memory.
    #[must_use]
    pub const fn cache_transfers(&self) -> u64 {
        self.llc_misses.saturating_sub(self.bytes_read / LINE_BYTES)
    }

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
    /// offset of its number in the kernel's description of a thread, in bytes
    pub id: u64,
    /// offset of its name there
    pub name: u64,
}

/// The counters of a memory controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct NodeFigures {
    /// bytes read
    pub bytes_read: u64,
    /// bytes written
    pub bytes_written: u64,
    /// busy
    pub busy_ps: u64,
    /// delay of a miss here now; a level, not a sum
    pub delay_ps: u64,
    /// the most bytes that it can carry per second; not a sum
    pub bytes_per_second: u64,
    /// accesses by CPUs of its own node
    pub from_local: u64,
    /// accesses by CPUs of other nodes
    pub from_remote: u64,
    /// total time that all lines have waited here
    pub waited_ps: u64,
}

/// The counters of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct LinkFigures {
    /// bytes carried
    pub bytes: u64,
    /// busy
    pub busy_ps: u64,
    /// delay of a miss here now; a level, not a sum
    pub delay_ps: u64,
    /// total time that all lines have waited here
    pub waited_ps: u64,
}

/// The figures of a class of service in one last-level cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassFigures {
    /// bytes that it holds there now; a level, not a sum
    pub occupancy: u64,
    /// bytes fetched from memory (the plugin does not count write-backs by class)
    pub total_bytes: u64,
    /// bytes fetched from the memory of the LLC's own node
    pub local_bytes: u64,
}

/// The settings that the guest wants: a class of service for each CPU and for some threads, and a
/// way mask for each class of each last-level cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestSettings {
    /// the number by which the guest will recognise the answer
    pub generation: u64,
    /// by CPU
    pub classes: Vec<usize>,
    /// by thread: those with a class of their own, which their CPU takes on while they run
    pub threads: BTreeMap<u64, usize>,
    /// by last-level cache, then class
    pub masks: Vec<Vec<u64>>,
}
