//! `fixed`: puts threads, pages and cache ways where the settings say. It does what `taskset`,
//! `numactl` and `pqos` do by hand, for processes that already run, with the reasons, safety and
//! restore of every other policy. It measures nothing and optimises nothing.
//!
//! ```text
//! every interval, for every process that the settings name:
//!     bind each thread to its CPU or CPUs, unless it is bound and has stayed there
//!     move pages that are on a wrong node to the right one, a limited number from each node
//!     give its threads the ways of an LLC, unless they have them
//! ```
//!
//! *Properties*: a thread on its CPU is bound once and then left alone; no page is asked to move to
//! the node where it already is, and no more pages are asked to move than there are; pages that do
//! not move are left alone after three tries and tried again once a minute (60 intervals); the
//! notes say what cannot be done.
//!
//! A thread's index counts the threads that are seen, in ascending order of thread id. `manage`
//! shows a policy only busy threads. With `manage.min_cpu_percent = 0` the index counts all threads
//! of the process.

mod places;
mod tries;
mod ways;

use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::kit::flight;
use crate::kit::pairs::{means, refused};
use crate::kit::refused::{Refused, RequestKey, refused_of};
use crate::kit::words::whole_percent;
use crate::settings::{ConfigError, Section, at_least, settings};
use isobar_model::topology::CacheAllocation;
use isobar_model::{
    Action, CpuSet, NodeMap, Observation, Outcome, PageSelection, Pages, Pid, Plan, Policy, Process, Seconds, Sensor,
    Thread, Tid,
};
use places::{PagePlace, ThreadPlace};
use std::collections::{BTreeMap, BTreeSet};
use tries::Tries;
use ways::WayPlace;

/// Canonical name.
pub const NAME: &str = "fixed";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: "baseline",
    summary: "threads and pages where the settings say",
    moves: Moves::ThreadsAndPages,
    needs: &[],
    make: &PolicyMaker { defaults: Config::default, new: Fixed::new },
};

settings! {
    /// Settings.
    pub struct Config {
        /// CPUs of threads, as "alpha/0=5 beta=0-3": NAME=CPU for every thread of a process,
        /// NAME/INDEX=CPU for one, and a list of CPUs for those that may run on any of them; NAME
        /// is a process name or a pid. INDEX counts the threads that are managed, by ascending
        /// thread id from 0: with manage.min_cpu_percent = 0 these are all threads of the process.
        pub threads: String = String::new(),
        /// Nodes of pages, as "alpha=2 beta=0>1": NAME=NODE for all pages of a process,
        /// NAME=FROM>TO for those of one node.
        pub pages: String = String::new(),
        /// Pages that move in one interval, by process and node that they leave; around samples, by
        /// thread too.
        pub pages_per_epoch: u64 = 4096,
        /// Move pages around sampled addresses, as DINO does, instead of any pages.
        pub around_samples: bool = false,
        /// Move pages that were accessed lately, the hottest first, and no others.
        pub accessed: bool = false,
        /// Cache ways of processes, as "alpha=0:0x3": NAME=LLC:MASK, and NAME=LLC:MASK:PERCENT with
        /// a share of the memory bandwidth.
        pub ways: String = String::new(),
    }
}

impl Section for Config {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        at_least(section, "pages_per_epoch", self.pages_per_epoch, 1)?;
        ThreadPlace::list(&self.threads).map(drop).map_err(refused(section, "threads"))?;
        if self.accessed && self.around_samples {
            let why = "cannot be true together with around_samples: choose one of them".to_owned();
            return Err(refused(section, "accessed")(why));
        }
        PagePlace::list(&self.pages).map(drop).map_err(refused(section, "pages"))?;
        WayPlace::list(&self.ways).map(drop).map_err(refused(section, "ways"))
    }
}

/// Placement by hand, as the settings say.
#[derive(Debug)]
pub struct Fixed {
    threads: Vec<ThreadPlace>,
    pages: Vec<PagePlace>,
    pages_per_epoch: u64,
    select: PageSelection,
    /// The CPUs to which each thread was bound in the last interval in which it was seen.
    bound: Bound,
    tries: Tries,
    ways: Vec<WayPlace>,
    clusters: ways::Set,
    /// The machine's cache allocation when clusters were set: resctrl may be unmounted meanwhile.
    allocation: Option<CacheAllocation>,
    refused: Refused,
}

type Bound = BTreeMap<(Pid, Tid), CpuSet>;

