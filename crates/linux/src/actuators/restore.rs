//! Puts everything back: on a normal end, a signal, a panic, and by `isobar restore` after a kill
//! -9.
//!
//! A thread gets its mask back if it is still the thread that isobar moved (same boot, same start
//! time) and its mask is still the one that isobar set. A thread whose owner changed it meanwhile
//! belongs to its owner, and a reused id is another thread: both are left alone, and counted.

use super::balancing::{self, SWITCH};
use super::entries::ThreadEntry;
use super::error::{ActuatorError, boot_id};
use super::inherited::{self, Freed};
use super::ledger::{Follow, Ledger};
use super::outstanding::Outstanding;
use super::rounds::free_heirs;
use super::state_file::StateFile;
use super::{displaced, exec, weights};
use crate::kernel::mempolicy::WEIGHTS;
use crate::kernel::{affinity, identity};
use crate::resctrl;
use isobar_model::{ActionOutcome, CpuSet, Pid, Tid};
use std::fmt;
use std::io;
use std::path::Path;

/// Number of isobar's own calls after which the kernel's events are read, before the calls fill its
/// buffer.
pub const CALLS_BETWEEN_READINGS: usize = 64;

/// What became of the threads that were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// Threads that were put back.
    pub restored: usize,
    /// Threads that were recorded but as before: the move had not taken place.
    pub untouched: usize,
    /// Threads that ended meanwhile.
    pub vanished: usize,
    /// Threads that ended and whose id is another thread's now: left alone.
    pub reused: usize,
    /// Threads that their owner changed after isobar did: left alone.
    pub changed_by_owner: usize,
    /// Threads, groups and switches that the kernel refused to put back; their records are kept.
    pub refused: usize,
    /// Threads and children that had inherited a mask of ours, and were freed of it.
    pub inherited: usize,
    /// Groups of resctrl that isobar had made, and that were removed.
    pub groups: usize,
    /// Tasks that were in those groups, and are back in the groups where they had been.
    pub grouped_tasks: usize,
    /// Whether the record was of an earlier boot: in that case there is nothing to put back.
    pub earlier_boot: bool,
    /// The first refusal, in words.
    pub refusal: Option<String>,
    /// Remarks for a person, a line each, such as threads that were freed or left by likeness.
    pub remarks: Vec<String>,
}

impl fmt::Display for RestoreReport {
    /// One line for people; counts of zero are not mentioned.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.earlier_boot {
            return f.write_str("the state file is from an earlier boot: nothing to put back");
        }
        write!(f, "{} threads put back", self.restored)?;
        let others = [
            (self.inherited, "with an inherited binding unbound"),
            (self.untouched, "had not been moved yet"),
            (self.vanished, "ended meanwhile"),
            (self.reused, "left alone (id reused)"),
            (self.changed_by_owner, "left alone (changed by their owner meanwhile)"),
            (self.groups, "resctrl groups removed"),
            (self.grouped_tasks, "tasks put back into their earlier groups"),
            (self.refused, "refused by the kernel"),
        ];
        others.iter().filter(|(count, _)| *count > 0).try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}

/// Puts back what the state file at `path` records, for `isobar restore`. `None` if there is no
/// such file.
///
/// The file is deleted when everything is put back. Otherwise it is kept with what remains.
///
/// # Errors
/// [`ActuatorError::Locked`] while an isobar uses the file; an error if the file cannot be read or
/// written, or if `path` is anything other than a state file that can be trusted. Nothing is
/// created in that case.
pub fn restore(path: &Path) -> Result<Option<RestoreReport>, ActuatorError> {
    match StateFile::existing(path)? {
        Some(file) => recover(&file),
        None => Ok(None),
    }
}

