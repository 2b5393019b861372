//! Makes samples show what owners set, not what isobar set. Sensors may have read a mask before
//! isobar changed it, so the kernel is asked again before a record is dropped or a thread freed.

use super::displaced::{self, Limits};
use super::inherited::{self, InheritedMask};
use super::ledger::{Follow, Ledger};
use crate::kernel::{affinity, identity};
use isobar_model::{CpuSet, Pid, ProcessSample, Sample, ThreadSample, Tid};
use std::collections::BTreeSet;

/// Makes moved threads show the mask that they had before, frees tasks that inherited a mask of
/// ours, and drops threads from the ledger that their owners have changed since. Returns the masks
/// of tasks that the kernel refused to free, with their processes.
pub fn show_owners_masks(ledger: &mut Ledger, follow: &mut Follow<'_>, sample: &mut Sample) -> BTreeSet<(Pid, CpuSet)> {
    let (mut limits, mut kept) = (Limits::default(), BTreeSet::new());
    for process in &mut sample.processes {
        let ProcessSample { pid, threads, .. } = process;
        for thread in threads {
            let mask = show_owners_mask(ledger, follow, *pid, thread, &mut limits);
            kept.extend(mask.map(|mask| (*pid, mask)));
        }
    }
    kept
}

/// Drops threads and processes that ended. A sample may leave processes out, so those that are not
/// in it are looked up. Those that cannot be read stay: they may live.
pub fn forget_ended(ledger: &mut Ledger, sample: &Sample) {
    let lives = |pid, start| {
        let seen = sample.processes.binary_search_by_key(&pid, |process| process.pid);
        match seen {
            Ok(index) => sample.processes[index].start == start,
            Err(_) => !identity::has_ended(pid, Tid(pid.0), start),
        }
    };
    ledger.processes.retain(|&pid, entry| lives(pid, entry.start));
    for (&pid, entry) in &mut ledger.processes {
        let seen = sample.processes.binary_search_by_key(&pid, |process| process.pid).ok();
        let listed = seen.map_or(&[][..], |index| &sample.processes[index].threads);
        entry.threads.retain(|&tid, thread| lives_still(pid, tid, thread.start, listed));
    }
    ledger.owned.retain(|&tid, owned| lives_still(owned.pid, tid, owned.start, &[]));
}

/// Returns the mask of ours that the thread keeps because the kernel refused to free it.
fn show_owners_mask(
    ledger: &mut Ledger,
    follow: &mut Follow<'_>,
    pid: Pid,
    thread: &mut ThreadSample,
    limits: &mut Limits,
) -> Option<CpuSet> {
    let mask = thread.allowed.clone()?;
    thread.bound = Some(false);
    let Some(record) = ledger.thread(pid, thread.tid, thread.start) else {
        return free_if_inherited(ledger, follow, pid, thread, &mask, limits);
    };
    // Sensors may have read the mask before isobar's last move, so the kernel is asked before a
    // record is dropped.
    let now = if record.is_ours(&mask) { Ok(mask) } else { affinity::get(thread.tid) };
    if now.as_ref().is_ok_and(|now| displaced::is_given(pid, thread.tid, now, &record.ours)) {
        thread.allowed = Some(record.original.cpus.clone());
        thread.pinned = record.original.pinned;
        // A thread that was freed again may run wherever its owner lets it.
        thread.bound = Some(!record.original.cpus.is_subset(&record.ours.cpus()));
        return None;
    }
    if now.as_ref().is_ok_and(|now| displaced::is_displaced(pid, thread.tid, now, &record.ours.cpus())) {
        if displaced::put_back(thread.tid, &record.original).is_err() {
            return None;
        }
        thread.allowed = affinity::get(thread.tid).ok();
        thread.pinned = record.original.pinned;
    } else if let Ok(now) = &now {
        displaced::have_it_forgotten(pid, thread.tid, now, &record.original);
    }
    ledger.forget(pid, thread.tid);
    None
}

/// Frees a thread that inherited a mask of ours. Returns that mask if the kernel refused.
fn free_if_inherited(
    ledger: &mut Ledger,
    follow: &mut Follow<'_>,
    pid: Pid,
    thread: &mut ThreadSample,
    mask: &CpuSet,
    limits: &mut Limits,
) -> Option<CpuSet> {
    let one = (pid, thread.tid, thread.start);
    let family = inherited::family(ledger, one, mask, limits).cloned()?;
    // Sensors may have read the mask before isobar freed it.
    let bound = affinity::get(thread.tid).is_ok_and(|now| now == *mask);
    let heir = bound.then(|| inherited::free(ledger, follow, one, &family));
    if matches!(heir, None | Some(Ok(InheritedMask::Freed { .. }))) {
        thread.allowed = Some(family.original.cpus);
        thread.pinned = family.original.pinned;
    }
    let is_refused = heir.is_some_and(|heir| heir.is_err());
    is_refused.then(|| inherited::asked_for(ledger, one, mask, limits))
}

/// Whether the thread that started at `start` lives: by the sample if it lists the thread,
/// otherwise by the kernel.
fn lives_still(pid: Pid, tid: Tid, start: u64, listed: &[ThreadSample]) -> bool {
    match listed.binary_search_by_key(&tid, |thread| thread.tid) {
        Ok(index) => listed[index].start == start,
        Err(_) => !identity::has_ended(pid, tid, start),
    }
}
