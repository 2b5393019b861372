//! Puts resctrl back by the record in the state file: on a normal end, a signal, a panic, and by
//! `isobar restore` after a kill -9.
//!
//! Our groups are removed, and the kernel gives their tasks to the default group. Tasks that
//! another tool had in a group of its own go back there first, and so do threads and children that
//! they made meanwhile, which were created in our group. A task that is no longer in a group of
//! ours was moved by its owner and is left alone. A second call is harmless.

use super::error::ResctrlError;
use super::record::{Place, ResctrlRecord};
use super::root::{Root, join};
use crate::kernel::ancestors::ancestry;
use crate::kernel::identity;
use isobar_model::Tid;
use rustix::fs::FlockOperation;
use std::time::Duration;

/// How long to wait for others. After that it is done without the lock, because only isobar's own
/// groups are touched.
const PATIENCE: Duration = Duration::from_secs(2);

/// What became of the groups that were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupsBack {
    /// Number of groups removed.
    pub groups: usize,
    /// Number of tasks that were in them, and are back where they were before.
    pub tasks: usize,
    /// Number of groups that the kernel did not let us remove; they stay in the record.
    pub refused: usize,
    /// The first refusal.
    pub refusal: Option<String>,
}

/// Puts everything in the record back; what the kernel refuses stays in it.
pub fn put_back(record: &mut ResctrlRecord) -> GroupsBack {
    let mut report = GroupsBack::default();
    if record.is_empty() {
        return report;
    }
    let root = Root::new(&record.root);
    match root.check() {
        // The kernel removes every group with the mount.
        Err(ResctrlError::NotMounted { .. }) => {
            *record = ResctrlRecord::default();
            return report;
        }
        Err(error) => refuse(&mut report, &error),
        Ok(()) => remove_groups(&root, record, &mut report),
    }
    if record.groups.is_empty() {
        *record = ResctrlRecord::default();
    }
    report
}

fn remove_groups(root: &Root, record: &mut ResctrlRecord, report: &mut GroupsBack) {
    let _lock = root.lock(FlockOperation::NonBlockingLockExclusive, PATIENCE).ok();
    for group in record.groups.clone() {
        match remove_group(root, record, &group) {
            Ok(tasks) => {
                report.groups += usize::from(tasks.is_some());
                report.tasks += tasks.unwrap_or(0);
                record.groups.remove(&group);
            }
            Err(error) => refuse(report, &error),
        }
    }
}

fn refuse(report: &mut GroupsBack, error: &ResctrlError) {
    report.refused += 1;
    report.refusal.get_or_insert_with(|| error.to_string());
}

/// Removes one group and returns how many tasks it had; `None` if it was gone.
fn remove_group(root: &Root, record: &ResctrlRecord, group: &str) -> Result<Option<usize>, ResctrlError> {
    let tasks = match root.tasks(group) {
        Err(error) if error.is_absence() => {
            // A folder without these files is not one of resctrl's, but removing a folder with our
            // name is harmless.
            root.remove(group)?;
            return Ok(None);
        }
        tasks => tasks?,
    };
    for tid in &tasks {
        if let Some(place) = home(record, *tid).filter(|place| !place.is_default()) {
            send_home(root, *tid, place)?;
        }
    }
    root.remove(group)?;
    Ok(Some(tasks.len()))
}

/// Where a task in a group of ours belongs, if that is not the default group.
#[must_use]
pub fn home(record: &ResctrlRecord, tid: Tid) -> Option<&Place> {
    if record.tasks.is_empty() {
        return None;
    }
    let pid = identity::process_of(tid)?;
    let start = identity::task(pid, tid)?.start;
    let of_process =
        || ancestry(pid, identity::process).find_map(|(pid, process)| record.place_of_process(pid, process?.start));
    record.place_of(tid, start).or_else(of_process)
}

/// Puts a task back where it was. If that group is gone, the task goes to the default group, as the
/// kernel would have done.
///
/// # Errors
/// The kernel's refusal; a task that ended is no error.
pub fn send_home(root: &Root, tid: Tid, place: &Place) -> Result<(), ResctrlError> {
    match root.put(tid, &place.control) {
        Err(error) if error.errno() == Some(libc::ENOENT) && !place.control.is_empty() => {
            return ended(root.put(tid, ""));
        }
        put => ended(put)?,
    }
    let monitor = place.monitor.as_ref().map(|monitor| join(&place.control, &format!("mon_groups/{monitor}")));
    match monitor.map(|monitor| root.put(tid, &monitor)) {
        Some(Err(error)) if !error.is_absence() => Err(error),
        _ => Ok(()),
    }
}

fn ended(put: Result<(), ResctrlError>) -> Result<(), ResctrlError> {
    match put {
        Err(error) if error.errno() == Some(libc::ESRCH) => Ok(()),
        other => other,
    }
}
