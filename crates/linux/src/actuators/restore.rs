//! Putting everything back: on a normal end, a signal, a panic, and by `isobar restore` after a kill -9.
//!
//! A thread gets its mask back if it is still the thread that we moved (same boot, same start time) and its mask is still
//! the one that we set. A thread whose owner changed it meanwhile is its owner's, a reused id is another thread: both are
//! left alone, and counted.

use super::ledger::{Ledger, ThreadEntry};
use super::state_file::StateFile;
use super::{ActuatorError, affinity, displaced, heirs, identity, threads};
use crate::resctrl;
use isobar_model::{Pid, Tid};
use std::fmt;
use std::io;
use std::path::Path;

/// A thread may make others while we put it back; after so many rounds the rest is left.
const MOST_ROUNDS: usize = 10;

/// What became of the threads that were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// Put back.
    pub restored: usize,
    /// Recorded, but as it was before: the move had not taken place.
    pub untouched: usize,
    /// Ended meanwhile.
    pub vanished: usize,
    /// Ended, and its id is another thread's now: left alone.
    pub reused: usize,
    /// Changed by its owner after our change: left alone.
    pub changed_by_owner: usize,
    /// The kernel refused; the record is kept.
    pub refused: usize,
    /// Threads and children that had inherited a mask of ours, and were freed of it.
    pub heirs: usize,
    /// Groups of resctrl that were ours, and were removed.
    pub groups: usize,
    /// Tasks that were in them, and are in the groups where they had been.
    pub grouped_tasks: usize,
    /// Whether the record was of an earlier boot: then there is nothing to put back.
    pub earlier_boot: bool,
    /// The first refusal, in words.
    pub refusal: Option<String>,
}

impl fmt::Display for RestoreReport {
    /// One line for people; what did not occur is not mentioned.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.earlier_boot {
            return f.write_str("the state is of an earlier boot: nothing to put back");
        }
        write!(f, "{} threads put back", self.restored)?;
        let others = [
            (self.heirs, "that had inherited a mask freed"),
            (self.untouched, "had not been moved yet"),
            (self.vanished, "ended meanwhile"),
            (self.reused, "left alone (id reused)"),
            (self.changed_by_owner, "left alone (changed by their owner meanwhile)"),
            (self.groups, "resctrl groups removed"),
            (self.grouped_tasks, "tasks back in the groups where they were"),
            (self.refused, "refused by the kernel"),
        ];
        others.iter().filter(|(count, _)| *count > 0).try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}

/// Puts back what the state file at `path` records, for `isobar restore`. `None` where there is no such file.
///
/// The file is deleted when everything is put back, else it is kept with what remains.
///
/// # Errors
/// [`ActuatorError::Locked`] while an isobar runs, and whatever keeps the file from being read or written.
pub fn restore(path: &Path) -> Result<Option<RestoreReport>, ActuatorError> {
    if !path.exists() {
        return Ok(None);
    }
    recover(&StateFile::lock(path)?)
}

/// The same for a state file that is owned already.
///
/// # Errors
/// As [`restore`].
pub fn recover(file: &StateFile) -> Result<Option<RestoreReport>, ActuatorError> {
    let Some(mut ledger) = file.load()? else { return Ok(None) };
    if ledger.boot_id != identity::boot_id()? {
        file.remove()?;
        return Ok(Some(RestoreReport { earlier_boot: true, ..RestoreReport::default() }));
    }
    let report = put_back(&mut ledger);
    settle(file, &ledger)?;
    Ok(Some(report))
}

/// Puts back everything in the ledger; what the kernel refused stays in it.
pub fn put_back(ledger: &mut Ledger) -> RestoreReport {
    let mut report = RestoreReport::default();
    let entries = ledger
        .processes
        .iter()
        .flat_map(|(&pid, process)| process.threads.iter().map(move |(&tid, thread)| (pid, tid, thread.clone())));
    for (pid, tid, thread) in entries.collect::<Vec<_>>() {
        if put_back_one(pid, tid, &thread, &mut report) {
            ledger.forget(pid, tid);
        }
    }
    report.heirs = free_heirs(ledger);
    put_back_groups(ledger, &mut report);
    report
}

fn put_back_groups(ledger: &mut Ledger, report: &mut RestoreReport) {
    let Some(mut record) = ledger.resctrl.take() else { return };
    let back = resctrl::restore::put_back(&mut record);
    (report.groups, report.grouped_tasks) = (back.groups, back.tasks);
    report.refused += back.refused;
    report.refusal = report.refusal.take().or(back.refusal);
    ledger.set_resctrl(&record);
}

/// Deletes the file of a ledger with nothing left to put back, else keeps what remains.
///
/// # Errors
/// [`ActuatorError::State`].
pub fn settle(file: &StateFile, ledger: &Ledger) -> Result<(), ActuatorError> {
    if ledger.is_empty() { file.remove() } else { file.save(ledger) }
}

/// Rounds, because an heir may make others until it is freed itself.
fn free_heirs(ledger: &mut Ledger) -> usize {
    if ledger.processes.is_empty() {
        return 0;
    }
    let rounds = (0..MOST_ROUNDS).map(|_| heirs::free_all(ledger));
    rounds.take_while(|freed| *freed > 0).sum()
}

/// Whether the record is settled; only a refusal leaves it open.
fn put_back_one(pid: Pid, tid: Tid, thread: &ThreadEntry, report: &mut RestoreReport) -> bool {
    let counter = match fate(pid, tid, thread) {
        Ok(Fate::Restored) => &mut report.restored,
        Ok(Fate::Untouched) => &mut report.untouched,
        Ok(Fate::Vanished) => &mut report.vanished,
        Ok(Fate::Reused) => &mut report.reused,
        Ok(Fate::ChangedByOwner) => &mut report.changed_by_owner,
        Err(error) => {
            report.refusal.get_or_insert_with(|| format!("thread {tid} of process {pid}: {error}"));
            report.refused += 1;
            return false;
        }
    };
    *counter += 1;
    true
}

enum Fate {
    Restored,
    Untouched,
    Vanished,
    Reused,
    ChangedByOwner,
}

fn fate(pid: Pid, tid: Tid, thread: &ThreadEntry) -> io::Result<Fate> {
    match identity::task(pid, tid) {
        None => return Ok(Fate::Vanished),
        Some(task) if task.start != thread.start => return Ok(Fate::Reused),
        Some(_) => {}
    }
    match act(pid, tid, thread) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(Fate::Vanished),
        other => other,
    }
}

fn act(pid: Pid, tid: Tid, thread: &ThreadEntry) -> io::Result<Fate> {
    let mask = affinity::get(tid)?;
    if mask == thread.original.cpus {
        return Ok(Fate::Untouched);
    }
    if !thread.is_ours(&mask) && !displaced::is_displaced(pid, tid, &mask, &thread.ours) {
        return Ok(Fate::ChangedByOwner);
    }
    threads::put_back(tid, &thread.original)?;
    Ok(Fate::Restored)
}
