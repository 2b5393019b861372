//! What a policy sees: the counts of one interval. Derived from two samples by one pure function, [`Observation::between`],
//! whichever machine they come from. It holds only what a sensor can know; what was not measured is `None`.

use crate::cpuset::CpuSet;
use crate::ids::{CpuId, Pid, Tid};
use crate::maps::{NodeMap, NodeMatrix};
use crate::num;
use crate::sample::{Count, ProcessSample, Sample, ThreadSample};
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
    /// Whether a plan bound it to the CPU that it is on; `Some(false)`: the kernel's scheduler may move it any time.
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
    /// A thread of which nothing but its id is known: not measured, not on any CPU, and free to run anywhere.
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

    /// LLC misses per 1000 instructions; `None` where either was not measured or nothing was executed.
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
    /// The interval between two samples of one machine.
    ///
    /// A counter is differenced only within one object: same pid and start time, same tid and start time. What is new in
    /// `next`, or whose counter ran backwards, is "not measured". An event that had its hardware counter for a part of the
    /// time is scaled by enabled over running time; one that was enabled and never ran is "not measured"; one whose thread
    /// never ran counts 0. Threads and processes that ended are left out.
    #[must_use]
    pub fn between(prev: &Sample, next: &Sample) -> Self {
        let interval = Seconds((next.time.0 - prev.time.0).max(0.0));
        let mut before = prev.processes.iter().peekable();
        let processes = next.processes.iter().map(|process| {
            while before.next_if(|old| old.pid < process.pid).is_some() {}
            let old = before.next_if(|old| old.pid == process.pid).filter(|old| old.start == process.start);
            derive_process(old, process, interval)
        });
        let processes = processes.collect();
        Self {
            time: next.time,
            interval,
            machine: Arc::clone(&next.topology),
            free: next.free.clone(),
            latency: next.latency.clone(),
            latency_cycles: next.latency_cycles.clone(),
            processes,
        }
    }

    /// Every thread with its process, ascending by pid, then tid.
    pub fn threads(&self) -> impl Iterator<Item = (&Process, &Thread)> {
        self.processes.iter().flat_map(|process| process.threads.iter().map(move |thread| (process, thread)))
    }
}

fn derive_process(old: Option<&ProcessSample>, new: &ProcessSample, interval: Seconds) -> Process {
    let mut before = old.map_or(&[][..], |old| &old.threads).iter().peekable();
    let threads = new.threads.iter().map(|thread| {
        while before.next_if(|old| old.tid < thread.tid).is_some() {}
        let old = before.next_if(|old| old.tid == thread.tid).filter(|old| old.start == thread.start);
        derive_thread(old, thread, interval)
    });
    let threads = threads.collect();
    Process {
        pid: new.pid,
        name: Arc::clone(&new.name),
        pages: new.pages.clone(),
        accessed_pages: new.accessed_pages.clone(),
        numa_penalty: None,
        cache_class: None,
        critical_ways: None,
        slowdown_by_ways: None,
        threads,
    }
}

