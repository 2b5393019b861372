//! A machine as written in TOML, with units in the key names. All values are in the guest's time
//! and size: the values of a real machine must be scaled first. This file knows the text;
//! spec_check.rs checks the values.

use crate::cpulist::CpuList;
use crate::error::SpecError;
use serde::{Deserialize, Serialize};

/// A machine.
///
/// ```
/// let text = include_str!("../../machines/small-2x2.toml");
/// let spec = numasim_model::Spec::parse(text, "small-2x2.toml")?;
/// assert_eq!(spec.node.len(), 2);
/// # Ok::<(), numasim_model::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// Guest nanoseconds for each nanosecond of the real machine; informative.
    pub time_scale: f64,
    /// Bytes of the real caches for each byte of these; informative.
    pub cache_scale: f64,
    /// Clock of the guest's CPUs.
    pub clock_mhz: f64,
    /// Cycles that an instruction takes, without the cost of memory accesses.
    #[serde(default = "one")]
    pub cycles_per_instruction: f64,
    /// Bytes of a cache line; always 64.
    #[serde(default = "line")]
    pub line_bytes: u32,
    /// Whether anything is charged beyond instructions. Counters count in either case.
    #[serde(default = "yes")]
    pub delays: bool,
    /// The private cache of each CPU.
    pub private: Private,
    /// The prefetcher of each CPU.
    #[serde(default)]
    pub prefetch: Prefetch,
    /// The limits of what each CPU may have outstanding.
    #[serde(default)]
    pub overlap: Overlap,
    /// The cost of a line that another cache has changed.
    #[serde(default)]
    pub coherence: Coherence,
    /// The TLB of each CPU; `None`: translations cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tlb: Option<Tlb>,
    /// Scales of the queueing delays.
    pub queue: Queue,
    /// Unloaded latencies.
    pub latency: Latency,
    /// NUMA nodes, by id from 0.
    pub node: Vec<Node>,
    /// Last-level caches, by id from 0.
    pub llc: Vec<Llc>,
    /// Links between nodes.
    #[serde(default)]
    pub link: Vec<Link>,
    /// Routes that are not the shortest.
    #[serde(default)]
    pub route: Vec<Route>,
}

/// The private cache of a CPU: its L1 and L2 combined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Private {
    /// Capacity; must be 64 bytes times the ways times a power of two.
    pub size_kib: u32,
    /// Ways of a set.
    pub ways: u32,
    /// The cost of a hit, in addition to the instruction.
    #[serde(default)]
    pub hit_ns: f64,
}

/// The stream prefetcher of a CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prefetch {
    /// Streams that it follows at the same time.
    pub streams: u32,
    /// The divisor of the cost of a miss that continues a stream; 1 turns the prefetcher off.
    pub depth: u32,
}

impl Default for Prefetch {
    fn default() -> Self {
        Self { streams: 8, depth: 8 }
    }
}

/// What each CPU may have outstanding; see flight.rs. Without this table a CPU waits for each miss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overlap {
    /// Misses of the private cache that a CPU may have outstanding; 1: it waits for each.
    pub misses: u32,
    /// Instructions that it may execute beyond an outstanding load.
    pub instructions: u32,
}

impl Default for Overlap {
    fn default() -> Self {
        Self { misses: 1, instructions: 128 }
    }
}

impl Overlap {
    /// Nehalem's: 10 line fill buffers and a reorder buffer of 128 (Intel 64 optimization manual,
    /// sections on Nehalem); Sandy Bridge to Skylake have 10 to 12 and 168 to 224. Neither is
    /// scaled, because a scaled machine keeps its latencies in cycles.
    pub const NEHALEM: Self = Self { misses: 10, instructions: 128 };
}

/// Coherence: which copies a store invalidates, and the cost of a line that another cache has
/// changed; see coherence.rs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Coherence {
    /// Whether coherence is modelled.
    pub modelled: bool,
    /// Cost of a line that a CPU of the same LLC has changed; `None`: [`LOCAL_OF_HIT`] times the
    /// LLC's hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_ns: Option<f64>,
    /// Cost of a line that a CPU of another LLC has changed, by
    /// `[node of the reader][node of the writer]`; `None`: the cost of an LLC miss to the writer's
    /// node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_ns: Option<Vec<Vec<f64>>>,
}

/// 75 versus 38 cycles on Nehalem (Molka et al., PACT 2009, who also find that a line that the
/// other socket has changed is as slow as its memory: 102 to 109 versus 106 ns).
pub const LOCAL_OF_HIT: f64 = 2.0;

impl Default for Coherence {
    fn default() -> Self {
        Self { modelled: true, local_ns: None, remote_ns: None }
    }
}

/// The TLB of each CPU; see tlb.rs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tlb {
    /// Number of translations that it holds; must be the ways times a power of two. Pages are not
    /// scaled, so a machine whose caches are smaller by a factor has fewer entries by the same
    /// factor.
    pub entries: u32,
    /// Ways of a set.
    pub ways: u32,
    /// The cost of a page walk.
    pub walk_ns: f64,
}

