//! Decodes a frame into a sample.

use super::Managed;
use super::columns::Reader;
use super::error::{FrameError, wrong};
use super::parts::{Attributes, Cells, Change, Frame};
use super::state::{Known, KnownProcess, State};
use isobar_model::wire::MachineDoc;
use isobar_model::{Cgroup, Nanoseconds, NodeId, NodeMap, NodeMatrix, Pages, Pid};
use isobar_model::{PageMove, ProcessSample, Sample, Seconds, ThreadSample, Tid};
use std::sync::Arc;

/// The sample of a frame, and the threads that were managed.
///
/// # Errors
/// Bytes that are not a frame that can follow the state.
pub fn decode(state: &mut State, bytes: &[u8]) -> Result<(Sample, Managed), FrameError> {
    let frame = Frame::unpack(bytes)?;
    machine(state, &frame)?;
    roster(state, &frame)?;
    cgroups(state, &frame)?;
    by_node(state, &frame.pages, |process| &mut process.pages)?;
    by_node(state, &frame.accessed, |process| &mut process.accessed)?;
    attributes(state, &frame)?;
    let managed = managed(state, &frame.managed);
    let mut reader = frame.columns.reader();
    let processes = state.processes.iter_mut().map(|(pid, known)| process(*pid, known, &mut reader));
    let processes = processes.collect::<Result<_, _>>()?;
    if !reader.is_done() {
        return Err(wrong("a column is too long"));
    }
    let sample = Sample {
        time: Seconds(frame.time),
        topology: state.topology.clone().ok_or_else(|| wrong("no machine"))?,
        free: state.free.clone(),
        latency: matrix(&state.latency, Nanoseconds)?,
        latency_idle: matrix(&state.latency_idle, Nanoseconds)?,
        latency_cycles: matrix(&state.latency_cycles, |value| value)?,
        processes,
        page_moves: frame.page_moves.as_deref().map_or_else(|| Ok(Vec::new()), json::<Vec<PageMove>>)?,
        indirect: state.indirect.clone(),
        capabilities: state.capabilities.clone().ok_or_else(|| wrong("no sensors"))?,
    };
    Ok((sample, managed))
}

/// Applies what changed for the machine as a whole.
fn machine(state: &mut State, frame: &Frame) -> Result<(), FrameError> {
    if let Change::Now(text) = &frame.topology {
        let machine = json::<MachineDoc>(text)?.to_topology().map_err(|error| wrong(error.to_string()))?;
        // A key frame repeats the topology, but the object must stay the same: policies recognise a
        // machine by its object.
        if state.topology.as_deref() != Some(&machine) {
            state.topology = Some(Arc::new(machine));
        }
    }
    if let Change::Now(text) = &frame.capabilities {
        state.capabilities = Some(Arc::new(json(text)?));
    }
    take(&mut state.free, &frame.free);
    take(&mut state.latency, &frame.latency);
    take(&mut state.latency_idle, &frame.latency_idle);
    take(&mut state.latency_cycles, &frame.latency_cycles);
    take(&mut state.indirect, &frame.indirect);
    Ok(())
}

fn take<T: Clone>(known: &mut T, change: &Change<T>) {
    if let Change::Now(value) = change {
        known.clone_from(value);
    }
}

/// Applies which processes and threads ended and which started.
fn roster(state: &mut State, frame: &Frame) -> Result<(), FrameError> {
    for pid in &frame.ended {
        state.processes.remove(pid).ok_or_else(|| wrong(format!("process {pid} ends twice")))?;
    }
    for (pid, tid) in &frame.threads_ended {
        find(state, *pid)?.threads.remove(tid).ok_or_else(|| wrong(format!("thread {tid} ends twice")))?;
    }
    for begun in &frame.begun {
        state.processes.insert(begun.pid, KnownProcess::new(begun.start, begun.name.as_str().into()));
    }
    for (pid, tid, start) in &frame.threads_begun {
        find(state, *pid)?.threads.insert(*tid, Known::new(*start));
    }
    Ok(())
}