impl Fixed {
    /// Takes validated settings; a list that is not valid is taken as empty.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "as every policy is made")]
    pub fn new(config: Config) -> Self {
        Self {
            threads: ThreadPlace::list(&config.threads).unwrap_or_default(),
            pages: PagePlace::list(&config.pages).unwrap_or_default(),
            pages_per_epoch: config.pages_per_epoch,
            select: match (config.accessed, config.around_samples) {
                (true, _) => PageSelection::Accessed,
                (false, true) => PageSelection::AroundSamples,
                (false, false) => PageSelection::ResidentSet,
            },
            bound: Bound::new(),
            tries: Tries::default(),
            ways: WayPlace::list(&config.ways).unwrap_or_default(),
            clusters: ways::Set::new(),
            allocation: None,
            refused: Refused::default(),
        }
    }
}

impl Policy for Fixed {
    as_registered!();

    fn uses(&self) -> &'static [Sensor] {
        if self.select == PageSelection::Accessed { &[Sensor::AccessedPages] } else { &[] }
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = Plan { notes: self.misfits(seen), ..Plan::nothing(NAME) };
        self.refused.next_epoch(seen);
        let before = std::mem::take(&mut self.bound);
        let own = || seen.processes.iter().filter(|process| !process.elsewhere);
        own().for_each(|process| self.bind_threads(seen, process, &before, &mut plan));
        self.tries.next_interval();
        own().for_each(|process| self.move_pages(seen, process, &mut plan));
        if seen.machine.allocation() != self.allocation.as_ref() {
            self.allocation = seen.machine.allocation().cloned();
            self.clusters.clear();
        }
        let mut taken = BTreeSet::new();
        for place in self.ways.iter().filter(|place| !self.refused.waits(RequestKey::Ways(place.llc))) {
            match place.cluster(seen, &mut taken, &mut self.clusters) {
                Ok(action) => plan.actions.extend(action),
                Err(why) => plan.notes.push(why),
            }
        }
        self.refused.hold_back(&mut plan);
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.refused.applied(plan, outcome);
        for action in refused_of(plan, outcome) {
            match action {
                Action::MoveThread { pid, tid, .. } => drop(self.bound.remove(&(*pid, *tid))),
                Action::SetWays { llc, cluster, .. } => {
                    self.clusters.retain(|place, _| place.llc != *llc || place.name != *cluster);
                }
                _ => {}
            }
        }
    }
}

impl Fixed {
    /// Entries that match nothing on this machine, in words.
    fn misfits(&self, seen: &Observation) -> Vec<String> {
        let threads = self.threads.iter().filter_map(|place| {
            let why = thread_misfit(seen, place)?;
            Some(format!("fixed.threads: {}={}: {why}", place.key(), place.cpus))
        });
        let pages = self.pages.iter().filter_map(|place| {
            let why = page_misfit(seen, place)?;
            Some(format!("fixed.pages: pages of {} to node {}: {why}", place.name, place.to))
        });
        threads.chain(pages).collect()
    }

    fn bind_threads(&mut self, seen: &Observation, process: &Process, before: &Bound, plan: &mut Plan) {
        for (index, thread) in process.threads.iter().enumerate() {
            let Some(place) = ThreadPlace::of(&self.threads, process, index) else { continue };
            let online: CpuSet = place.cpus.intersection(seen.machine.online());
            if online.is_empty() {
                continue;
            }
            let may: CpuSet = online.iter().filter(|cpu| thread.may_run_on(*cpu)).collect();
            if let Some(why) = refusal(thread, &online, &may) {
                let Process { pid, .. } = process;
                plan.notes.push(format!("fixed.threads: thread {} of process {pid} {why}", thread.tid));
                continue;
            }
            let (pid, tid) = (process.pid, thread.tid);
            if self.refused.waits(RequestKey::Thread(pid, tid)) {
                plan.notes.push(format!(
                    "fixed.threads: moving thread {tid} of process {pid} was refused: isobar tries again later"
                ));
                continue;
            }
            if !is_bound(thread, &may, before.get(&(pid, tid))) {
                let there = thread.cpu.filter(|cpu| may.contains(*cpu));
                let now = if there.is_some() { "bound so that it stays" } else { "it runs elsewhere" };
                let reason = format!("{} belongs on cpu {} by fixed.threads: {now}", place.key(), place.cpus);
                let Some(cpu) = there.or_else(|| may.first()) else { continue };
                let cpus = Some(may.clone()).filter(|may| may.len() > 1);
                plan.actions.push(Action::MoveThread { pid, tid, cpu, cpus, reason });
            }
            self.bound.insert((pid, tid), may);
        }
    }

