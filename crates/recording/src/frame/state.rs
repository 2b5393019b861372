//! What writer and reader both know after a frame: every process and thread with its last readings.
//! Both go through the same frames, so both arrive at the same state.

use super::columns::Readings;
use super::parts::{Attributes, Cells};
use isobar_model::{Bytes, Capabilities, Cgroup, Indirect, NodeMap, Pages, Pid, Tid, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known after a frame; empty before the first.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub(super) topology: Option<Arc<Topology>>,
    pub(super) capabilities: Option<Arc<Capabilities>>,
    pub(super) free: NodeMap<Bytes>,
    pub(super) latency: Cells,
    pub(super) latency_idle: Cells,
    pub(super) latency_cycles: Cells,
    pub(super) indirect: Indirect,
    pub(super) processes: BTreeMap<Pid, KnownProcess>,
}

/// A process, as last read.
#[derive(Clone, Debug)]
pub(super) struct KnownProcess {
    pub start: u64,
    pub name: Arc<str>,
    pub cgroup: Option<Arc<Cgroup>>,
    pub pages: Option<NodeMap<Pages>>,
    pub accessed: Option<NodeMap<Pages>>,
    pub threads: BTreeMap<Tid, Known>,
}

/// A thread, as last read.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub(super) start: u64,
    pub(super) attributes: Attributes,
    pub(super) last: Readings,
}

impl KnownProcess {
    pub fn new(start: u64, name: Arc<str>) -> Self {
        Self { start, name, cgroup: None, pages: None, accessed: None, threads: BTreeMap::new() }
    }
}

impl Known {
    pub(super) fn new(start: u64) -> Self {
        Self { start, ..Self::default() }
    }
}

impl State {
    /// The same state, with the topology and the sensors of another state. If a key frame repeats
    /// them unchanged, they stay the same objects.
    #[must_use]
    pub fn of_the_machine_of(mut self, other: &Self) -> Self {
        self.topology.clone_from(&other.topology);
        self.capabilities.clone_from(&other.capabilities);
        self
    }

    /// Every thread, in the order of a sample.
    pub(super) fn threads(&mut self) -> impl Iterator<Item = (Pid, Tid, &mut Known)> {
        self.processes.iter_mut().flat_map(|(pid, process)| {
            let pid = *pid;
            process.threads.iter_mut().map(move |(tid, known)| (pid, *tid, known))
        })
    }
}
