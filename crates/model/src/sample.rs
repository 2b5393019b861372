//! What the sensors read: raw, cumulative counters, as the kernel gives them. Nothing here is a rate; rates are derived
//! from two samples by [`crate::Observation::between`], live and in replay alike.

use crate::capabilities::Capabilities;
use crate::cpuset::CpuSet;
use crate::ids::{CpuId, Pid, Tid};
use crate::maps::{NodeMap, NodeMatrix};
use crate::num;
use crate::topology::Topology;
use crate::units::{Bytes, Nanoseconds, Pages, Seconds};
use std::sync::Arc;

/// One reading of a machine.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Seconds since the machine was opened, by a clock that never runs backwards.
    pub time: Seconds,
    /// The machine as it is now; the same `Arc` as long as no CPU comes or goes.
    pub topology: Arc<Topology>,
    /// Free memory by node.
    pub free: NodeMap<Bytes>,
    /// Memory latency by node of CPU and node of memory.
    pub latency: Option<NodeMatrix<Nanoseconds>>,
    /// The same in cycles.
    pub latency_cycles: Option<NodeMatrix<f64>>,
    /// Processes, ascending by pid.
    pub processes: Vec<ProcessSample>,
    /// What can be measured here, and why the rest cannot.
    pub capabilities: Arc<Capabilities>,
}

/// One process in a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessSample {
    /// Its id.
    pub pid: Pid,
    /// Start time in the kernel's ticks since boot: with the pid, the identity of the process.
    pub start: u64,
    /// Its name, as the kernel has it (any characters).
    pub name: Arc<str>,
    /// Resident pages by node.
    pub pages: Option<NodeMap<Pages>>,
    /// Pages accessed since the last sample, by node, where a sensor knows.
    pub accessed_pages: Option<NodeMap<Pages>>,
    /// Threads, ascending by tid.
    pub threads: Vec<ThreadSample>,
}

/// One thread in a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadSample {
    /// Its id.
    pub tid: Tid,
    /// Start time in the kernel's ticks since boot.
    pub start: u64,
    /// The CPU that it last ran on.
    pub cpu: Option<CpuId>,
    /// The CPUs that it may run on, before any change of ours: its owner's mask within its cpuset.
    pub allowed: Option<CpuSet>,
    /// Whether its owner narrowed its affinity within its cpuset.
    pub pinned: bool,
    /// Whether the machine holds it on one CPU since it was moved there, so that the kernel's scheduler cannot move it on; `None`
    /// where that is not known.
    pub bound: Option<bool>,
    /// User and system time.
    pub cpu_time: Option<Seconds>,
    /// Event counters.
    pub counters: Counters,
}

/// Event counters of a thread since they were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instructions retired.
    pub instructions: Option<Count>,
    /// CPU cycles.
    pub cycles: Option<Count>,
    /// References to the last-level cache.
    pub llc_references: Option<Count>,
    /// Misses of the last-level cache.
    pub llc_misses: Option<Count>,
    /// Bytes moved to and from memory.
    pub bytes: Option<Count>,
}

/// A raw event count with the time that it covers. An event that shares its hardware counter with others runs for a part
/// of the time in which it is enabled (`perf_event_open(2)`, `PERF_FORMAT_TOTAL_TIME_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Events counted.
    pub value: u64,
    /// Nanoseconds enabled.
    pub enabled: u64,
    /// Nanoseconds on a hardware counter.
    pub running: u64,
}

impl Count {
    /// A count that was measured all the time.
    #[must_use]
    pub const fn whole(value: u64, time_ns: u64) -> Self {
        Self { value, enabled: time_ns, running: time_ns }
    }

    /// Events since an earlier reading of the same counter, scaled up to the time in which it was enabled. `None` where it ran
    /// backwards, or was enabled and never ran; one whose thread never ran counts 0.
    #[must_use]
    pub fn since(self, old: Self) -> Option<u64> {
        let value = self.value.checked_sub(old.value)?;
        let enabled = self.enabled.checked_sub(old.enabled)?;
        let running = self.running.checked_sub(old.running)?;
        match (enabled, running) {
            (0, _) => Some(value),
            (_, 0) => None,
            _ if running >= enabled => Some(value),
            _ => Some(num::round(num::float(value) * num::float(enabled) / num::float(running))),
        }
    }
}
