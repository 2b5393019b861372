//! Follows threads that execute a program and so take over their process. The other threads end,
//! and the thread goes on with the id and the start time of the main thread, but with its own mask
//! (`execve(2)`). If isobar set that mask, the record must move with it, because the old id looks
//! like that of a thread that has ended.

use super::displaced::{self, Limits};
use super::entries::{ProcessEntry, ThreadEntry};
use super::ledger::Ledger;
use crate::kernel::{affinity, identity};
use isobar_model::{CpuSet, Pid, Tid};

/// Hands the records of threads that took over their process to its main thread.
pub fn follow(ledger: &mut Ledger) {
    let has_others = |(pid, entry): &(&Pid, &ProcessEntry)| entry.threads.keys().any(|tid| tid.0 != pid.0);
    let pids: Vec<Pid> = ledger.processes.iter().filter(has_others).map(|(pid, _)| *pid).collect();
    for pid in pids {
        let main = Tid(pid.0);
        let start = ledger.processes.get(&pid).map_or(0, |entry| entry.start);
        if ledger.is_owned(main, start) || identity::process(pid).is_none_or(|process| process.start != start) {
            continue;
        }
        let Ok(mask) = affinity::get(main) else { continue };
        let Some(entry) = ledger.processes.get_mut(&pid) else { continue };
        let given = entry.threads.values().map(|thread| &thread.ours);
        let mask = displaced::asked_for((pid, main), &mask, given, &mut Limits::default());
        if let Some(gone) = taken_over(entry, pid, &mask).and_then(|tid| entry.threads.remove(&tid)) {
            entry.threads.insert(main, ThreadEntry { start, ..gone });
        }
    }
}

/// The recorded thread whose mask the main thread has now. `None` if that thread has not ended, or
/// if the main thread had that mask already, by its own record or because its owner set it.
fn taken_over(entry: &ProcessEntry, pid: Pid, mask: &CpuSet) -> Option<Tid> {
    let main = Tid(pid.0);
    let its_own = entry.threads.get(&main).map_or(entry.main == *mask, |thread| thread.is_ours(mask));
    if its_own {
        return None;
    }
    let ended = |tid: Tid| tid != main && matches!(identity::find(pid, tid), Ok(None));
    entry.threads.iter().find(|(tid, thread)| thread.is_ours(mask) && ended(**tid)).map(|(tid, _)| *tid)
}
