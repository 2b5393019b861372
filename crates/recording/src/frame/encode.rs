//! Encodes a sample as a frame.

use super::Managed;
use super::columns::{Columns, Readings};
use super::error::{FrameError, wrong};
use super::parts::{Attributes, Begun, Cells, Change, Frame, InCgroup};
use super::state::{Known, KnownProcess, State};
use isobar_model::wire::machine_to_doc;
use isobar_model::{NodeMap, NodeMatrix, Pages, Pid, ProcessSample, Sample, ThreadSample, Tid};
use std::sync::Arc;

/// The frame of a sample, which follows the frames that the state has gone through, and of the
/// managed threads.
///
/// # Errors
/// A process or thread that occurs twice, which no sample has.
pub fn encode(state: &mut State, sample: &Sample, managed: &Managed) -> Result<Vec<u8>, FrameError> {
    let (ended, threads_ended) = forget(state, sample);
    let (begun, threads_begun) = meet(state, sample);
    let mut frame = Frame {
        time: sample.time.0,
        topology: topology(state, sample)?,
        capabilities: capabilities(state, sample)?,
        free: change(&mut state.free, sample.free.clone()),
        latency: change(&mut state.latency, cells(sample.latency.as_ref(), |value| value.0)),
        latency_idle: change(&mut state.latency_idle, cells(sample.latency_idle.as_ref(), |value| value.0)),
        latency_cycles: change(&mut state.latency_cycles, cells(sample.latency_cycles.as_ref(), |value| *value)),
        ended,
        begun,
        threads_ended,
        threads_begun,
        pages: by_node(state, sample, |process| &mut process.pages, |process| &process.pages),
        accessed: by_node(state, sample, |process| &mut process.accessed, |process| &process.accessed_pages),
        attributes: Vec::new(),
        columns: Columns::new(threads(sample).all(|(_, thread)| readings(thread).is_whole())),
        page_moves: (!sample.page_moves.is_empty()).then(|| json(&sample.page_moves)).transpose()?,
        indirect: change(&mut state.indirect, sample.indirect.clone()),
        cgroups: cgroups(state, sample),
        managed: flips(threads(sample).map(|(process, thread)| managed.contains(&(process.pid, thread.tid)))),
    };
    read_threads(state, sample, &mut frame)?;
    frame.pack()
}

/// Drops processes and threads that are not in the sample any more, and returns them.
fn forget(state: &mut State, sample: &Sample) -> (Vec<Pid>, Vec<(Pid, Tid)>) {
    let (mut ended, mut threads_ended) = (Vec::new(), Vec::new());
    state.processes.retain(|pid, known| {
        let Some(process) = find(sample, *pid).filter(|process| is_same(process, known)) else {
            ended.push(*pid);
            return false;
        };
        known.threads.retain(|tid, thread| {
            let there = process.threads.binary_search_by_key(tid, |thread| thread.tid);
            let stays = there.is_ok_and(|at| process.threads[at].start == thread.start);
            if !stays {
                threads_ended.push((*pid, *tid));
            }
            stays
        });
        true
    });
    (ended, threads_ended)
}

fn find(sample: &Sample, pid: Pid) -> Option<&ProcessSample> {
    sample.processes.binary_search_by_key(&pid, |process| process.pid).ok().map(|at| &sample.processes[at])
}

fn is_same(process: &ProcessSample, known: &KnownProcess) -> bool {
    process.start == known.start && process.name == known.name
}

/// Adds processes and threads that are new, and returns them.
fn meet(state: &mut State, sample: &Sample) -> (Vec<Begun>, Vec<(Pid, Tid, u64)>) {
    let (mut begun, mut threads_begun) = (Vec::new(), Vec::new());
    for process in &sample.processes {
        let known = state.processes.entry(process.pid).or_insert_with(|| {
            begun.push(Begun { pid: process.pid, start: process.start, name: process.name.to_string() });
            KnownProcess::new(process.start, Arc::clone(&process.name))
        });
        for thread in &process.threads {
            known.threads.entry(thread.tid).or_insert_with(|| {
                threads_begun.push((process.pid, thread.tid, thread.start));
                Known::new(thread.start)
            });
        }
    }
    (begun, threads_begun)
}

