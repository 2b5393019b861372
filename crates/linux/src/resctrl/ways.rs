//! The actuator of `set_ways`: it turns clusters of threads into resctrl groups.
//!
//! All requests of a plan are handled together. The present clusters and the requests give the
//! target clusters ([`super::clusters`]). These get groups ([`super::layout`]). Then groups, masks
//! and tasks are written until resctrl matches the target ([`super::carry`]). A refused request is
//! dropped and the rest is computed again from the present state, so that no part of the refused
//! request remains.
//!
//! The actuator holds the lock that resctrl's tools agree on while it changes anything. What it
//! will change is saved first, by the owner of the state file.

use super::beforehand::{possible, prefix, too_many};
use super::cache_ways::{CacheWays, Save};
use super::carry::{Carrier, RefusalScope, sweep};
use super::clusters::{Clusters, Key, Threads};
use super::error::ResctrlError;
use super::layout::{self, Slot, Slots, TooMany};
use super::monitors::Monitors;
use super::record::{ResctrlRecord, Task};
use super::request::{Request, Requests};
use super::root::Root;
use super::view::View;
use crate::kernel::identity;
use isobar_model::{ActionOutcome, Monitored, Pid, Sample, Tid};
use rustix::fs::FlockOperation;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long to wait for other tools that hold the lock of resctrl. After that the change is refused
/// for this epoch.
const PATIENCE: Duration = Duration::from_millis(500);

/// Isobar's part of resctrl.
#[derive(Debug)]
pub struct Ways {
    root: Root,
    /// Whether to take tasks that another tool has put into a control group of its own; they go
    /// back there at the end.
    move_grouped: bool,
    clusters: Clusters,
    slots: Slots,
    names: BTreeMap<Slot, String>,
    record: ResctrlRecord,
    /// Tasks that others moved out of our groups after isobar had put them there.
    released: BTreeSet<(Tid, u64)>,
    /// Tasks that were named in plans. If such a task is in a group of ours but in no cluster, a
    /// plan dropped it; it was not created there.
    dropped: BTreeSet<Tid>,
    monitors: Monitors,
    remarks: BTreeSet<String>,
}

impl<E> CacheWays<E> for Ways {
    fn apply(&mut self, requests: Vec<Request>, level: u32, save: Save<'_, E>) -> Result<Vec<ActionOutcome>, E> {
        let mut requests = Requests::new(requests);
        if requests.open().next().is_none() {
            return Ok(requests.into_outcomes());
        }
        self.remarks.clear();
        self.dropped.extend(self.clusters.members().map(|(tid, ..)| tid));
        self.dropped.extend(requests.open().flat_map(|request| request.threads.keys().copied()));
        let settled = match self.root.lock(FlockOperation::NonBlockingLockExclusive, PATIENCE) {
            Ok(_lock) => self.settle(&mut requests, level, save)?,
            Err(error) => Err(error),
        };
        if let Err(error) = settled {
            requests.settle(&error.outcome(), |_| true);
            self.lost(&error);
        }
        Ok(requests.into_outcomes())
    }

    /// Forgets threads that have ended, and gives back the classes of clusters without threads.
    fn follow(&mut self, sample: &Sample) {
        if self.clusters.is_empty() || self.has_lost_groups() {
            return;
        }
        let threads = sample.processes.iter().flat_map(|process| &process.threads);
        let alive: BTreeSet<(Tid, u64)> = threads.map(|thread| (thread.tid, thread.start)).collect();
        self.clusters.retain(|tid, start| alive.contains(&(tid, start)));
        self.released.retain(|task| alive.contains(task));
        self.dropped.retain(|tid| alive.range((*tid, 0)..).next().is_some_and(|(other, _)| other == tid));
        let before = self.slots.values().collect::<BTreeSet<_>>().len();
        let mut left = self.slots.clone();
        left.retain(|key, _| self.clusters.get(key).is_some());
        if left.values().collect::<BTreeSet<_>>().len() < before {
            // It is harmless if another tool holds the lock: the next change sweeps again.
            if let Ok(_lock) = self.root.lock(FlockOperation::NonBlockingLockExclusive, Duration::ZERO) {
                self.slots = left;
                self.sweep();
            }
        }
    }

    fn monitored(&mut self, sample: &Sample) -> BTreeMap<Pid, Monitored> {
        if self.monitors.is_empty() {
            return BTreeMap::new();
        }
        self.monitors.read(&self.root, sample)
    }

    fn record(&self) -> Option<&ResctrlRecord> {
        Some(&self.record)
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.iter().cloned().collect()
    }

    fn forget(&mut self) {
        self.start_over();
    }
}

impl Ways {
    /// An actuator that has changed nothing yet. `move_grouped`: whether to take tasks that another
    /// tool has put into a control group of its own.
    #[must_use]
    pub fn new(root: Root, move_grouped: bool) -> Self {
        Self {
            record: ResctrlRecord { root: root.path().to_owned(), ..ResctrlRecord::default() },
            root,
            move_grouped,
            clusters: Clusters::default(),
            slots: Slots::new(),
            names: BTreeMap::new(),
            released: BTreeSet::new(),
            dropped: BTreeSet::new(),
            monitors: Monitors::default(),
            remarks: BTreeSet::new(),
        }
    }

