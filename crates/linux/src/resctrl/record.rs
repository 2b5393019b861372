//! What isobar changed in resctrl, and where tasks were before: the part of the state file by which
//! `isobar restore` puts resctrl back. Pure.

use isobar_model::{Pid, Tid};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Our groups and where their tasks came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResctrlRecord {
    /// Where the file system is mounted.
    pub root: PathBuf,
    /// Control groups that isobar made or is about to make; the monitor groups in them end with
    /// them.
    pub groups: BTreeSet<String>,
    /// Tasks that were in another tool's group, and all other tasks of their processes. The rest
    /// was in the default group alone, where the kernel puts it by itself when a group of ours is
    /// removed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<Tid, Origin>,
}

/// A task, its process, and its start time.
pub type Task = (Tid, Pid, u64);

/// A task, and where it was before isobar changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// its process
    pub pid: Pid,
    /// its start time, in ticks since boot
    pub start: u64,
    /// where it was
    pub place: Place,
}

/// A control group, and a monitor group in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The control group; empty for the default one.
    pub control: String,
    /// The monitor group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<String>,
}

impl ResctrlRecord {
    /// Whether there is nothing to put back.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.tasks.is_empty()
    }

    /// Records where tasks are that isobar is about to take from outside our groups. If a process
    /// has a task in a group of `foreign`, its tasks in the default group are recorded, too, also
    /// those that isobar took before (`inside`): a task without an entry goes where its process
    /// goes.
    pub fn take(&mut self, outside: &[Task], inside: &[Task], foreign: &BTreeMap<Tid, Place>) {
        let known = self.processes();
        for &(tid, pid, start) in outside {
            match foreign.get(&tid) {
                Some(place) => drop(self.tasks.insert(tid, Origin { pid, start, place: place.clone() })),
                None => drop(self.tasks.remove(&tid)),
            }
        }
        let split = self.processes();
        let left_out = outside.iter().filter(|(_, pid, _)| split.contains(pid));
        // Later ones were created in our group, and have no place of their own.
        let earlier = inside.iter().filter(|(_, pid, _)| split.contains(pid) && !known.contains(pid));
        for &(tid, pid, start) in left_out.chain(earlier) {
            self.tasks.entry(tid).or_insert_with(|| Origin { pid, start, place: Place::default() });
        }
    }

    fn processes(&self) -> BTreeSet<Pid> {
        self.tasks.values().map(|origin| origin.pid).collect()
    }

    /// Where a task was. `None`: it has no entry, because isobar did not move it or because it was
    /// in the default group, as all of its process.
    #[must_use]
    pub fn place_of(&self, tid: Tid, start: u64) -> Option<&Place> {
        self.tasks.get(&tid).filter(|origin| origin.start == start).map(|origin| &origin.place)
    }

    /// Where tasks belong that a process created in our group: where its main thread was, otherwise
    /// where another of its threads was. `start` is when the process started: an entry from before
    /// is of another process that had this id.
    #[must_use]
    pub fn place_of_process(&self, pid: Pid, start: u64) -> Option<&Place> {
        let of_it = |origin: &&Origin| origin.pid == pid && origin.start >= start;
        let main = self.tasks.get(&Tid(pid.0)).filter(of_it);
        main.or_else(|| self.tasks.values().find(of_it)).map(|origin| &origin.place)
    }
}

impl Place {
    /// Whether it is the default group and no monitor group.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.control.is_empty() && self.monitor.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_comes_from_its_own_place_or_its_processes() {
        let web = Place { control: "web".into(), monitor: None };
        let origin = Origin { pid: Pid(5), start: 7, place: web.clone() };
        let record = ResctrlRecord { tasks: [(Tid(5), origin)].into(), ..ResctrlRecord::default() };
        assert_eq!(record.place_of(Tid(5), 7), Some(&web));
        assert_eq!(record.place_of(Tid(5), 8), None, "another task of that id");
        assert_eq!(record.place_of(Tid(6), 9), None);
        assert_eq!(record.place_of_process(Pid(5), 7), Some(&web), "born in our group, of a process of theirs");
        assert_eq!(record.place_of_process(Pid(5), 8), None, "another process of that id");
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<ResctrlRecord>(&text).unwrap(), record);
    }

    #[test]
    fn of_a_process_with_one_thread_in_anothers_group_every_thread_is_recorded() {
        let eye = Place { control: String::new(), monitor: Some("eye".into()) };
        let [main, second, third, other] =
            [(5, 5, 7), (6, 5, 8), (7, 5, 9), (8, 8, 9)].map(|(tid, pid, start)| (Tid(tid), Pid(pid), start));
        let mut record = ResctrlRecord::default();
        record.take(&[second, other], &[], &BTreeMap::new());
        assert!(record.is_empty(), "all of it is in the default group");
        record.take(&[main, third], &[second, other], &[(Tid(5), eye.clone())].into());
        assert_eq!(record.place_of(Tid(5), 7), Some(&eye));
        assert_eq!(record.place_of(Tid(6), 8), Some(&Place::default()), "taken before");
        assert_eq!(record.place_of(Tid(7), 9), Some(&Place::default()));
        assert_eq!(record.place_of(Tid(8), 9), None, "another process");
        record.take(&[], &[main, (Tid(9), Pid(5), 20)], &BTreeMap::new());
        assert_eq!((record.place_of(Tid(9), 20), record.place_of_process(Pid(5), 7)), (None, Some(&eye)));
    }
}
