//! What isobar changed and what was there before: the content of the state file, as a value.
//!
//! A process enters the ledger with its first moved thread and stays until it ends, because its
//! threads and children inherit the masks that isobar sets. Pure: no files, no kernel. Callers
//! supply which tasks live and what their masks are.

use super::balancing::BalancingRecord;
use super::entries::{Entry, Original, Owned, PageTotal, ProcessEntry, ThreadEntry};
use super::mask_set::MaskSet;
use super::weights::WeightsRecord;
use crate::resctrl::record::ResctrlRecord;
use isobar_model::{CpuSet, NodeId, Pages, Pid, Tid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Applies to the ledger what happened since the last call. Returns true if all forks since the
/// first change are known.
pub type Follow<'a> = dyn FnMut(&mut Ledger) -> bool + 'a;

/// The version of the format; a file of another version is refused.
pub const VERSION: u32 = 1;

/// Everything that has to be put back, with what identifies it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// [`VERSION`].
    pub version: u32,
    /// The boot in which all start times were taken.
    pub boot_id: String,
    /// The processes whose threads isobar moved, and those that inherited a mask from them.
    pub processes: BTreeMap<Pid, ProcessEntry>,
    /// Pages moved so far, for the record only. They stay where they are: their owner's accesses
    /// since then have settled anew where they belong, and the kernel keeps no history of them.
    pub pages: Vec<PageTotal>,
    /// Threads that their owner bound after isobar's first change of their process. Their masks are
    /// their owners', even if they look like ours. Added after version 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub owned: BTreeMap<Tid, Owned>,
    /// What was changed in resctrl. Added after version 1 and omitted if nothing was changed, so
    /// that old and new versions read each other's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resctrl: Option<ResctrlRecord>,
    /// What isobar changed in the machine's weights of weighted interleave. Added after version 1,
    /// like `resctrl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightsRecord>,
    /// What isobar changed in the kernel's NUMA balancing. Added after version 1, like `resctrl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balancing: Option<BalancingRecord>,
}

impl Ledger {
    /// An empty ledger of this boot.
    #[must_use]
    pub fn new(boot_id: String) -> Self {
        Self { version: VERSION, boot_id, ..Self::default() }
    }

