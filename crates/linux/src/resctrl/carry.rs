//! Writes groups, masks and tasks until resctrl matches the target, and sweeps up what is left
//! over.
//!
//! Only differences are written. A refusal is returned with the clusters that it concerns. What was
//! done by then is undone when the rest is carried out again, because every round starts from the
//! present state.

use super::clusters::{Clusters, Key, Threads};
use super::error::ResctrlError;
use super::layout::{Slot, Slots};
use super::record::{Place, ResctrlRecord};
use super::restore;
use super::root::{Root, join};
use super::view::View;
use crate::kernel::ancestors::ancestry;
use crate::kernel::identity;
use crate::kernel::schemata::{BANDWIDTH, Schemata};
use isobar_model::{ActionOutcome, LlcId, Pid, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// What a refusal concerns.
#[derive(Debug)]
pub enum RefusalScope {
    /// No cluster: resctrl cannot be used at all.
    All(ResctrlError),
    /// These clusters.
    Clusters {
        /// which
        keys: Vec<Key>,
        /// their outcome
        outcome: ActionOutcome,
    },
}

/// One round of writing.
pub struct Carrier<'a> {
    /// the file system
    pub root: &'a Root,
    /// the present state
    pub view: &'a View,
    /// the target
    pub target: &'a Clusters,
    /// which cluster is in which group
    pub slots: &'a Slots,
    /// the names of the groups
    pub names: &'a BTreeMap<Slot, String>,
}

impl Carrier<'_> {
    /// Makes groups, sets masks and moves tasks. Returns which threads had ended.
    ///
    /// # Errors
    /// [`RefusalScope`] at the first refusal.
    pub fn run(&self) -> Result<BTreeSet<Tid>, RefusalScope> {
        let mut gone = BTreeSet::new();
        // First every group gets its masks, so that a task never enters a group with another
        // cluster's mask.
        for (slot, keys) in self.groups() {
            self.prepare(slot, &keys)?;
        }
        for (tid, pid, start, key) in self.target.members() {
            let Some(name) = self.slots.get(key).and_then(|slot| self.names.get(slot)) else { continue };
            if self.view.ours.get(name).is_some_and(|group| group.tasks.contains(&tid)) {
                continue;
            }
            if !identity::lives(pid, tid, start) || self.put(tid, name, key)?.is_none() {
                gone.insert(tid);
            }
        }
        Ok(gone)
    }

    fn groups(&self) -> BTreeMap<Slot, Vec<&Key>> {
        let mut groups = BTreeMap::<Slot, Vec<&Key>>::new();
        self.slots.iter().for_each(|(key, slot)| groups.entry(*slot).or_default().push(key));
        groups
    }

    /// `None` if the task had ended.
    fn put(&self, tid: Tid, group: &str, key: &Key) -> Result<Option<()>, RefusalScope> {
        match self.root.put(tid, group) {
            Ok(()) => Ok(Some(())),
            Err(error) if error.errno() == Some(libc::ESRCH) => Ok(None),
            Err(error) => Err(self.blame(&[key], error)),
        }
    }

    /// Makes sure that a group exists and has its masks.
    fn prepare(&self, slot: Slot, keys: &[&Key]) -> Result<(), RefusalScope> {
        let Some(name) = self.names.get(&slot) else { return Ok(()) };
        let standing = match self.view.ours.get(name) {
            Some(group) => group.schemata.clone(),
            None => {
                let made = self.root.make(name).and_then(|()| self.root.schemata(name));
                made.map_err(|error| self.blame(keys, error))?
            }
        };
        for domain in self.view.domains() {
            let own: Vec<&Key> = keys.iter().copied().filter(|key| key.llc == LlcId(domain)).collect();
            let fresh = self.wanted(domain, own.first().copied()).beyond(&standing);
            if !fresh.is_empty() {
                // A domain in which the group has no cluster concerns all its clusters.
                let concerned = if own.is_empty() { keys } else { &own[..] };
                let written = self.root.write(&join(name, "schemata"), &fresh.to_string());
                written.map_err(|error| self.blame(concerned, error))?;
            }
        }
        Ok(())
    }

    /// What a group is to have in a domain: its cluster's mask and share, or those of the default
    /// group.
    fn wanted(&self, domain: u32, key: Option<&Key>) -> Schemata {
        let cluster = key.and_then(|key| self.target.get(key));
        let mut wanted = Schemata::default();
        for resource in &self.view.info.resources {
            let mask = cluster.map(|cluster| cluster.way_mask).or_else(|| self.view.default.get(resource, domain));
            mask.into_iter().for_each(|mask| wanted.set(resource, domain, mask));
        }
        if let (Some(info), Some(default)) = (&self.view.info.bandwidth, self.view.default.get(BANDWIDTH, domain)) {
            let share = cluster.and_then(|cluster| cluster.percent).map(|percent| u64::from(info.rounded(percent)));
            wanted.set(BANDWIDTH, domain, share.unwrap_or(default));
        }
        wanted
    }

    fn blame(&self, keys: &[&Key], error: ResctrlError) -> RefusalScope {
        if matches!(error, ResctrlError::NotMounted { .. }) {
            return RefusalScope::All(error);
        }
        let mut outcome = error.outcome();
        if let ActionOutcome::Refused { errno: Some(libc::ENOSPC), why } = &mut outcome {
            let others = self.view.others.join(", ").escape_debug().to_string();
            why.push_str(&if others.is_empty() {
                String::new()
            } else {
                format!(" (groups of other programs: {others})")
            });
        }
        RefusalScope::Clusters { keys: keys.iter().map(|key| (*key).clone()).collect(), outcome }
    }
}

/// Sends home the tasks in a group that are not among its `members`, and removes the group if it is
/// no longer `used`. `record` says where tasks come from. Threads and children that a member made
/// stay with it, except those in `dropped`, which an earlier plan named.
///
/// # Errors
/// The kernel's refusal.
pub fn sweep(
    root: &Root,
    record: &ResctrlRecord,
    (group, used): (&str, bool),
    members: &Threads,
    dropped: &BTreeSet<Tid>,
) -> Result<(), ResctrlError> {
    let tasks = match root.tasks(group) {
        Err(error) if error.is_absence() => return root.remove(group),
        tasks => tasks?,
    };
    let pids: BTreeSet<Pid> = members.values().map(|(pid, _)| *pid).collect();
    for tid in tasks.into_iter().filter(|tid| !members.contains_key(tid)) {
        if used && !dropped.contains(&tid) && is_made_by(tid, &pids) {
            continue;
        }
        match restore::home(record, tid) {
            Some(place) => restore::send_home(root, tid, place)?,
            // If the group is removed, the kernel moves its tasks to the default group by itself.
            None if used => restore::send_home(root, tid, &Place::default())?,
            None => {}
        }
    }
    if used { Ok(()) } else { root.remove(group) }
}

/// Whether a task was made by one of these processes, or by their descendants.
fn is_made_by(tid: Tid, pids: &BTreeSet<Pid>) -> bool {
    let Some(pid) = identity::process_of(tid) else { return false };
    ancestry(pid, identity::process).any(|(pid, _)| pid.0 > 1 && pids.contains(&pid))
}
