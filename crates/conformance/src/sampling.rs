//! The content of a sample: time, identities, counters, places, pages. Policies work on the
//! difference of two samples, so nothing in a sample may run backwards, change its name or occur
//! twice.

use crate::bench::{Bench, Stage, Subject};
use crate::look::{
    affinities, eventually, held, home, next_sample, nodes, pages_on, pages_seen, process, sample, thread, with_one,
};
use crate::verdict::{Assertion, Checked, Stop, ensure};
use isobar_model::{Count, Counters, NodeMap, Observation, ProcessSample, Sample, Sensor, ThreadSample};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Number of pages that a program may have beyond those that it touches on purpose: its code,
/// libraries and stacks. 64 MiB is more than any subject here has.
const BESIDES: u64 = 16_384;

pub(crate) fn list<B: Bench>() -> Vec<Assertion<B>> {
    vec![
        ("sample: time advances and never goes back", time_advances),
        ("sample: the topology is the machine's, the same from sample to sample", topology_is_the_machines),
        ("sample: processes and threads ascend and none occurs twice", none_occurs_twice),
        ("sample: a process keeps pid, start, name and threads while it lives", identities_are_stable),
        (
            "sample: processes that start appear, those that end disappear, and an observation copes",
            processes_come_and_go,
        ),
        ("sample: counters and CPU time are cumulative and never fall", counters_never_fall),
        ("sample: a busy thread's CPU time grows", busy_threads_use_time),
        ("sample: what is not measured is none, not zero and not nonsense", not_measured_is_none),
        ("sample: a thread's CPU is one that it may use, and the other witness agrees", cpus_are_allowed),
        ("sample: pages lie on the node that they were touched on", pages_lie_where_touched),
        ("sample: free memory is reported for every node and fits into it", free_memory_fits),
    ]
}

fn time_advances<B: Bench>(bench: &B) -> Checked {
    let mut stage = bench.open(&[Subject::busy(1, home(bench)?)])?;
    let mut last = sample(&mut stage)?.time;
    ensure!(last.0.is_finite() && last.0 >= 0.0, "the first sample is of {last}");
    for _ in 0..3 {
        let later = next_sample(&mut stage)?.time;
        ensure!(later > last, "after an epoch it is {later}, and was {last} before");
        let at_once = sample(&mut stage)?.time;
        ensure!(at_once >= later, "time went back from {later} to {at_once}");
        last = at_once;
    }
    Ok(())
}

fn topology_is_the_machines<B: Bench>(bench: &B) -> Checked {
    let expected = bench.topology()?;
    let mut stage = bench.open(&[Subject::busy(1, home(bench)?)])?;
    let first = sample(&mut stage)?.topology;
    ensure!(*first == *expected, "the sample has {first:?}, the machine is {expected:?}");
    let second = next_sample(&mut stage)?.topology;
    ensure!(Arc::ptr_eq(&first, &second), "nothing came or went, and the topology is another object");
    Ok(())
}

fn none_occurs_twice<B: Bench>(bench: &B) -> Checked {
    let home = home(bench)?;
    let mut stage = bench.open(&[Subject::busy(3, home), Subject::busy(1, home), Subject::busy(2, home)])?;
    for _ in 0..3 {
        let sample = next_sample(&mut stage)?;
        let ascend = sample.processes.windows(2).all(|pair| pair[0].pid < pair[1].pid);
        ensure!(ascend, "pids do not ascend");
        for process in &sample.processes {
            let ascend = process.threads.windows(2).all(|pair| pair[0].tid < pair[1].tid);
            ensure!(ascend, "threads of process {} do not ascend", process.pid);
        }
        let tids: Vec<_> = sample.processes.iter().flat_map(|process| &process.threads).map(|t| t.tid).collect();
        let distinct: BTreeSet<_> = tids.iter().collect();
        ensure!(distinct.len() == tids.len(), "a thread is in two processes");
        for subject in 0..3 {
            let who = stage.identity(subject)?;
            who.threads.iter().try_for_each(|tid| thread(&sample, who.pid, *tid).map(drop))?;
        }
    }
    Ok(())
}

fn identities_are_stable<B: Bench>(bench: &B) -> Checked {
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let identity = |process: &ProcessSample| {
        let threads: Vec<_> = process.threads.iter().map(|thread| (thread.tid, thread.start)).collect();
        (process.pid, process.start, Arc::clone(&process.name), threads)
    };
    let first = identity(process(&next_sample(&mut stage)?, who.pid)?);
    for _ in 0..3 {
        let later = identity(process(&next_sample(&mut stage)?, who.pid)?);
        ensure!(later == first, "it was {first:?} and is {later:?}");
    }
    Ok(())
}

