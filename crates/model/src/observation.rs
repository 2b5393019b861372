//! What a policy sees: the counts of one interval. Derived from two samples by one pure function,
//! [`Observation::between`], whichever machine they come from. It holds only what a sensor can
//! know; what was not measured is `None`.

use crate::cpuset::CpuSet;
use crate::ids::{CpuId, Pid, Tid};
use crate::maps::{NodeMap, NodeMatrix};
use crate::num;
use crate::topology::Topology;
use crate::units::{Bandwidth, Bytes, Mpki, Nanoseconds, Pages, Seconds};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One interval of a machine. Processes are ascending by pid, threads by tid; ids are unique.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The end of the interval.
    pub time: Seconds,
    /// Its length.
    pub interval: Seconds,
    /// The machine.
    pub machine: Arc<Topology>,
    /// Free memory by node.
    pub free: NodeMap<Bytes>,
    /// Memory latency; row = the CPU's node, column = the memory's node.
    pub latency: Option<NodeMatrix<Nanoseconds>>,
    /// The same in cycles.
    pub latency_cycles: Option<NodeMatrix<f64>>,
    /// The processes.
    pub processes: Vec<Process>,
}

/// A process over an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Its id.
    pub pid: Pid,
    /// Its name.
    pub name: Arc<str>,
    /// Resident pages by node at the end of the interval.
    pub pages: Option<NodeMap<Pages>>,
    /// Pages accessed in the interval, by node.
    pub accessed_pages: Option<NodeMap<Pages>>,
    /// NUMA penalty from a profile: CPI remote over CPI local.
    pub numa_penalty: Option<f64>,
    /// Cache class from a profile or from sampling (LFOC+).
    pub cache_class: Option<CacheClass>,
    /// Fewest ways with a slowdown below 5 % (LFOC+).
    pub critical_ways: Option<u32>,
    /// Slowdown with 1, 2, ... ways.
    pub slowdown_by_ways: Option<Vec<f64>>,
    /// Its threads.
    pub threads: Vec<Thread>,
}

/// How a program answers to LLC ways (Divide&Content, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheClass {
    /// Neither hurts nor is hurt.
    LightSharing,
    /// Misses much, whatever its ways.
    Streaming,
    /// Slows down when it has few ways.
    Sensitive,
}

/// A thread over an interval; counts are of the interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// Its id.
    pub tid: Tid,
    /// The CPU that it last ran on.
    pub cpu: Option<CpuId>,
    /// The CPUs that it may run on; `None` = any.
    pub allowed_cpus: Option<CpuSet>,
    /// Whether its owner narrowed its affinity: it is seen, and not moved.
    pub pinned: bool,
    /// Whether a plan bound it to the CPU that it is on; `Some(false)`: the kernel's scheduler may
    /// move it any time.
    pub bound: Option<bool>,
    /// CPU time in the interval.
    pub cpu_time: Option<Seconds>,
    /// Instructions retired.
    pub instructions: Option<u64>,
    /// CPU cycles.
    pub cycles: Option<u64>,
    /// LLC references.
    pub llc_references: Option<u64>,
    /// LLC misses.
    pub llc_misses: Option<u64>,
    /// Bytes a second to and from memory.
    pub bandwidth: Option<Bandwidth>,
}

impl Thread {
    /// A thread of which nothing but its id is known: not measured, not on any CPU, and free to run
    /// anywhere.
    #[must_use]
    pub const fn unmeasured(tid: Tid) -> Self {
        Self {
            tid,
            cpu: None,
            allowed_cpus: None,
            pinned: false,
            bound: None,
            cpu_time: None,
            instructions: None,
            cycles: None,
            llc_references: None,
            llc_misses: None,
            bandwidth: None,
        }
    }

    /// LLC misses per 1000 instructions; `None` where either was not measured or nothing was
    /// executed.
    #[must_use]
    pub fn mpki(&self) -> Option<Mpki> {
        match (self.llc_misses, self.instructions) {
            (Some(misses), Some(instructions)) if instructions > 0 => {
                Some(Mpki(num::float(misses) * 1000.0 / num::float(instructions)))
            }
            _ => None,
        }
    }

    /// Whether the thread may run on a CPU, as far as is known.
    #[must_use]
    pub fn may_run_on(&self, cpu: CpuId) -> bool {
        self.allowed_cpus.as_ref().is_none_or(|allowed| allowed.contains(cpu))
    }
}

impl Observation {
    /// Every thread with its process, ascending by pid, then tid.
    pub fn threads(&self) -> impl Iterator<Item = (&Process, &Thread)> {
        self.processes.iter().flat_map(|process| process.threads.iter().map(move |thread| (process, thread)))
    }
}
