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
    /// Tasks that were in another tool's group. All others were in the default group alone, where
    /// the kernel puts them by itself when a group of ours is removed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<Tid, Origin>,
}

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

    /// Where a task came from: by its own entry, otherwise by that of a thread of its process.
    /// `None`: from the default group, as far as is known.
    #[must_use]
    pub fn place_of(&self, tid: Tid, start: u64, pid: Pid) -> Option<&Place> {
        let own = self.tasks.get(&tid).filter(|origin| origin.start == start);
        own.or_else(|| self.tasks.values().find(|origin| origin.pid == pid)).map(|origin| &origin.place)
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
        assert_eq!(record.place_of(Tid(5), 7, Pid(5)), Some(&web));
        assert_eq!(record.place_of(Tid(6), 9, Pid(5)), Some(&web), "born in our group, of a process of theirs");
        assert_eq!(record.place_of(Tid(5), 8, Pid(4)), None, "another task of that id");
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<ResctrlRecord>(&text).unwrap(), record);
    }
}
