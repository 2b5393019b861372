//! Heirs: threads and child processes that inherited the single CPU that we gave to the thread that made them.
//!
//! `clone(2)` copies the affinity mask, so everything that a moved thread makes is bound where we bound it, although nobody
//! decided so, and nothing would ever put it back. Reading: a task is an heir when
//!
//! - it is a thread of a process that we moved threads of, or of one of its descendants by parent pid;
//! - it is younger than our first change of that process;
//! - its mask is a single CPU, one that we put a thread of that process on;
//! - it is not itself recorded.
//!
//! An heir gets the widest mask that the moved threads of its process had before, and is from then on an ordinary thread.
//!
//! Limits: a program that binds a new thread to the very CPU that we had put another of its threads on looks the same, and is
//! unbound; the children of an heir *process* whose ancestors all ended between two samples (daemons that fork
//! twice) have lost the parents by which they would be known, and stay bound.

use super::ledger::{Ledger, ProcessEntry};
use super::{affinity, identity, threads};
use isobar_model::{CpuSet, Pid, Tid};

/// Longer chains of parents are not followed.
const MOST_ANCESTORS: usize = 64;

/// The entry that a task with this start and mask inherited from; `None` when it is no heir.
#[must_use]
pub fn family<'a>(ledger: &'a Ledger, pid: Pid, start: u64, mask: &CpuSet) -> Option<&'a ProcessEntry> {
    let suspected = mask.len() == 1 && ledger.processes.values().any(|process| process.is_heir(start, mask));
    if suspected { ancestor(ledger, pid).filter(|process| process.is_heir(start, mask)) } else { None }
}

/// The nearest of a process and its ancestors that is in the ledger.
fn ancestor(ledger: &Ledger, pid: Pid) -> Option<&ProcessEntry> {
    let mut pid = pid;
    for _ in 0..MOST_ANCESTORS {
        let process = identity::process(pid)?;
        if let Some(entry) = ledger.process(pid, process.start) {
            return Some(entry);
        }
        if process.parent.0 <= 1 {
            return None;
        }
        pid = process.parent;
    }
    None
}

/// Frees an heir, and takes its process into the ledger so that its own children are recognised later. False when the
/// kernel refused or it ended.
pub fn free(ledger: &mut Ledger, pid: Pid, tid: Tid, family: &ProcessEntry) -> bool {
    if let Some(process) = identity::process(pid) {
        ledger.adopt(pid, process.start, family);
    }
    threads::put_back(tid, &family.original).is_ok()
}

/// Frees every heir on the machine, as far as we may see and change it; returns how many. Looks at every process.
pub fn free_all(ledger: &mut Ledger) -> usize {
    let mut freed = 0;
    for pid in identity::processes() {
        if ancestor(ledger, pid).is_some() {
            freed += identity::threads(pid).into_iter().filter(|&tid| free_if_heir(ledger, pid, tid)).count();
        }
    }
    freed
}

fn free_if_heir(ledger: &mut Ledger, pid: Pid, tid: Tid) -> bool {
    let Some(task) = identity::task(pid, tid) else { return false };
    let Ok(mask) = affinity::get(tid) else { return false };
    if ledger.thread(pid, tid, task.start).is_some() {
        return false;
    }
    let Some(entry) = family(ledger, pid, task.start, &mask).cloned() else { return false };
    free(ledger, pid, tid, &entry)
}