fn derive_thread(old: Option<&ThreadSample>, new: &ThreadSample, interval: Seconds) -> Thread {
    let counted = |read: fn(&ThreadSample) -> Option<Count>| read(new)?.since(read(old?)?);
    let cpu_time = || Some(Seconds(new.cpu_time?.0 - old?.cpu_time?.0)).filter(|time| time.0 >= 0.0);
    let bytes = counted(|thread| thread.counters.bytes);
    Thread {
        tid: new.tid,
        cpu: new.cpu,
        allowed_cpus: new.allowed.clone(),
        pinned: new.pinned,
        bound: new.bound,
        cpu_time: cpu_time(),
        instructions: counted(|thread| thread.counters.instructions),
        cycles: counted(|thread| thread.counters.cycles),
        llc_references: counted(|thread| thread.counters.llc_references),
        llc_misses: counted(|thread| thread.counters.llc_misses),
        bandwidth: bytes.filter(|_| interval.0 > 0.0).map(|bytes| Bandwidth(num::float(bytes) / interval.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::Capabilities;
    use crate::sample::Counters;
    use crate::topology::synthetic::synthetic;

    fn thread(tid: u32, start: u64, misses: Option<Count>) -> ThreadSample {
        let counters = Counters { llc_misses: misses, instructions: misses, ..Counters::default() };
        ThreadSample {
            tid: Tid(tid),
            start,
            cpu: None,
            allowed: None,
            pinned: false,
            bound: None,
            cpu_time: None,
            counters,
        }
    }

    fn sample(time: f64, start: u64, threads: Vec<ThreadSample>) -> Sample {
        let process =
            ProcessSample { pid: Pid(1), start, name: "a".into(), pages: None, accessed_pages: None, threads };
        Sample {
            time: Seconds(time),
            topology: Arc::new(synthetic("node:1 core:2").unwrap()),
            free: NodeMap::default(),
            latency: None,
            latency_cycles: None,
            processes: vec![process],
            capabilities: Arc::new(Capabilities::default()),
        }
    }

    fn misses(prev: Vec<ThreadSample>, next: Vec<ThreadSample>) -> Vec<Option<u64>> {
        let seen = Observation::between(&sample(1.0, 7, prev), &sample(2.0, 7, next));
        seen.threads().map(|(_, thread)| thread.llc_misses).collect()
    }

    #[test]
    fn a_multiplexed_counter_is_scaled() {
        // 300 events in 25 of 100 ns: 1200 in all.
        let old = Count { value: 100, enabled: 1000, running: 1000 };
        let new = Count { value: 400, enabled: 1100, running: 1025 };
        assert_eq!(misses(vec![thread(1, 5, Some(old))], vec![thread(1, 5, Some(new))]), [Some(1200)]);
    }

    #[test]
    fn enabled_but_never_on_a_counter_is_not_measured_and_a_sleeper_counts_zero() {
        let old = Count { value: 100, enabled: 1000, running: 1000 };
        let starved = Count { enabled: 1100, ..old };
        assert_eq!(misses(vec![thread(1, 5, Some(old))], vec![thread(1, 5, Some(starved))]), [None]);
        assert_eq!(misses(vec![thread(1, 5, Some(old))], vec![thread(1, 5, Some(old))]), [Some(0)]);
    }

    #[test]
    fn counters_of_another_object_are_never_differenced() {
        let (old, new) = (Count::whole(100, 10), Count::whole(400, 20));
        assert_eq!(misses(vec![thread(1, 5, Some(old))], vec![thread(1, 6, Some(new))]), [None]);
        assert_eq!(misses(vec![], vec![thread(1, 5, Some(new))]), [None]);
        assert_eq!(misses(vec![thread(1, 5, Some(new))], vec![thread(1, 5, Some(old))]), [None]);
        let prev = sample(1.0, 7, vec![thread(1, 5, Some(old))]);
        let next = sample(2.0, 8, vec![thread(1, 5, Some(new))]);
        let reused = Observation::between(&prev, &next);
        assert_eq!(reused.processes[0].threads[0].llc_misses, None);
    }

    #[test]
    fn threads_come_and_go() {
        let at = |value| Some(Count::whole(value, value));
        let prev = vec![thread(1, 5, at(10)), thread(3, 5, at(10))];
        let next = vec![thread(2, 5, at(10)), thread(3, 5, at(15)), thread(9, 5, at(1))];
        assert_eq!(misses(prev, next), [None, Some(5), None]);
    }

    #[test]
    fn mpki_needs_instructions() {
        let prev = sample(0.0, 1, vec![thread(1, 5, Some(Count::whole(0, 0)))]);
        let next = sample(1.0, 1, vec![thread(1, 5, Some(Count::whole(8, 9)))]);
        let mut seen = Observation::between(&prev, &next);
        assert_eq!(seen.processes[0].threads[0].mpki(), Some(Mpki(1000.0)));
        seen.processes[0].threads[0].instructions = Some(0);
        assert_eq!(seen.processes[0].threads[0].mpki(), None);
    }
}
