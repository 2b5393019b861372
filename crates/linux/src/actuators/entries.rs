//! What the state file records of one process and of one thread, and how isobar's masks are
//! distinguished from their owners'. Pure.

use super::mask_set::MaskSet;
use isobar_model::{CpuId, CpuSet, NodeId, Pages, Pid, Tid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A process whose threads isobar moved, or which inherited a mask from such a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessEntry {
    /// Its start time, in ticks since boot.
    pub start: u64,
    /// When isobar first changed one of its threads. Younger threads and children may have
    /// inherited a mask of ours.
    pub since: u64,
    /// The masks that a task may have inherited from one of its threads: those that isobar gave its
    /// threads. A mask stays here long after the last thread had it.
    pub history: MaskSet,
    /// The mask for a task that inherited a mask of ours: the widest mask among the moved threads.
    pub original: Original,
    /// Its cgroups (`/proc/PID/cgroup`) when isobar first moved one of its threads. Descendants
    /// whose parents have ended are recognised by them. Added after version 1; empty if it was not
    /// read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cgroup: String,
    /// The mask of its main thread at that time. Added after version 1; empty if it was not read.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty", with = "cpu_list")]
    pub main: CpuSet,
    /// The threads that isobar moved.
    pub threads: BTreeMap<Tid, ThreadEntry>,
    /// The masks of threads that were put back just now and whose records are gone: tasks that they
    /// had made until then still have them.
    #[serde(skip)]
    pub put_back: MaskSet,
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

/// A thread that isobar moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadEntry {
    /// Its start time, in ticks since boot.
    pub start: u64,
    /// The affinity that it had before.
    pub original: Original,
    /// The masks one of which it has now, unless someone else changed it: the one that isobar set
    /// last and, while a move is under way, also those that are set next.
    pub ours: MaskSet,
}

/// An affinity before isobar's change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Original {
    /// The CPUs of the mask.
    #[serde(with = "cpu_list")]
    pub cpus: CpuSet,
    /// Whether its owner narrowed it. Only then is exactly this mask put back. Otherwise the
    /// restriction is lifted, so that the thread follows its cpuset and CPUs that come online, as
    /// before.
    pub pinned: bool,
    /// The mask that its owner asked for, if `cpus` shows it in part because CPUs were offline. In
    /// that case exactly this mask is put back. Added after version 1; mostly empty.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty", with = "cpu_list")]
    pub asked: CpuSet,
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
    /// the affinity that it had before any change by isobar
    pub original: Original,
    /// the masks that isobar gave it earlier, if it still has one of them
    pub placed: Option<MaskSet>,
    /// the CPU that isobar is about to put it on
    pub cpu: CpuId,
    /// the CPUs that it may run on afterwards, `cpu` among them
    pub mask: CpuSet,
}

impl Entry {
    /// The masks that it gets one after another: first the CPU alone, so that it goes there, then
    /// all of its CPUs.
    pub fn masks(&self) -> impl Iterator<Item = CpuSet> + '_ {
        let only: CpuSet = [self.cpu].into_iter().collect();
        let all = (self.mask != only).then(|| self.mask.clone());
        std::iter::once(only).chain(all)
    }
}

impl ProcessEntry {
    /// An entry in which no thread is recorded yet.
    #[must_use]
    pub fn new(start: u64, since: u64) -> Self {
        Self { start, since, ..Self::default() }
    }

    /// Whether a thread of this process has this mask from isobar, or had it until it was put back.
    #[must_use]
    pub fn gave(&self, mask: &CpuSet) -> bool {
        self.put_back.contains(mask) || self.threads.values().any(|thread| thread.is_ours(mask))
    }

    /// Whether a task of this process or of a descendant inherited a mask of ours: it is younger
    /// than isobar's first change, and has a mask that isobar gave a thread of the process.
    ///
    /// A task that its own program bound to those very CPUs after that change looks the same.
    #[must_use]
    pub fn may_have_inherited(&self, start: u64, mask: &CpuSet) -> bool {
        start >= self.since && self.history.contains(mask)
    }
}

impl ThreadEntry {
    /// Whether a mask is one that isobar set.
    #[must_use]
    pub fn is_ours(&self, mask: &CpuSet) -> bool {
        self.ours.contains(mask)
    }
}

impl Original {
    /// Becomes `other` if that is wider: no restriction is wider than a restriction, more CPUs are
    /// wider than fewer.
    pub fn widen(&mut self, other: &Self) {
        let asked = |original: &Self| match original.asked.len() {
            0 if original.pinned => original.cpus.len(),
            0 => usize::MAX,
            some => some,
        };
        let width = |original: &Self| (!original.pinned, original.cpus.len(), asked(original));
        if self.cpus.is_empty() || width(other) > width(self) {
            *self = other.clone();
        }
    }
}

/// A CPU set as the kernel's list text (`0-3,8`), which keeps a thousand threads of 256 CPUs
/// readable.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::cpus;

    #[test]
    fn no_restriction_is_the_widest_and_offline_cpus_count() {
        let original = |list: &str, pinned, asked: &str| Original { cpus: cpus(list), pinned, asked: cpus(asked) };
        let ascending = [
            original("0", true, ""),
            original("0-1", true, ""),
            original("0-1", true, "0-1,5"),
            original("0-3", false, "0-3"),
            original("0-3", false, ""),
        ];
        for (narrow, wide) in ascending.iter().zip(&ascending[1..]) {
            let (mut up, mut down) = (narrow.clone(), wide.clone());
            up.widen(wide);
            down.widen(narrow);
            assert_eq!((&up, &down), (wide, wide));
        }
    }
}