fn find(state: &mut State, pid: Pid) -> Result<&mut KnownProcess, FrameError> {
    state.processes.get_mut(&pid).ok_or_else(|| wrong(format!("process {pid} has not begun")))
}

fn cgroups(state: &mut State, frame: &Frame) -> Result<(), FrameError> {
    frame.cgroups.iter().try_for_each(|(pid, now)| {
        let cgroup = now.clone().map(|(path, name)| Arc::new(Cgroup { path, name }));
        find(state, *pid).map(|process| process.cgroup = cgroup)
    })
}

type ByNode = Option<NodeMap<Pages>>;

fn by_node(
    state: &mut State,
    changed: &[(Pid, ByNode)],
    of: fn(&mut KnownProcess) -> &mut ByNode,
) -> Result<(), FrameError> {
    changed.iter().try_for_each(|(pid, pages)| find(state, *pid).map(|process| of(process).clone_from(pages)))
}

fn attributes(state: &mut State, frame: &Frame) -> Result<(), FrameError> {
    let mut changed = frame.attributes.iter().peekable();
    for (position, (_, _, known)) in (0..).zip(state.threads()) {
        if let Some((_, attributes)) = changed.next_if(|(at, _)| *at == position) {
            known.attributes.clone_from(attributes);
        }
    }
    if changed.next().is_some() {
        return Err(wrong("attributes of a thread that is not there"));
    }
    Ok(())
}

fn managed(state: &mut State, flips: &[u32]) -> Managed {
    let mut flips = flips.iter().peekable();
    let mut is_managed = false;
    let ids = (0..).zip(state.threads()).filter_map(|(position, (pid, tid, _))| {
        if flips.next_if(|flip| **flip == position).is_some() {
            is_managed = !is_managed;
        }
        is_managed.then_some((pid, tid))
    });
    ids.collect()
}

fn process(pid: Pid, known: &mut KnownProcess, reader: &mut Reader<'_>) -> Result<ProcessSample, FrameError> {
    let threads = known.threads.iter_mut().map(|(tid, known)| thread(*tid, known, reader));
    let threads = threads.collect::<Result<_, _>>()?;
    Ok(ProcessSample {
        pid,
        start: known.start,
        name: Arc::clone(&known.name),
        cgroup: known.cgroup.clone(),
        pages: known.pages.clone(),
        accessed_pages: known.accessed.clone(),
        threads,
    })
}

fn thread(tid: Tid, known: &mut Known, reader: &mut Reader<'_>) -> Result<ThreadSample, FrameError> {
    known.last = reader.next(known.attributes.present, &known.last)?;
    let now = known.last.clone();
    let Attributes { allowed, pinned, bound, vcpu, .. } = &known.attributes;
    let allowed = allowed.as_deref().map(str::parse).transpose();
    Ok(ThreadSample {
        tid,
        start: known.start,
        cpu: now.cpu,
        allowed: allowed.map_err(|error| wrong(format!("{error}")))?,
        pinned: *pinned,
        bound: *bound,
        vcpu: *vcpu,
        cpu_time: now.cpu_time,
        counters: now.counters,
    })
}

fn matrix<T>(cells: &Cells, value: impl Fn(f64) -> T) -> Result<Option<NodeMatrix<T>>, FrameError> {
    let Some((nodes, cells)) = cells else { return Ok(None) };
    let row = |row: &[Option<f64>]| row.iter().map(|cell| cell.map(&value)).collect();
    let rows = cells.chunks(nodes.len().max(1)).map(row).collect();
    let matrix = NodeMatrix::from_cells(nodes.iter().copied().map(NodeId).collect(), rows);
    matrix.map(Some).ok_or_else(|| wrong("a matrix that is not square"))
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, FrameError> {
    serde_json::from_str(text).map_err(|error| wrong(error.to_string()))
}
