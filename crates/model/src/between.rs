//! The one function that takes differences of counters. Two samples of a machine make the
//! observation of the interval between them, live and in replay alike.

use crate::attribution;
use crate::count::Count;
use crate::num;
use crate::observation::{Observation, Process, Thread};
use crate::sample::{ProcessSample, Sample, ThreadSample};
use crate::units::{Bandwidth, Seconds};
use std::sync::Arc;

impl Observation {
    /// The observation of the interval between two samples of one machine.
    ///
    /// A counter is differenced only within one object: same pid and start time, same tid and start
    /// time. A count is "not measured" if its thread is new in `next` or if the counter ran
    /// backwards. The count of an event that had its hardware counter for a part of the time is
    /// scaled by enabled over running time. An event that was enabled and never ran is "not
    /// measured"; an event whose thread never ran counts 0. Threads and processes that ended are
    /// left out.
    #[must_use]
    pub fn between(prev: &Sample, next: &Sample) -> Self {
        let interval = Seconds((next.time.0 - prev.time.0).max(0.0));
        let before = earlier(prev, next);
        let mut olds = before.iter().copied();
        let mut processes: Vec<Process> =
            next.processes.iter().map(|new| derive_process(&mut olds, new, interval)).collect();
        attribution::fill(&mut processes, &before, prev, next, interval);
        Self {
            time: next.time,
            interval,
            machine: Arc::clone(&next.topology),
            free: next.free.clone(),
            latency: next.latency.clone(),
            latency_idle: next.latency_idle.clone(),
            latency_cycles: next.latency_cycles.clone(),
            processes,
            page_moves: next.page_moves.clone(),
        }
    }
}

/// For each thread of a sample, the same thread in an earlier sample, if it was there. Processes
/// and threads ascend in both, so both are walked once.
fn earlier<'a>(prev: &'a Sample, next: &Sample) -> Vec<Option<&'a ThreadSample>> {
    let mut before = Vec::with_capacity(next.processes.iter().map(|process| process.threads.len()).sum());
    let mut processes = prev.processes.iter().peekable();
    for new in &next.processes {
        while processes.next_if(|old| old.pid < new.pid).is_some() {}
        let old = processes.next_if(|old| old.pid == new.pid).filter(|old| old.start == new.start);
        let mut threads = old.map_or(&[][..], |old| &old.threads).iter().peekable();
        before.extend(new.threads.iter().map(|new| {
            while threads.next_if(|old| old.tid < new.tid).is_some() {}
            threads.next_if(|old| old.tid == new.tid).filter(|old| old.start == new.start)
        }));
    }
    before
}

/// Derives a process. `olds` are the threads in the sample before, from the first thread of this
/// process on.
fn derive_process<'a>(
    olds: &mut impl Iterator<Item = Option<&'a ThreadSample>>,
    new: &ProcessSample,
    interval: Seconds,
) -> Process {
    Process {
        pid: new.pid,
        name: Arc::clone(&new.name),
        cgroup: new.cgroup.clone(),
        pages: new.pages.clone(),
        accessed_pages: new.accessed_pages.clone(),
        threads: new.threads.iter().zip(olds).map(|(new, old)| derive_thread(old, new, interval)).collect(),
        ..Process::default()
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
        vcpu: new.vcpu,
        cpu_time: cpu_time(),
        instructions: counted(|thread| thread.counters.instructions),
        cycles: counted(|thread| thread.counters.cycles),
        llc_references: counted(|thread| thread.counters.llc_references),
        llc_misses: counted(|thread| thread.counters.llc_misses),
        cache_transfers: counted(|thread| thread.counters.cache_transfers),
        bandwidth: bytes.filter(|_| interval.0 > 0.0).map(|bytes| Bandwidth(num::float(bytes) / interval.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::Counters;
    use crate::ids::{Pid, Tid};
    use crate::topology::synthetic::synthetic;
    use crate::units::Mpki;

    fn thread(tid: u32, start: u64, misses: Option<Count>) -> ThreadSample {
        let counters = Counters { llc_misses: misses, instructions: misses, ..Counters::default() };
        ThreadSample { tid: Tid(tid), start, counters, ..ThreadSample::default() }
    }

    fn sample(time: f64, start: u64, threads: Vec<ThreadSample>) -> Sample {
        let process = ProcessSample { pid: Pid(1), start, threads, ..ProcessSample::default() };
        Sample::bare(Seconds(time), Arc::new(synthetic("node:1 core:2").unwrap()), vec![process])
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
