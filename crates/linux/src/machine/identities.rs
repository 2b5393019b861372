//! The identities of the processes and threads of the last sample. A plan names threads by id, and
//! an id alone may belong to another thread by the time isobar acts.

use crate::actuators::ThreadMove;
use crate::resctrl::clusters::Threads;
use isobar_model::{CpuId, CpuSet, NodeId, Pid, Sample, ThreadSample, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// Identities of the processes and threads of one sample.
#[derive(Debug, Default)]
pub struct Identities {
    processes: BTreeMap<Pid, u64>,
    threads: Threads,
    pinned: BTreeSet<Tid>,
    /// The number of threads of each process that were last on each node.
    nodes: BTreeMap<Pid, BTreeMap<NodeId, u8>>,
    /// CPU seconds that each thread had used.
    used: BTreeMap<Tid, f64>,
}

impl Identities {
    /// The start time of a process.
    pub fn process(&self, pid: Pid) -> Option<u64> {
        self.processes.get(&pid).copied()
    }

    /// The number of a process's threads on each node.
    pub fn nodes(&self, pid: Pid) -> BTreeMap<NodeId, u8> {
        self.nodes.get(&pid).cloned().unwrap_or_default()
    }

    /// Every thread with its process and its start time.
    pub const fn threads(&self) -> &Threads {
        &self.threads
    }

    /// The move of a thread to a CPU, and the CPUs that it may run on then, with the identity that
    /// was observed.
    pub fn thread_move(&self, pid: Pid, tid: Tid, cpu: CpuId, cpus: Option<CpuSet>) -> Option<ThreadMove> {
        let (pid_start, pinned) = (self.process(pid)?, self.pinned.contains(&tid));
        let (_, tid_start) = *self.threads.get(&tid).filter(|(of, _)| *of == pid)?;
        Some(ThreadMove { pid, pid_start, tid, tid_start, cpu, cpus, pinned })
    }
}

impl Identities {
    /// The identities of a sample; `self` are those of the previous sample.
    #[must_use]
    pub fn next(&self, sample: &Sample) -> Self {
        let threads =
            || sample.processes.iter().flat_map(|process| process.threads.iter().map(|one| (process.pid, one)));
        Self {
            processes: sample.processes.iter().map(|process| (process.pid, process.start)).collect(),
            threads: threads().map(|(pid, thread)| (thread.tid, (pid, thread.start))).collect(),
            nodes: self.nodes_since(sample),
            used: threads().filter_map(|(_, thread)| Some((thread.tid, thread.cpu_time?.0))).collect(),
            pinned: threads().filter(|(_, thread)| thread.pinned).map(|(_, thread)| thread.tid).collect(),
        }
    }

    /// The number of threads of each process on each node, without threads that hardly ran since
    /// these identities were taken.
    fn nodes_since(&self, sample: &Sample) -> BTreeMap<Pid, BTreeMap<NodeId, u8>> {
        let before = |thread: &ThreadSample| {
            let known = self.threads.get(&thread.tid).filter(|(_, start)| *start == thread.start);
            known.and_then(|_| self.used.get(&thread.tid)).copied().unwrap_or(0.0)
        };
        let time = |thread: &ThreadSample| thread.cpu_time.map_or(0.0, |time| time.0 - before(thread));
        nodes(sample, &time)
    }
}

/// A thread that had less than this fraction of the CPU time of the busiest thread of its process
/// says nothing about where the process works.
const BUSY: f64 = 0.1;

fn nodes(sample: &Sample, time: &dyn Fn(&ThreadSample) -> f64) -> BTreeMap<Pid, BTreeMap<NodeId, u8>> {
    let mut nodes: BTreeMap<Pid, BTreeMap<NodeId, u8>> = BTreeMap::new();
    for process in &sample.processes {
        let least = process.threads.iter().map(&time).fold(0.0, f64::max) * BUSY;
        let busy = process.threads.iter().filter(|thread| time(thread) >= least);
        let counts = nodes.entry(process.pid).or_default();
        for node in busy.filter_map(|thread| sample.topology.node_of(thread.cpu?)) {
            let count = counts.entry(node).or_default();
            *count = count.saturating_add(1);
        }
    }
    nodes
}
