//! What the state file records of one process and of one thread, and how their masks are
//! distinguished from their owners'. Pure.

use super::given::Given;
use isobar_model::{CpuId, CpuSet, NodeId, Pages, Pid, Tid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A process of which we moved a thread, or which inherited a mask from one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessEntry {
    /// Its start time, in ticks since boot.
    pub start: u64,
    /// When we first changed a thread of it; younger threads and children may have inherited a mask
    /// of ours.
    pub since: u64,
    /// The masks that a task may have inherited from one of its threads: those that we gave its
    /// threads, until long after.
    pub history: Given,
    /// What a task gets that inherited a mask of ours: the widest mask among the threads that we
    /// moved.
    pub original: Original,
    /// Its cgroups (`/proc/PID/cgroup`) when we first moved one of its threads: a sign by which
    /// descendants are recognised whose parents have ended. Younger than version 1; empty where it
    /// was not read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cgroup: String,
    /// The mask of its main thread then. Younger than version 1; empty where it was not read.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty", with = "cpu_list")]
    pub main: CpuSet,
    /// The threads that we moved.
    pub threads: BTreeMap<Tid, ThreadEntry>,
    /// The masks of threads that were put back just now, whose records are gone: what they had made
    /// until then still has them.
    #[serde(skip)]
    pub put_back: Given,
}

/// A thread whose affinity its owner has set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owned {
    /// Its process.
    pub pid: Pid,
    /// Its start time, in ticks since boot.
    pub start: u64,
}

/// A thread that we moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadEntry {
    /// Its start time, in ticks since boot.
    pub start: u64,
    /// What it had before.
    pub original: Original,
    /// The masks one of which it has now, if no one else changed it: the one that we set last, and
    /// while a move is under way also those that are set next.
    pub ours: Given,
}

/// An affinity before our change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Original {
    /// The CPUs of the mask.
    #[serde(with = "cpu_list")]
    pub cpus: CpuSet,
    /// Whether its owner narrowed it. Only then is exactly this mask put back; else the restriction
    /// is lifted, so that the thread follows its cpuset and CPUs that come online, as it did
    /// before.
    pub pinned: bool,
}

/// Pages moved from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageTotal {
    /// where they were
    pub from: NodeId,
    /// where they are
    pub to: NodeId,
    /// how many
    pub pages: Pages,
}

/// A thread about to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// its process
    pub pid: Pid,
    /// start of the process
    pub pid_start: u64,
    /// the thread
    pub tid: Tid,
    /// start of the thread
    pub tid_start: u64,
    /// what it had before any change of ours
    pub original: Original,
    /// what we gave it earlier, when it still has that
    pub placed: Option<Given>,
    /// the CPU that we are about to put it on
    pub cpu: CpuId,
    /// the CPUs that it may run on then, `cpu` among them
    pub mask: CpuSet,
}

impl Entry {
    /// The masks that it has one after another: the CPU alone, so that it is there, then the others
    /// with it.
    pub fn masks(&self) -> impl Iterator<Item = CpuSet> + '_ {
        let only: CpuSet = [self.cpu].into_iter().collect();
        let all = (self.mask != only).then(|| self.mask.clone());
        std::iter::once(only).chain(all)
    }
}

impl ProcessEntry {
    /// Nothing of it is recorded yet.
    #[must_use]
    pub fn new(start: u64, since: u64) -> Self {
        Self { start, since, ..Self::default() }
    }

    /// Whether a thread of this process has this mask from us, or had it until we put it back.
    #[must_use]
    pub fn gave(&self, mask: &CpuSet) -> bool {
        self.put_back.contains(mask) || self.threads.values().any(|thread| thread.is_ours(mask))
    }

    /// Whether a task of this process or of a descendant inherited a mask of ours: it is younger
    /// than our first change, and has a mask that we gave a thread of the process.
    ///
    /// A task that its own program bound to those very CPUs after our change looks the same.
    #[must_use]
    pub fn may_have_inherited(&self, start: u64, mask: &CpuSet) -> bool {
        start >= self.since && self.history.contains(mask)
    }
}

impl ThreadEntry {
    /// Whether a mask is the one that we set.
    #[must_use]
    pub fn is_ours(&self, mask: &CpuSet) -> bool {
        self.ours.contains(mask)
    }
}

impl Original {
    /// Becomes `other` where that is wider: no restriction is wider than one, more CPUs are wider
    /// than fewer.
    pub fn widen(&mut self, other: &Self) {
        let width = |original: &Self| (!original.pinned, original.cpus.len());
        if self.cpus.is_empty() || width(other) > width(self) {
            *self = other.clone();
        }
    }
}

/// A CPU set as the kernel's list text (`0-3,8`): a thousand threads of 256 CPUs stay readable.
mod cpu_list {
    use isobar_model::CpuSet;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(set: &CpuSet, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(set)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CpuSet, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