/// Puts back what a state file records whose lock is held already.
///
/// # Errors
/// As [`restore`].
pub fn recover(file: &StateFile) -> Result<Option<RestoreReport>, ActuatorError> {
    let Some(mut ledger) = file.load()? else { return Ok(None) };
    if ledger.boot_id != boot_id()? {
        file.remove()?;
        return Ok(Some(RestoreReport { earlier_boot: true, ..RestoreReport::default() }));
    }
    // Forks were not followed after that isobar ended.
    let report = put_back(&mut ledger, &mut |_| false, &Outstanding::default());
    settle(file, &ledger)?;
    Ok(Some(report))
}

/// Puts back everything in the ledger. Whatever the kernel refused stays in it. `outstanding` is
/// kept up to date.
pub fn put_back(ledger: &mut Ledger, follow: &mut Follow<'_>, outstanding: &Outstanding) -> RestoreReport {
    follow(ledger);
    exec::follow(ledger);
    outstanding.set(ledger);
    let mut report = RestoreReport::default();
    let entries = ledger
        .processes
        .iter()
        .flat_map(|(&pid, process)| process.threads.iter().map(move |(&tid, thread)| (pid, tid, thread.clone())));
    let mut freed = Freed::default();
    for (count, (pid, tid, thread)) in entries.collect::<Vec<_>>().into_iter().enumerate() {
        if count % CALLS_BETWEEN_READINGS == CALLS_BETWEEN_READINGS - 1 {
            follow(ledger);
            outstanding.set(ledger);
        }
        // Its owner may have bound it since this call began.
        if ledger.thread(pid, tid, thread.start).is_none() {
            continue;
        }
        if put_back_one(pid, tid, &thread, &mut report) {
            freed.settle(pid, tid, thread.start);
            ledger.put_back(pid, tid);
            outstanding.settle_one();
        }
    }
    put_back_groups(ledger, &mut report);
    put_back_weights(ledger, &mut report);
    put_back_balancing(ledger, &mut report);
    outstanding.set(ledger);
    // Last, because it may have to wait.
    outstanding.set_frees_heirs(true);
    free_heirs(ledger, follow, &mut freed);
    outstanding.set_frees_heirs(false);
    leave_to_owners(ledger, &mut report);
    report.inherited = freed.count();
    report.remarks.extend(freed.remarks());
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

fn put_back_weights(ledger: &mut Ledger, report: &mut RestoreReport) {
    let Some(record) = ledger.weights.take() else { return };
    match weights::put_back(Path::new(WEIGHTS), &record) {
        Ok(true) => {}
        Ok(false) => {
            report.remarks.push(format!("{WEIGHTS}: left alone: another program has set the weights meanwhile"));
        }
        Err(error) => {
            report.refused += 1;
            report.refusal = report.refusal.take().or_else(|| Some(format!("{WEIGHTS}: {error}")));
            ledger.weights = Some(record);
        }
    }
}

fn put_back_balancing(ledger: &mut Ledger, report: &mut RestoreReport) {
    let Some(record) = ledger.balancing.take() else { return };
    match balancing::put_back(Path::new(SWITCH), &record) {
        Ok(true) => {
            report.remarks.push(format!("NUMA balancing is as it was (kernel.numa_balancing={})", record.before));
        }
        Ok(false) => report.remarks.push(format!(
            "{SWITCH}: left alone: another program has set it meanwhile; it was {} before isobar switched it off",
            record.before
        )),
        Err(error) => {
            report.refused += 1;
            report.refusal = report.refusal.take().or_else(|| Some(format!("{SWITCH}: {error}")));
            ledger.balancing = Some(record);
        }
    }
}

/// Deletes the file if the ledger has nothing left to put back. Otherwise the file keeps what
/// remains.
///
/// # Errors
/// [`ActuatorError::State`].
pub fn settle(file: &StateFile, ledger: &Ledger) -> Result<(), ActuatorError> {
    if ledger.is_empty() { file.remove() } else { file.save(ledger) }
}

/// Reports threads that their owners bound to one CPU, or to the very CPUs that isobar had given.
/// They stay bound.
fn leave_to_owners(ledger: &Ledger, report: &mut RestoreReport) {
    for (&tid, owned) in &ledger.owned {
        let alive = identity::lives(owned.pid, tid, owned.start);
        let gave = |mask: &CpuSet| ledger.processes.get(&owned.pid).is_some_and(|one| one.history.contains(mask));
        let mask = affinity::get(tid).ok().filter(|mask| alive && (mask.len() == 1 || gave(mask)));
        if let Some(mask) = mask {
            report.changed_by_owner += 1;
            report.remarks.push(format!(
                "thread {tid} of process {} ({}) stays bound to CPU {mask}: its owner bound it there while isobar ran",
                owned.pid,
                identity::name(owned.pid)
            ));
        }
    }
    inherited::shorten(&mut report.remarks, "threads");
}

/// Puts back one thread and counts the result. Returns whether the record is settled; only a
/// refusal leaves it open.
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

/// Puts back one recorded thread and drops its record. If the kernel refuses, the record stays.
pub fn put_back_thread(ledger: &mut Ledger, pid: Pid, tid: Tid) -> ActionOutcome {
    let Some(thread) = ledger.processes.get(&pid).and_then(|process| process.threads.get(&tid)).cloned() else {
        let why = "isobar's binding of the thread is already gone".to_owned();
        return match identity::find(pid, tid) {
            Ok(None) => ActionOutcome::Vanished,
            Ok(Some(_)) | Err(_) => ActionOutcome::LeftAlone { why },
        };
    };
    let outcome = match fate(pid, tid, &thread) {
        Ok(Fate::Restored) => ActionOutcome::Done,
        Ok(Fate::Vanished | Fate::Reused) => ActionOutcome::Vanished,
        Ok(Fate::Untouched) => {
            ActionOutcome::LeftAlone { why: "the thread already has the affinity that it had before".to_owned() }
        }
        Ok(Fate::ChangedByOwner) => ActionOutcome::LeftAlone { why: "its owner has changed it meanwhile".to_owned() },
        Err(error) => {
            return ActionOutcome::Refused { errno: error.raw_os_error(), why: format!("thread {tid}: {error}") };
        }
    };
    ledger.put_back(pid, tid);
    outcome
}

enum Fate {
    Restored,
    Untouched,
    Vanished,
    Reused,
    ChangedByOwner,
}

fn fate(pid: Pid, tid: Tid, thread: &ThreadEntry) -> io::Result<Fate> {
    match identity::find(pid, tid) {
        Ok(None) => return Ok(Fate::Vanished),
        // Kernel threads are never recorded.
        Ok(Some(task)) if task.start != thread.start || task.kernel => return Ok(Fate::Reused),
        Ok(Some(_)) => {}
        // Hidden by `/proc`, so its start cannot be read. One whose mask is not ours has nothing
        // that could be put back, whoever it is.
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
            let mask = affinity::get(tid)?;
            let is_ours = displaced::is_given(pid, tid, &mask, &thread.ours)
                || displaced::is_displaced(pid, tid, &mask, &thread.ours.cpus());
            return if is_ours { Err(why) } else { Ok(Fate::Reused) };
        }
        Err(why) => return Err(why),
    }
    match act(pid, tid, thread) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(Fate::Vanished),
        other => other,
    }
}

fn act(pid: Pid, tid: Tid, thread: &ThreadEntry) -> io::Result<Fate> {
    let mask = affinity::get(tid)?;
    let is_given = displaced::is_given(pid, tid, &mask, &thread.ours);
    // If the cpuset is exactly the CPUs that isobar gave, both masks are the same. The restriction
    // must be lifted nevertheless.
    if mask == thread.original.cpus && (thread.original.pinned || !is_given) {
        displaced::have_it_forgotten(pid, tid, &mask, &thread.original);
        return Ok(Fate::Untouched);
    }
    if !is_given && !displaced::is_displaced(pid, tid, &mask, &thread.ours.cpus()) {
        return Ok(Fate::ChangedByOwner);
    }
    displaced::put_back(tid, &thread.original)?;
    Ok(Fate::Restored)
}
