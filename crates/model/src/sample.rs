//! What the sensors read: raw, cumulative counters, as the kernel gives them. Nothing here is a
//! rate. [`crate::Observation::between`] derives rates from two samples, live and in replay alike.

use crate::capabilities::Capabilities;
use crate::cgroup::Cgroup;
use crate::count::Counters;
use crate::cpuset::CpuSet;
use crate::flight::PageMove;
use crate::ids::{CpuId, Pid, Tid};
use crate::indirect::Indirect;
use crate::maps::{NodeMap, NodeMatrix};
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
    /// Memory latency by node of CPU and node of memory, as probed since the last sample, under
    /// whatever load there was.
    pub latency: Option<NodeMatrix<Nanoseconds>>,
    /// The same on the idle machine, as far as it is known.
    pub latency_idle: Option<NodeMatrix<Nanoseconds>>,
    /// `latency` in cycles of the clock that the papers count in.
    pub latency_cycles: Option<NodeMatrix<f64>>,
    /// Processes, ascending by pid.
    pub processes: Vec<ProcessSample>,
    /// Page migrations under way, and those that ended since the last sample, ascending by number.
    pub page_moves: Vec<PageMove>,
    /// Counts that are not a thread's own.
    pub indirect: Indirect,
    /// What can be measured here, and why the rest cannot.
    pub capabilities: Arc<Capabilities>,
}

impl Sample {
    /// A reading of a machine of which nothing else is measured.
    #[must_use]
    pub fn bare(time: Seconds, topology: Arc<Topology>, processes: Vec<ProcessSample>) -> Self {
        Self {
            time,
            topology,
            free: NodeMap::default(),
            latency: None,
            latency_idle: None,
            latency_cycles: None,
            processes,
            page_moves: Vec::new(),
            indirect: Indirect::default(),
            capabilities: Arc::default(),
        }
    }
}

/// One process in a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessSample {
    /// Its id.
    pub pid: Pid,
    /// Start time in the kernel's ticks since boot: with the pid, the identity of the process.
    pub start: u64,
    /// Its name, as the kernel has it (any characters).
    pub name: Arc<str>,
    /// Its control group, if a sensor reports it; the same `Arc` as long as the process stays in
    /// it.
    pub cgroup: Option<Arc<Cgroup>>,
    /// Resident pages by node.
    pub pages: Option<NodeMap<Pages>>,
    /// Pages accessed since the last sample, by node, if a sensor reports them.
    pub accessed_pages: Option<NodeMap<Pages>>,
    /// Threads, ascending by tid.
    pub threads: Vec<ThreadSample>,
}

/// One thread in a sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadSample {
    /// Its id.
    pub tid: Tid,
    /// Start time in the kernel's ticks since boot.
    pub start: u64,
    /// The CPU that it last ran on.
    pub cpu: Option<CpuId>,
    /// The CPUs that it may run on, before any change by isobar: its owner's mask within its
    /// cpuset.
    pub allowed: Option<CpuSet>,
    /// Whether its owner narrowed its affinity within its cpuset.
    pub pinned: bool,
    /// Whether the machine holds it on the CPU to which it was moved, or on a set that contains
    /// this CPU, so that the kernel's scheduler cannot move it away; `None` if that is not known.
    pub bound: Option<bool>,
    /// Whether it is a virtual CPU: it runs a guest of its process.
    pub vcpu: bool,
    /// User and system time.
    pub cpu_time: Option<Seconds>,
    /// Event counters.
    pub counters: Counters,
}