fn topology(state: &mut State, sample: &Sample) -> Result<Change<String>, FrameError> {
    if state.topology.as_ref().is_some_and(|known| Arc::ptr_eq(known, &sample.topology)) {
        return Ok(Change::Same);
    }
    state.topology = Some(Arc::clone(&sample.topology));
    Ok(Change::Now(json(&machine_to_doc(&sample.topology, None))?))
}

fn capabilities(state: &mut State, sample: &Sample) -> Result<Change<String>, FrameError> {
    if state.capabilities.as_ref() == Some(&sample.capabilities) {
        return Ok(Change::Same);
    }
    state.capabilities = Some(Arc::clone(&sample.capabilities));
    Ok(Change::Now(json(&*sample.capabilities)?))
}

fn change<T: PartialEq + Clone>(known: &mut T, now: T) -> Change<T> {
    if *known == now {
        return Change::Same;
    }
    known.clone_from(&now);
    Change::Now(now)
}

fn cells<T>(matrix: Option<&NodeMatrix<T>>, figure: impl Fn(&T) -> f64) -> Cells {
    let matrix = matrix?;
    let cells = matrix.rows().flatten().map(|cell| cell.as_ref().map(&figure));
    Some((matrix.nodes().iter().map(|node| node.0).collect(), cells.collect()))
}

fn cgroups(state: &mut State, sample: &Sample) -> Vec<InCgroup> {
    let changed = sample.processes.iter().zip(state.processes.values_mut()).filter_map(|(process, known)| {
        (known.cgroup != process.cgroup).then(|| {
            known.cgroup.clone_from(&process.cgroup);
            (process.pid, process.cgroup.as_ref().map(|cgroup| (cgroup.path.clone(), cgroup.name.clone())))
        })
    });
    changed.collect()
}

type ByNode = Option<NodeMap<Pages>>;

fn by_node(
    state: &mut State,
    sample: &Sample,
    of_known: fn(&mut KnownProcess) -> &mut ByNode,
    of_sample: fn(&ProcessSample) -> &ByNode,
) -> Vec<(Pid, ByNode)> {
    let changed = sample.processes.iter().zip(state.processes.values_mut()).filter_map(|(process, known)| {
        let (known, now) = (of_known(known), of_sample(process));
        (known != now).then(|| {
            known.clone_from(now);
            (process.pid, now.clone())
        })
    });
    changed.collect()
}

fn threads(sample: &Sample) -> impl Iterator<Item = (&ProcessSample, &ThreadSample)> {
    sample.processes.iter().flat_map(|process| process.threads.iter().map(move |thread| (process, thread)))
}

fn readings(thread: &ThreadSample) -> Readings {
    Readings { cpu: thread.cpu, cpu_time: thread.cpu_time, counters: thread.counters }
}

fn read_threads(state: &mut State, sample: &Sample, frame: &mut Frame) -> Result<(), FrameError> {
    let mut known = state.threads();
    for (position, (process, thread)) in (0..).zip(threads(sample)) {
        let (_, _, known) = known
            .next()
            .filter(|(pid, tid, _)| (*pid, *tid) == (process.pid, thread.tid))
            .ok_or_else(|| wrong(format!("thread {} of process {} is out of order", thread.tid, process.pid)))?;
        let now = readings(thread);
        let attributes = Attributes {
            allowed: thread.allowed.as_ref().map(ToString::to_string),
            pinned: thread.pinned,
            bound: thread.bound,
            vcpu: thread.vcpu,
            present: now.present(),
        };
        if attributes != known.attributes {
            known.attributes.clone_from(&attributes);
            frame.attributes.push((position, attributes));
        }
        frame.columns.push(&mut known.last, &now);
    }
    Ok(())
}

/// The positions at which a row of flags changes, starting from "no".
fn flips(flags: impl Iterator<Item = bool>) -> Vec<u32> {
    let mut last = false;
    let changed = (0..).zip(flags).filter(|(_, flag)| std::mem::replace(&mut last, *flag) != *flag);
    changed.map(|(position, _)| position).collect()
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, FrameError> {
    serde_json::to_string(value).map_err(|error| wrong(error.to_string()))
}
