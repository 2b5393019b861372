//! The processes and threads of the last sample: a plan names threads by id, and an id alone may be
//! another's by the time we act.

use crate::actuators::ThreadMove;
use isobar_model::{CpuId, Pid, ProcessSample, Sample, Tid};
use std::collections::BTreeMap;

/// Identities of the processes and threads of one sample.
#[derive(Debug, Default)]
pub struct Identities {
    processes: BTreeMap<Pid, Process>,
}

#[derive(Debug)]
struct Process {
    start: u64,
    threads: BTreeMap<Tid, Thread>,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    start: u64,
    pinned: bool,
}

impl Identities {
    /// The start time of a process.
    pub fn process(&self, pid: Pid) -> Option<u64> {
        self.processes.get(&pid).map(|process| process.start)
    }

    /// Every thread with its process and its start time.
    pub fn threads(&self) -> BTreeMap<Tid, (Pid, u64)> {
        let of = |(pid, process): (&Pid, &Process)| {
            let pid = *pid;
            process.threads.iter().map(move |(tid, thread)| (*tid, (pid, thread.start))).collect::<Vec<_>>()
        };
        self.processes.iter().flat_map(of).collect()
    }

    /// The move of a thread to a CPU, with the identity that was observed.
    pub fn thread_move(&self, pid: Pid, tid: Tid, cpu: CpuId) -> Option<ThreadMove> {
        let process = self.processes.get(&pid)?;
        let thread = process.threads.get(&tid)?;
        let (tid_start, pinned) = (thread.start, thread.pinned);
        Some(ThreadMove { pid, pid_start: process.start, tid, tid_start, cpu, pinned })
    }
}

impl From<&Sample> for Identities {
    fn from(sample: &Sample) -> Self {
        Self { processes: sample.processes.iter().map(|process| (process.pid, Process::from(process))).collect() }
    }
}

impl From<&ProcessSample> for Process {
    fn from(process: &ProcessSample) -> Self {
        let threads = process.threads.iter();
        let threads = threads.map(|thread| (thread.tid, Thread { start: thread.start, pinned: thread.pinned }));
        Self { start: process.start, threads: threads.collect() }
    }
}