    fn start_over(&mut self) {
        *self = Self::new(self.root.clone(), self.move_grouped);
    }

    /// Tries until the remaining requests are carried out.
    fn settle<E>(
        &mut self,
        requests: &mut Requests,
        level: u32,
        save: Save<'_, E>,
    ) -> Result<Result<(), ResctrlError>, E> {
        loop {
            match self.attempt(requests, level, save)? {
                Ok(()) => return Ok(Ok(())),
                Err(RefusalScope::All(error)) => return Ok(Err(error)),
                Err(RefusalScope::Clusters { keys, outcome }) => {
                    keys.iter().for_each(|key| self.refuse(requests, key, &outcome));
                }
            }
        }
    }

    /// Removes a cluster from the plan or, if the plan does not name it, from the present clusters.
    /// One of the two shrinks with each try.
    fn refuse(&mut self, requests: &mut Requests, key: &Key, outcome: &ActionOutcome) {
        if !requests.settle_last(key, outcome) {
            self.clusters.remove(key);
            if let ActionOutcome::Refused { why, .. } = outcome {
                self.remarks.insert(format!("cluster {} of llc {} is given up: {why}", key.name, key.llc));
            }
        }
    }

    fn attempt<E>(
        &mut self,
        requests: &mut Requests,
        level: u32,
        save: Save<'_, E>,
    ) -> Result<Result<(), RefusalScope>, E> {
        let view = match View::read(&self.root, level, &self.record.groups) {
            Ok(view) => view,
            Err(error) => return Ok(Err(RefusalScope::All(error))),
        };
        self.notice(&view);
        let target = requests.target(self.clusters.clone(), |request| self.screen(&view, request));
        let slots = match layout::assign(&target, &self.slots, view.groups_to_be_had()) {
            Ok(slots) => slots,
            Err(many) => return Ok(Err(self.too_many(&many, &view, requests))),
        };
        self.name(&slots, &view);
        self.intend(&target, &view, save)?;
        let carrier = Carrier { root: &self.root, view: &view, target: &target, slots: &slots, names: &self.names };
        self.monitors.bank(&self.root);
        let gone = match carrier.run() {
            Ok(gone) => gone,
            Err(blame) => return Ok(Err(blame)),
        };
        self.stand(target, slots, &gone, requests);
        self.sweep();
        self.monitor(&view);
        Ok(Ok(()))
    }

    /// Drops threads that ended, and those that others have moved out of our groups: they are no
    /// longer ours.
    fn notice(&mut self, view: &View) {
        let inside: BTreeSet<Tid> = view.ours.values().flat_map(|group| group.tasks.iter().copied()).collect();
        let outside = self.clusters.members().filter(|(tid, ..)| !inside.contains(tid));
        for (tid, pid, start) in outside.map(|(tid, pid, start, _)| (tid, pid, start)).collect::<Vec<_>>() {
            if identity::lives(pid, tid, start) {
                self.released.insert((tid, start));
            }
            self.record.tasks.remove(&tid);
            self.clusters.retain(|other, _| other != tid);
        }
    }

    /// Which threads of a request can be put into its cluster, or why it is not carried out.
    fn screen(&mut self, view: &View, request: &Request) -> Result<Threads, ActionOutcome> {
        possible(view, request)?;
        let mut left = None;
        let mut threads = request.threads.clone();
        threads.retain(|tid, (pid, start)| match self.hands_off(view, *tid, *pid, *start) {
            Some(why) => {
                left = Some(why);
                false
            }
            None => identity::lives(*pid, *tid, *start),
        });
        match left {
            Some(why) if threads.is_empty() => return Err(ActionOutcome::LeftAlone { why }),
            Some(why) => {
                let name = request.key.name.escape_debug();
                self.remarks.insert(format!("threads of cluster {name} were left alone: {why}"));
            }
            None if threads.is_empty() && request.asked > 0 => return Err(ActionOutcome::Vanished),
            None => {}
        }
        Ok(threads)
    }

    /// Why a thread is left where it is; `None` if it may be moved.
    fn hands_off(&self, view: &View, tid: Tid, pid: Pid, start: u64) -> Option<String> {
        if pid == identity::own_pid() {
            return Some("isobar does not move itself".to_owned());
        }
        if self.released.contains(&(tid, start)) {
            return Some("its owner moved it to another resctrl group after isobar's last change".to_owned());
        }
        let place = view.foreign.get(&tid).filter(|place| !place.control.is_empty() && !self.move_grouped)?;
        let group = place.control.escape_debug();
        Some(format!("it is in resctrl group {group} of another tool (the option `move_grouped` would move it)"))
    }

