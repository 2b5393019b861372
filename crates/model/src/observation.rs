//! What a policy sees: the counts of one interval. One pure function, [`Observation::between`],
//! derives them from two samples, whichever machine the samples come from. An observation holds
//! only what a sensor can know; what was not measured is `None`.

use crate::cgroup::Cgroup;
use crate::cpuset::CpuSet;
use crate::flight::PageMove;
use crate::ids::{CpuId, Pid, Tid};
use crate::maps::{NodeMap, NodeMatrix};
use crate::num;
use crate::serial;
use crate::topology::Topology;
use crate::units::{Bandwidth, Bytes, Mpki, Nanoseconds, Pages, Seconds};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One interval of a machine. Processes are ascending by pid, threads by tid; ids are unique.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The end of the interval.
    pub time: Seconds,
    /// Its length, in seconds.
    pub interval: Seconds,
    /// The machine on which it was made.
    pub machine: Arc<Topology>,
    /// Free memory by node.
    pub free: NodeMap<Bytes>,
    /// Memory latency as probed under the load of the interval; row = the CPU's node, column = the
    /// memory's node.
    pub latency: Option<NodeMatrix<Nanoseconds>>,
    /// The same on the idle machine, as far as it is known.
    pub latency_idle: Option<NodeMatrix<Nanoseconds>>,
    /// `latency` in cycles.
    pub latency_cycles: Option<NodeMatrix<f64>>,
    /// The processes.
    pub processes: Vec<Process>,
    /// Page migrations under way at the end of the interval, and those that ended in it, ascending
    /// by number. Migrations of processes that are not managed are included, because copies share
    /// the machine.
    pub page_moves: Vec<PageMove>,
}

/// A process over an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// Its id.
    pub pid: Pid,
    /// Its name.
    pub name: Arc<str>,
    /// Its control group.
    pub cgroup: Option<Arc<Cgroup>>,
    /// Whether another policy decides about it. Such a process counts as load, no action on it is
    /// valid, and its threads are marked `pinned`.
    pub elsewhere: bool,
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

impl Process {
    /// Whether it is a virtual machine: at least one of its threads runs a guest.
    #[must_use]
    pub fn is_vm(&self) -> bool {
        self.threads.iter().any(|thread| thread.vcpu)
    }
}

/// How a program responds to LLC ways (Divide&Content, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheClass {
    /// Neither harms others nor is harmed by them.
    LightSharing,
    /// Misses much, whatever its number of ways.
    Streaming,
    /// Slows down if it has few ways.
    Sensitive,
}

/// A thread over an interval; its counts are those of the interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// Its id.
    pub tid: Tid,
    /// The CPU that it last ran on.
    pub cpu: Option<CpuId>,
    /// The CPUs that it may run on; `None`: any.
    pub allowed_cpus: Option<CpuSet>,
    /// Whether its owner narrowed its affinity: it is observed but not moved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Whether a plan bound it to the CPU that it is on, or to a set that contains this CPU.
    /// `Some(false)`: the kernel's scheduler may move it at any time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<bool>,
    /// Whether it is a virtual CPU: it runs a guest of its process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vcpu: bool,
    /// CPU time in the interval.
    #[serde(rename = "cpu_seconds", skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<Seconds>,
    /// Instructions retired, without the kernel's if the sensor can tell them apart.
    #[serde(default, deserialize_with = "serial::count")]
    pub instructions: Option<u64>,
    /// CPU cycles.
    #[serde(default, deserialize_with = "serial::count")]
    pub cycles: Option<u64>,
    /// LLC references.
    #[serde(default, deserialize_with = "serial::count", skip_serializing_if = "Option::is_none")]
    pub llc_references: Option<u64>,
    /// LLC misses.
    #[serde(default, deserialize_with = "serial::count")]
    pub llc_misses: Option<u64>,
    /// LLC misses that another last-level cache answered and not memory: lines that threads on
    /// several caches use, most of them written by one and then used by another.
    #[serde(default, deserialize_with = "serial::count", skip_serializing_if = "Option::is_none")]
    pub cache_transfers: Option<u64>,
    /// Bytes per second to and from memory.
    pub bandwidth: Option<Bandwidth>,
}

impl Thread {
    /// A thread of which only the id is known: not measured, not on any CPU, and free to run
    /// anywhere.
    #[must_use]
    pub fn unmeasured(tid: Tid) -> Self {
        Self { tid, ..Self::default() }
    }

    /// LLC misses per 1000 instructions; `None` if either was not measured or nothing was executed.
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
    /// The first second of a machine of which nothing else is measured.
    #[must_use]
    pub fn bare(machine: Arc<Topology>, processes: Vec<Process>) -> Self {
        Self {
            time: Seconds(1.0),
            interval: Seconds(1.0),
            machine,
            free: NodeMap::default(),
            latency: None,
            latency_idle: None,
            latency_cycles: None,
            processes,
            page_moves: Vec::new(),
        }
    }

    /// A process by its id.
    #[must_use]
    pub fn process(&self, pid: Pid) -> Option<&Process> {
        self.processes.binary_search_by_key(&pid, |process| process.pid).ok().map(|at| &self.processes[at])
    }

    /// A thread by its id and that of its process.
    #[must_use]
    pub fn thread(&self, pid: Pid, tid: Tid) -> Option<&Thread> {
        let threads = &self.process(pid)?.threads;
        threads.binary_search_by_key(&tid, |thread| thread.tid).ok().map(|at| &threads[at])
    }

    /// The page migrations that are under way, without those that have ended.
    pub fn in_flight(&self) -> impl Iterator<Item = &PageMove> {
        self.page_moves.iter().filter(|flight| !flight.ended)
    }

    /// Every thread with its process, ascending by pid, then tid.
    pub fn threads(&self) -> impl Iterator<Item = (&Process, &Thread)> {
        self.processes.iter().flat_map(|process| process.threads.iter().map(move |thread| (process, thread)))
    }
}