/// The scale `q` of the queueing delay `q u^2 / (1 - u)` at utilisation `u`; see queue.rs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// For the memory controllers.
    pub controller_ns: f64,
    /// For each direction of a link.
    pub link_ns: f64,
}

/// The cost of an LLC miss on an idle machine, everything included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// `[node of the CPU][node of the memory]`.
    pub ns: Vec<Vec<f64>>,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Number.
    pub id: u32,
    /// Its CPUs; empty: a node with memory only.
    #[serde(default)]
    pub cpus: CpuList,
    /// Its memory, which begins where that of the previous node ends.
    pub memory_mib: u32,
    /// The bandwidth that its controllers sustain, in 10^6 bytes per second of guest time.
    pub mb_per_s: f64,
    /// The measured cost of an LLC miss of its own CPUs under load: `[10^6 bytes a second, ns]`,
    /// both ascending. It replaces the law of `queue.controller_ns` (curve.rs).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<[f64; 2]>,
}

/// A last-level cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Llc {
    /// Number.
    pub id: u32,
    /// The CPUs that share it.
    pub cpus: CpuList,
    /// Capacity; must be a multiple of 64 bytes times the ways.
    pub size_kib: u32,
    /// Ways of a set.
    pub ways: u32,
    /// Classes of service (`num_closids` of resctrl).
    #[serde(default = "sixteen")]
    pub clos: u32,
    /// The cost of a hit.
    pub hit_ns: f64,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// One end.
    pub a: u32,
    /// The other end.
    pub b: u32,
    /// Capacity of each direction, in 10^6 bytes per second of guest time.
    pub mb_per_s_each_way: f64,
}

/// The path that data takes from one node to another, if it is not the shortest. It does not
/// determine the way back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The node that has the data.
    pub from: u32,
    /// The node that the data goes to.
    pub to: u32,
    /// The nodes in between, in order.
    #[serde(default)]
    pub via: Vec<u32>,
}

const fn one() -> f64 {
    1.0
}

const fn line() -> u32 {
    64
}

const fn yes() -> bool {
    true
}

const fn sixteen() -> u32 {
    16
}

impl Spec {
    /// The text that [`Spec::parse`] reads.
    ///
    /// # Errors
    /// The name cannot be written in TOML.
    pub fn to_toml(&self) -> Result<String, SpecError> {
        toml::to_string(self).map_err(|error| SpecError::value(&self.name, "name", error.to_string()))
    }

    /// Number of CPUs; they are numbered from 0.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.node.iter().map(|node| node.cpus.as_slice().len()).sum()
    }

    /// The node of a CPU.
    #[must_use]
    pub fn node_of(&self, cpu: usize) -> Option<usize> {
        self.node.iter().position(|node| node.cpus.as_slice().contains(&cpu))
    }

    /// The last-level cache of a CPU.
    #[must_use]
    pub fn llc_of(&self, cpu: usize) -> Option<usize> {
        self.llc.iter().position(|llc| llc.cpus.as_slice().contains(&cpu))
    }

    /// Guest time that an instruction takes without the cost of memory accesses, in picoseconds.
    #[must_use]
    pub fn instruction_ps(&self) -> f64 {
        1e6 * self.cycles_per_instruction / self.clock_mhz
    }

    /// The clock in whole kHz, at least 1: the frequency of the guest's time-stamp counter.
    #[must_use]
    pub fn clock_khz(&self) -> u64 {
        crate::num::round(self.clock_mhz * 1e3).max(1)
    }

    /// Memory of each node as `(first MiB, MiB)`, not counting holes.
    #[must_use]
    pub fn memory(&self) -> Vec<(u32, u32)> {
        let place = |next: &mut u32, node: &Node| {
            let start = *next;
            *next = start.saturating_add(node.memory_mib);
            Some((start, node.memory_mib))
        };
        self.node.iter().scan(0, place).collect()
    }

    /// Where the memory below 4 GiB ends, in MiB, as in QEMU's q35 machine (`pc_q35_init` in
    /// hw/i386/pc_q35.c: 0x80000000 with 0xb0000000 bytes of memory or more, otherwise 0xb0000000).
    #[must_use]
    pub fn hole_start_mib(&self) -> u32 {
        let all = self.memory().last().map_or(0, |(start, size)| start.saturating_add(*size));
        if all >= Q35_ALL_BELOW { Q35_SPLIT } else { Q35_ALL_BELOW }
    }
}

/// With less memory than this, in MiB, q35 puts all of it below 4 GiB.
const Q35_ALL_BELOW: u32 = 2816;
/// The memory, in MiB, that q35 puts below 4 GiB if there is more.
const Q35_SPLIT: u32 = 2048;