    fn move_pages(&mut self, seen: &Observation, process: &Process, plan: &mut Plan) {
        let Some(first) = self.pages.iter().find(|place| means(&place.name, process)) else { return };
        match &process.pages {
            Some(pages) => self.move_from_nodes(seen, process, pages, plan),
            None => plan.notes.push(format!(
                "fixed.pages: the pages of process {} ({}) were not counted by node",
                process.pid, first.name
            )),
        }
    }

    fn move_from_nodes(&mut self, seen: &Observation, process: &Process, pages: &NodeMap<Pages>, plan: &mut Plan) {
        let total = pages.values().map(|count| count.0).sum();
        let pid = process.pid;
        for (from, &Pages(left)) in pages.iter().filter(|(_, count)| count.0 > 0) {
            let Some(PagePlace { name, to, .. }) = PagePlace::of(&self.pages, process, from) else { continue };
            if from == *to || seen.machine.node(*to).is_none() {
                continue;
            }
            let waiting = flight::under_way(seen, pid, from, *to);
            let rest = left.saturating_sub(waiting);
            if waiting > 0 {
                self.tries.wait((pid, from, *to));
            } else if !self.tries.ask((pid, from, *to), left) {
                plan.notes.push(format!(
                    "fixed.pages: {left} pages of process {pid} ({name}) cannot be moved from node {from}"
                ));
                continue;
            }
            let percent = whole_percent(left, total);
            let reason =
                format!("pages of {name} belong on node {to} by fixed.pages: {percent} % of them are on node {from}");
            let (to, select) = (*to, self.select);
            plan.actions.extend(self.shares(process, rest).into_iter().map(|(for_thread, pages)| {
                Action::MigratePages { pid, from, to, pages, select, for_thread, reason: reason.clone() }
            }));
        }
    }

    /// The pages to move for each thread: any pages of the process, or the pages around the samples
    /// of each thread.
    fn shares(&self, process: &Process, mut left: u64) -> Vec<(Option<Tid>, Pages)> {
        if self.select != PageSelection::AroundSamples {
            let pages = left.min(self.pages_per_epoch);
            return if pages > 0 { vec![(None, Pages(pages))] } else { Vec::new() };
        }
        let mut share = |thread: &Thread| {
            let pages = left.min(self.pages_per_epoch);
            left -= pages;
            (Some(thread.tid), Pages(pages))
        };
        process.threads.iter().map(&mut share).filter(|(_, pages)| pages.0 > 0).collect()
    }
}

fn thread_misfit(seen: &Observation, place: &ThreadPlace) -> Option<String> {
    if place.cpus.intersection(seen.machine.online()).is_empty() {
        return Some(format!("cpu {} is not online on this machine", place.cpus));
    }
    let mut named = seen.processes.iter().filter(|process| means(&place.name, process)).peekable();
    if named.peek().is_none() {
        return Some(ABSENT.to_owned());
    }
    let index = place.index?;
    let short = named.all(|process| process.threads.len() <= index);
    short.then(|| format!("it has no thread {index} (the first is 0)"))
}

fn page_misfit(seen: &Observation, place: &PagePlace) -> Option<String> {
    let absent = place.from.into_iter().chain([place.to]).find(|node| seen.machine.node(*node).is_none());
    match absent {
        Some(node) => Some(format!("node {node} is not on this machine")),
        None => (!seen.processes.iter().any(|process| means(&place.name, process))).then(|| ABSENT.to_owned()),
    }
}

const ABSENT: &str = "no process of this name or pid is seen";

/// Why a thread cannot be bound to some CPUs; `may` are those of them that it may use.
fn refusal(thread: &Thread, cpus: &CpuSet, may: &CpuSet) -> Option<String> {
    if thread.pinned {
        return Some("is left alone: pinned by its owner".to_owned());
    }
    may.is_empty().then(|| format!("may not run on cpu {cpus}: its owner or its cpuset excludes it"))
}

/// Whether a thread was bound to some CPUs before and did not run elsewhere since. The CPU of a
/// thread that slept is the one where it last ran; because the thread is bound, it will wake up on
/// one of its CPUs.
fn is_bound(thread: &Thread, cpus: &CpuSet, before: Option<&CpuSet>) -> bool {
    let slept = thread.cpu_time == Some(Seconds(0.0)) || thread.instructions == Some(0);
    before == Some(cpus) && (thread.cpu.is_none_or(|at| cpus.contains(at)) || slept)
}

#[cfg(test)]
#[path = "fixed/tests.rs"]
mod tests;