fn processes_come_and_go<B: Bench>(bench: &B) -> Checked {
    let mut stage = bench.open(&[Subject::busy(1, home(bench)?), Subject::busy(2, home(bench)?).short()])?;
    next_sample(&mut stage)?;
    let before = next_sample(&mut stage)?;
    let (stays, old) = (stage.identity(0)?, stage.identity(1)?);
    process(&before, old.pid)?;
    stage.replace(1)?;
    let new = stage.identity(1)?;
    ensure!(new.pid != old.pid, "the other subject has the same pid {}", new.pid);
    let after = sample(&mut stage)?;
    ensure!(process(&after, old.pid).is_err(), "process {} has ended and is in the sample still", old.pid);
    process(&after, new.pid)?;
    let seen = Observation::between(&before, &after);
    let of = |pid| seen.processes.iter().find(|process| process.pid == pid);
    ensure!(of(old.pid).is_none(), "the observation holds process {}, which has ended", old.pid);
    ensure!(of(stays.pid).is_some(), "the observation lost process {}, which goes on", stays.pid);
    let fresh = of(new.pid).into_iter().flat_map(|process| &process.threads);
    let counted = fresh.filter(|thread| thread.instructions.is_some() || thread.cpu_time.is_some()).count();
    ensure!(counted == 0, "{counted} threads have counts of an interval that they did not see the start of");
    Ok(())
}

fn counters_never_fall<B: Bench>(bench: &B) -> Checked {
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let mut last = next_sample(&mut stage)?;
    for _ in 0..5 {
        let next = next_sample(&mut stage)?;
        for tid in &who.threads {
            let (old, new) = (thread(&last, who.pid, *tid)?, thread(&next, who.pid, *tid)?);
            let fell = falls(old, new);
            ensure!(fell.is_none(), "{fell:?} of thread {tid} fell: {old:?}, then {new:?}");
        }
        last = next;
    }
    Ok(())
}

/// How one event is read.
type Read = fn(&Counters) -> Option<Count>;

/// The first cumulative figure that has fallen or disappeared, if there is one.
fn falls(old: &ThreadSample, new: &ThreadSample) -> Option<&'static str> {
    let events: [(&str, Read); 6] = [
        ("instructions", |counters| counters.instructions),
        ("cycles", |counters| counters.cycles),
        ("LLC references", |counters| counters.llc_references),
        ("LLC misses", |counters| counters.llc_misses),
        ("transfers between caches", |counters| counters.cache_transfers),
        ("bytes", |counters| counters.bytes),
    ];
    let grown = |old: Count, new: Count| {
        new.value >= old.value && new.enabled >= old.enabled && new.running >= old.running && new.running <= new.enabled
    };
    let fell =
        |read: Read| read(&old.counters).is_some_and(|old| !read(&new.counters).is_some_and(|new| grown(old, new)));
    let time = old.cpu_time.is_some_and(|old| !new.cpu_time.is_some_and(|new| new >= old));
    events.iter().find(|(_, read)| fell(*read)).map(|(name, _)| *name).or(time.then_some("CPU time"))
}

fn busy_threads_use_time<B: Bench>(bench: &B) -> Checked {
    let (mut stage, who) = with_one(bench, Subject::busy(2, home(bench)?))?;
    let first = next_sample(&mut stage)?;
    eventually(&mut stage, "both threads use CPU time", |_, sample| {
        let grew = |tid| {
            let time = |sample: &Sample| thread(sample, who.pid, tid).ok()?.cpu_time;
            Some(time(sample)?.0 > time(&first)?.0)
        };
        who.threads.iter().all(|tid| grew(*tid) == Some(true)).then_some(())
    })
}

