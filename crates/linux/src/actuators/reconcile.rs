//! Makes samples show what owners set, not what isobar set. Sensors may have read a mask before
//! isobar changed it, so the kernel is asked again before a record is dropped or a thread freed.

use super::inherited::Heir;
use super::ledger::{Follow, Ledger};
use super::{displaced, inherited};
use crate::kernel::{affinity, identity};
use isobar_model::{CpuSet, Pid, ProcessSample, Sample, ThreadSample, Tid};

/// Makes moved threads show the mask that they had before, frees tasks that inherited a mask of
/// ours, and drops threads from the ledger that their owners have changed since.
pub fn show_owners_masks(ledger: &mut Ledger, follow: &mut Follow<'_>, sample: &mut Sample) {
    for process in &mut sample.processes {
        let ProcessSample { pid, threads, .. } = process;
        threads.iter_mut().for_each(|thread| show_owners_mask(ledger, follow, *pid, thread));
    }
}

/// Drops threads and processes that ended. A sample may leave processes out, so those that are not
/// in it are looked up.
pub fn forget_ended(ledger: &mut Ledger, sample: &Sample) {
    let lives = |pid, start| {
        let seen = sample.processes.binary_search_by_key(&pid, |process| process.pid);
        match seen {
            Ok(index) => sample.processes[index].start == start,
            Err(_) => identity::process(pid).is_some_and(|process| process.start == start),
        }
    };
    ledger.processes.retain(|&pid, entry| lives(pid, entry.start));
    for (&pid, entry) in &mut ledger.processes {
        let seen = sample.processes.binary_search_by_key(&pid, |process| process.pid).ok();
        let listed = seen.map_or(&[][..], |index| &sample.processes[index].threads);
        entry.threads.retain(|&tid, thread| start_of(pid, tid, listed) == Some(thread.start));
    }
    ledger.owned.retain(|&tid, owned| start_of(owned.pid, tid, &[]) == Some(owned.start));
}

fn show_owners_mask(ledger: &mut Ledger, follow: &mut Follow<'_>, pid: Pid, thread: &mut ThreadSample) {
    let Some(mask) = thread.allowed.clone() else { return };
    thread.bound = Some(false);
    let Some(record) = ledger.thread(pid, thread.tid, thread.start) else {
        return free_if_inherited(ledger, follow, pid, thread, &mask);
    };
    // Sensors may have read the mask before isobar's last move, so the kernel is asked before a
    // record is dropped.
    let now = if record.is_ours(&mask) { Ok(mask) } else { affinity::get(thread.tid) };
    if now.as_ref().is_ok_and(|now| displaced::is_given(pid, thread.tid, now, &record.ours)) {
        thread.allowed = Some(record.original.cpus.clone());
        thread.pinned = record.original.pinned;
        // A thread that was freed again may run wherever its owner lets it.
        thread.bound = Some(!record.original.cpus.is_subset(&record.ours.cpus()));
        return;
    }
    if now.as_ref().is_ok_and(|now| displaced::is_displaced(pid, thread.tid, now, &record.ours.cpus())) {
        if displaced::put_back(thread.tid, &record.original).is_err() {
            return;
        }
        thread.allowed = affinity::get(thread.tid).ok();
        thread.pinned = record.original.pinned;
    } else if let Ok(now) = &now {
        displaced::have_it_forgotten(pid, thread.tid, now, &record.original);
    }
    ledger.forget(pid, thread.tid);
}

fn free_if_inherited(ledger: &mut Ledger, follow: &mut Follow<'_>, pid: Pid, thread: &mut ThreadSample, mask: &CpuSet) {
    let family = inherited::family(ledger, pid, thread.tid, thread.start, mask);
    let Some(family) = family.cloned() else { return };
    // Sensors may have read the mask before isobar freed it.
    let bound = affinity::get(thread.tid).is_ok_and(|now| now == *mask);
    let mut free = || inherited::free(ledger, follow, (pid, thread.tid, thread.start), &family);
    if !bound || matches!(free(), Ok(Heir::Freed { .. })) {
        thread.allowed = Some(family.original.cpus);
        thread.pinned = family.original.pinned;
    }
}

/// When a thread started: from the sample if it lists the thread, otherwise from the kernel.
fn start_of(pid: Pid, tid: Tid, listed: &[ThreadSample]) -> Option<u64> {
    match listed.binary_search_by_key(&tid, |thread| thread.tid) {
        Ok(index) => Some(listed[index].start),
        Err(_) => identity::task(pid, tid).map(|task| task.start),
    }
}