    fn too_many(&self, many: &TooMany, view: &View, requests: &Requests) -> RefusalScope {
        let keys = requests.surplus(many.llc, &self.clusters).into_iter().collect();
        RefusalScope::Clusters {
            keys,
            outcome: ActionOutcome::Refused { errno: None, why: too_many(many, view, &self.root) },
        }
    }

    /// Gives every slot a name: a prefix with our process id, so that two isobars do not collide,
    /// and a free number.
    fn name(&mut self, slots: &Slots, view: &View) {
        let prefix = prefix();
        for slot in slots.values() {
            if !self.names.contains_key(slot) {
                let taken =
                    |name: &String| view.others.contains(name) || self.names.values().any(|other| other == name);
                let name = (0_u32..).map(|number| format!("{prefix}{number}")).find(|name| !taken(name));
                self.names.insert(*slot, name.unwrap_or_default());
            }
        }
    }

    /// Saves which groups there will be and where the tasks that will be moved are now.
    fn intend<E>(&mut self, target: &Clusters, view: &View, save: Save<'_, E>) -> Result<(), E> {
        let mut record = self.record.clone();
        record.groups.extend(self.names.values().cloned());
        let is_inside = |task: &Task| view.ours.values().any(|group| group.tasks.contains(&task.0));
        let tasks = target.members().map(|(tid, pid, start, _)| (tid, pid, start));
        // A task outside our groups is where its owner wants it.
        let (inside, outside): (Vec<Task>, Vec<Task>) = tasks.partition(is_inside);
        record.take(&outside, &inside, &view.foreign);
        save(&record)?;
        self.record = record;
        Ok(())
    }

    /// Makes the target the present state, except for threads that ended meanwhile.
    fn stand(&mut self, mut target: Clusters, slots: Slots, gone: &BTreeSet<Tid>, requests: &mut Requests) {
        target.retain(|tid, _| !gone.contains(&tid));
        let is_gone = |request: &Request| request.asked > 0 && request.threads.keys().all(|tid| gone.contains(tid));
        requests.settle(&ActionOutcome::Vanished, is_gone);
        self.slots = slots;
        self.slots.retain(|key, _| target.get(key).is_some());
        self.clusters = target;
    }

    /// Sends tasks home that are in a group of ours but in no cluster of it, and removes groups
    /// without a cluster. What does not succeed is tried again with the next change.
    fn sweep(&mut self) {
        let used: BTreeSet<Slot> = self.slots.values().copied().collect();
        for (slot, name) in self.names.clone() {
            let used = used.contains(&slot);
            match sweep(&self.root, &self.record, (&name, used), &self.members(slot), &self.dropped) {
                Ok(()) if !used => {
                    self.names.remove(&slot);
                    self.record.groups.remove(&name);
                }
                Ok(()) => {}
                Err(error) => {
                    self.remarks.insert(error.to_string());
                }
            }
        }
        self.monitors.retain_groups(&self.names.values().cloned().collect());
        let inside: BTreeSet<Tid> = self.clusters.members().map(|(tid, ..)| tid).collect();
        let groups_left = !self.record.groups.is_empty();
        self.record.tasks.retain(|tid, origin| {
            groups_left && (inside.contains(tid) || !identity::has_ended(origin.pid, *tid, origin.start))
        });
    }

    /// The threads of a slot.
    fn members(&self, slot: Slot) -> Threads {
        let here = self.clusters.members().filter(|(_, _, _, key)| self.slots.get(*key) == Some(&slot));
        here.map(|(tid, pid, start, _)| (tid, (pid, start))).collect()
    }

    /// Makes monitor groups for the processes in our groups.
    fn monitor(&mut self, view: &View) {
        let Some(monitoring) = view.info.monitoring.as_ref().filter(|monitoring| monitoring.counts_bytes) else {
            return;
        };
        let mut wanted = BTreeMap::<(Pid, String), BTreeSet<Tid>>::new();
        for (tid, pid, _, key) in self.clusters.members() {
            let name = self.slots.get(key).and_then(|slot| self.names.get(slot));
            if let Some(name) = name {
                wanted.entry((pid, name.clone())).or_default().insert(tid);
            }
        }
        let remark = self.monitors.arrange(&self.root, wanted, monitoring.num_rmids);
        self.remarks.extend(remark);
    }

    /// If the mount is gone, starts over: the kernel has removed our groups with it.
    fn lost(&mut self, error: &ResctrlError) {
        if matches!(error, ResctrlError::NotMounted { .. }) {
            self.start_over();
            self.remarks.insert(error.to_string());
        }
    }

    /// Whether resctrl was unmounted since groups were made, and perhaps mounted again. In that
    /// case none of our groups exists, and no thread was moved out of them by its owner.
    fn has_lost_groups(&mut self) -> bool {
        if let Err(error) = self.root.check() {
            self.lost(&error);
        } else if !self.names.values().any(|name| self.root.path().join(name).is_dir()) {
            self.start_over();
            let root = self.root.path().display();
            let why = "resctrl was mounted again, or another tool removed them";
            self.remarks.insert(format!("{root}: isobar's groups are gone: {why}"));
        }
        self.clusters.is_empty()
    }
}