fn not_measured_is_none<B: Bench>(bench: &B) -> Checked {
    let mut stage = bench.open(&[Subject::busy(1, home(bench)?)])?;
    next_sample(&mut stage)?;
    let sample = next_sample(&mut stage)?;
    let missing = |sensor| sample.capabilities.missing.contains_key(&sensor);
    let threads = || sample.processes.iter().flat_map(|process| &process.threads);
    let reported = threads().any(|thread| thread.counters.instructions.is_some());
    ensure!(!(missing(Sensor::Instructions) && reported), "instructions are reported that cannot be measured");
    let reported = threads().any(|thread| thread.counters.llc_misses.is_some());
    ensure!(!(missing(Sensor::LlcMisses) && reported), "LLC misses are reported that cannot be measured");
    let reported = sample.processes.iter().any(|process| process.pages.is_some());
    ensure!(!(missing(Sensor::PagesByNode) && reported), "pages are reported that cannot be measured");
    ensure!(missing(Sensor::Latency) == sample.latency.is_none(), "latency is reported, or missing without a word");
    let latencies = sample.latency.iter().flat_map(isobar_model::NodeMatrix::values);
    let sound = latencies.into_iter().all(|latency| latency.0.is_finite() && latency.0 > 0.0);
    ensure!(sound, "a latency is no positive number: {:?}", sample.latency);
    let nodes = |table: &isobar_model::NodeMatrix<_>| table.nodes().to_vec();
    let same = sample.latency_idle.iter().all(|idle| sample.latency.as_ref().map(nodes) == Some(nodes(idle)));
    ensure!(same, "idle latencies are of other nodes than loaded ones: {:?}", sample.latency_idle);
    let cycles = sample.latency_cycles.iter().flat_map(isobar_model::NodeMatrix::values);
    let sound = cycles.into_iter().all(|cycles| cycles.is_finite() && *cycles > 0.0);
    ensure!(sound && (sample.latency_cycles.is_none() || sample.latency.is_some()), "cycles without nanoseconds");
    let sound = threads().filter_map(|thread| thread.cpu_time).all(|time| time.0.is_finite() && time.0 >= 0.0);
    ensure!(sound, "a CPU time is no number");
    ensure!(
        sample.capabilities.missing.values().all(|why| !why.trim().is_empty()),
        "a sensor is missing without a reason"
    );
    Ok(())
}

fn cpus_are_allowed<B: Bench>(bench: &B) -> Checked {
    let (topology, usable) = (bench.topology()?, bench.cpus()?);
    let (mut stage, who) = with_one(bench, Subject::busy(3, home(bench)?))?;
    for _ in 0..3 {
        let sample = next_sample(&mut stage)?;
        let witnessed = affinities(&mut stage, &who);
        for (tid, affinity) in who.threads.iter().zip(witnessed) {
            let seen = thread(&sample, who.pid, *tid)?;
            let unknown = || Stop::Fails(format!("where the busy thread {tid} runs is not reported"));
            let cpu = seen.cpu.ok_or_else(unknown)?;
            ensure!(topology.online().contains(cpu) && usable.contains(cpu), "thread {tid} runs on CPU {cpu}");
            ensure!(!seen.pinned, "thread {tid} is shown as pinned, but no owner pinned it");
            let Some(allowed) = &seen.allowed else { continue };
            ensure!(allowed.contains(cpu), "thread {tid} runs on CPU {cpu} and may use {allowed} only");
            let agrees = affinity.as_ref().is_none_or(|affinity| affinity == allowed);
            ensure!(agrees, "thread {tid} may use {affinity:?} by the other witness, {allowed} by the sample");
        }
    }
    Ok(())
}

fn pages_lie_where_touched<B: Bench>(bench: &B) -> Checked {
    for node in nodes(bench, 1)? {
        let subject = Subject::busy(1, node).with_mib(16);
        let (mut stage, who) = with_one(bench, subject)?;
        let seen = pages_seen(&mut stage, who.pid)?;
        let (here, all) = (pages_on(&seen, node), seen.values().map(|pages| pages.0).sum::<u64>());
        let touched = subject.pages();
        ensure!(here >= touched, "{touched} pages were touched on node {node}, the sample shows {seen:?}");
        ensure!(all <= touched + BESIDES, "{touched} pages were touched, the sample shows {seen:?}");
        let Some(witnessed) = stage.pages(who.pid) else { continue };
        ensure!(seen == held(&witnessed), "the sample shows {seen:?}, the other witness {witnessed:?}");
    }
    Ok(())
}

fn free_memory_fits<B: Bench>(bench: &B) -> Checked {
    let mut stage = bench.open(&[Subject::busy(1, home(bench)?)])?;
    let sample = sample(&mut stage)?;
    for node in sample.topology.nodes() {
        let Some(free) = sample.free.get(node.id) else {
            return Err(Stop::Fails(format!("free memory of node {} is not reported", node.id)));
        };
        let fits = node.memory.is_none_or(|memory| *free <= memory);
        ensure!(fits, "node {} has {free} bytes free of {:?}", node.id, node.memory);
    }
    let known = sample.free.iter().all(|(node, _)| sample.topology.node(node).is_some());
    ensure!(known, "free memory of a node that is not there");
    let pages = sample.processes.iter().filter_map(|process| process.pages.as_ref());
    let known = pages.flat_map(NodeMap::iter).all(|(node, _)| sample.topology.node(node).is_some());
    ensure!(known, "pages on a node that is not there");
    Ok(())
}