    /// Whether there is nothing to put back.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.resctrl.is_none()
            && self.weights.is_none()
            && self.balancing.is_none()
            && self.processes.values().all(|process| process.threads.is_empty())
    }

    /// Records what was changed in resctrl, or is about to be.
    pub fn set_resctrl(&mut self, record: &ResctrlRecord) {
        self.resctrl = Some(record.clone()).filter(|record| !record.is_empty());
    }

    /// The entry of a process, unless its id belongs to another process now.
    #[must_use]
    pub fn process(&self, pid: Pid, start: u64) -> Option<&ProcessEntry> {
        self.processes.get(&pid).filter(|process| process.start == start)
    }

    /// The entry of a thread, unless its id belongs to another thread now.
    #[must_use]
    pub fn thread(&self, pid: Pid, tid: Tid, start: u64) -> Option<&ThreadEntry> {
        self.processes.get(&pid)?.threads.get(&tid).filter(|thread| thread.start == start)
    }

    /// Records what is about to be done. `now` is the time in ticks since boot.
    pub fn intend(&mut self, entry: &Entry, now: u64) {
        if self.processes.get(&entry.pid).is_some_and(|process| process.start != entry.pid_start) {
            self.processes.remove(&entry.pid);
        }
        let process = self.processes.entry(entry.pid).or_insert_with(|| ProcessEntry::new(entry.pid_start, now));
        let mut ours = entry.placed.clone().unwrap_or_default();
        // A mask of all CPUs that the thread had is no restriction, so a task that inherits it has
        // lost nothing.
        let restricts = |mask: &CpuSet| entry.original.pinned || *mask != entry.original.cpus;
        for mask in entry.masks() {
            ours.insert(&mask);
            if restricts(&mask) {
                process.history.insert(&mask);
            }
        }
        process.original.widen(&entry.original);
        let thread = ThreadEntry { start: entry.tid_start, original: entry.original.clone(), ours };
        process.threads.insert(entry.tid, thread);
        self.owned.remove(&entry.tid);
    }

    /// Records the cgroups of a process and the mask of its main thread, when the process has just
    /// been entered.
    pub fn describe(&mut self, pid: Pid, facts: impl FnOnce(Pid) -> (String, CpuSet)) {
        if let Some(process) = self.processes.get_mut(&pid).filter(|process| process.cgroup.is_empty()) {
            (process.cgroup, process.main) = facts(pid);
        }
    }

    /// Records that the owner of a thread had bound it to these CPUs just before isobar moved it:
    /// that is the mask to put back. Ignored if these are several CPUs that isobar had given it: in
    /// that case isobar has overwritten what its owner wanted without seeing it.
    pub fn owner_had_wanted(&mut self, pid: Pid, tid: Tid, cpus: CpuSet) {
        let Some(process) = self.processes.get_mut(&pid) else { return };
        let is_ours = cpus.len() > 1 && process.history.contains(&cpus);
        if let Some(thread) = process.threads.get_mut(&tid).filter(|_| !cpus.is_empty() && !is_ours) {
            thread.original = Original { cpus, pinned: true, asked: CpuSet::new() };
        }
    }

    /// From now on the affinity of this thread is its owner's.
    pub fn yield_to_owner(&mut self, tid: Tid, owned: Owned) {
        self.forget(owned.pid, tid);
        self.owned.insert(tid, owned);
    }

    /// Whether its owner bound this thread after our first change of its process.
    #[must_use]
    pub fn is_owned(&self, tid: Tid, start: u64) -> bool {
        self.owned.get(&tid).is_some_and(|owned| owned.start == start)
    }

    /// The kernel did it: the thread now has this mask, one of the entry's.
    pub fn done(&mut self, entry: &Entry, mask: &CpuSet) {
        self.settle(entry, Some(MaskSet::one(mask)));
    }

    /// The kernel did not do it: what held before still holds.
    pub fn undone(&mut self, entry: &Entry) {
        self.settle(entry, entry.placed.clone());
    }

    fn settle(&mut self, entry: &Entry, has: Option<MaskSet>) {
        let Some(process) = self.processes.get_mut(&entry.pid) else { return };
        match has {
            Some(ours) => {
                if let Some(thread) = process.threads.get_mut(&entry.tid) {
                    thread.ours = ours;
                }
            }
            None => {
                process.threads.remove(&entry.tid);
            }
        }
    }

    /// Drops the record of a thread that ended, or that its owner has changed.
    pub fn forget(&mut self, pid: Pid, tid: Tid) {
        if let Some(process) = self.processes.get_mut(&pid) {
            process.threads.remove(&tid);
        }
    }

    /// Drops the record of a thread that was put back. Tasks that it had made until then are still
    /// recognised as bound by isobar.
    pub fn put_back(&mut self, pid: Pid, tid: Tid) {
        if let Some(process) = self.processes.get_mut(&pid)
            && let Some(thread) = process.threads.remove(&tid)
        {
            process.put_back.add(&thread.ours);
        }
    }

    /// Enters a process that inherited its mask, so that its own children are recognised after its
    /// parent has ended.
    pub fn adopt(&mut self, pid: Pid, start: u64, parent: &ProcessEntry) {
        let known = self.process(pid, start).is_some();
        if !known {
            let child = ProcessEntry { start, threads: BTreeMap::new(), ..parent.clone() };
            self.processes.insert(pid, child);
        }
    }

    /// Adds to the record of moved pages.
    pub fn add_pages(&mut self, from: NodeId, to: NodeId, pages: Pages) {
        match self.pages.iter_mut().find(|total| (total.from, total.to) == (from, to)) {
            Some(total) => total.pages.0 = total.pages.0.saturating_add(pages.0),
            None => self.pages.push(PageTotal { from, to, pages }),
        }
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
