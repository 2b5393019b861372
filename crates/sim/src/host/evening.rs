//! Evens out idle CPUs. If one node, or one last-level cache of a node, runs at least two threads
//! fewer than another and has an idle CPU, the kernel's load balancer moves threads over until the
//! difference is smaller (`calculate_imbalance` and `sibling_imbalance` in `kernel/sched/fair.c` of
//! Linux 6.12: "evenly spread running tasks on groups"). A running thread is moved by active
//! balancing after some failed attempts, within a tenth of a second; here it takes no time.
//!
//! Between nodes, a difference of two is tolerated while the emptier node would run threads on at
//! most an eighth of its CPUs, or one thread per cache if it has several caches
//! (`adjust_numa_imbalance`; `imb_numa_nr` in `kernel/sched/topology.c`).
//!
//! Threads that a plan has bound, or an owner pinned, go only where they may. Threads that a
//! workload starts on a CPU of its own choice (`cpu`) or keeps on given caches stay.
//!
//! Departures: all nodes are one domain, while machines with several hops have one domain for each.
//! With NUMA balancing on, the kernel takes threads away from their memory only after some failed
//! attempts (`migrate_degrades_locality`); here any thread may go. Between groups of unequal size a
//! thread moves only if that makes the groups more alike, because without load averages two groups
//! could otherwise exchange it for ever.

use super::SimMachine;
use super::linux::pick;
use super::process::{Process, Thread};
use isobar_contention::Place;
use isobar_model::{CoreId, CpuId, num};
use std::collections::{BTreeMap, BTreeSet};

/// What the kernel balances between: the nodes of the machine, or the caches of one node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Caches,
    Nodes,
}

/// A node, or one of its caches.
#[derive(Clone, Debug, Default)]
struct Group {
    /// The position of the node or cache, and of the group that contains it.
    number: usize,
    within: usize,
    cpus: u32,
    cores: BTreeSet<CoreId>,
    caches: BTreeSet<usize>,
    running: u32,
    /// CPUs with nothing to run, and the CPUs among them whose whole core has nothing to run.
    idle: Vec<CpuId>,
    idle_cores: Vec<CpuId>,
}

impl Level {
    /// The group of a place, and the group that contains it.
    const fn group(self, place: Place) -> (usize, usize) {
        match self {
            Self::Caches => (place.llc, place.node),
            Self::Nodes => (place.node, 0),
        }
    }
}

impl Group {
    /// How many threads fewer it runs than another group. If the groups have different numbers of
    /// cores, the difference is scaled in proportion.
    fn lacks(&self, other: &Self) -> u32 {
        let (here, there) = (num::narrow(self.cores.len()), num::narrow(other.cores.len()));
        if here == there {
            return other.running.saturating_sub(self.running);
        }
        let difference = (here * other.running).saturating_sub(there * self.running);
        let rounded = (2 * difference + here + there) / (here + there);
        if rounded <= 1 && self.running == 0 && other.running > 1 { 2 } else { rounded }
    }

    /// The number of threads below which a difference of two between nodes is tolerated.
    fn few(&self) -> u32 {
        if self.caches.len() > 1 { num::narrow(self.caches.len()) } else { (self.cpus / 8).max(1) }
    }

    /// Whether a thread of another group moves to this one.
    fn pulls_from(&self, other: &Self, level: Level) -> bool {
        let lacks = self.lacks(other);
        let allowed = level == Level::Nodes && lacks == 2 && self.running < self.few();
        !self.idle.is_empty() && lacks >= 2 && !allowed && self.is_evened_by_one_of(other)
    }

    /// Whether the groups are more alike after a thread of the other group has moved to this one:
    /// the sum of the squares of their thread counts, each divided by its cores, falls.
    fn is_evened_by_one_of(&self, other: &Self) -> bool {
        let (here, there) = (num::narrow(self.cores.len()), num::narrow(other.cores.len()));
        (2 * other.running).saturating_sub(1) * here > (2 * self.running + 1) * there
    }
}

impl SimMachine {
    /// Moves threads to emptier nodes, then to emptier caches of their node; returns whether it
    /// moved any.
    pub(super) fn even_out(&mut self) -> bool {
        if self.load().values().all(|threads| *threads > 0) {
            return false;
        }
        let mut carried = false;
        for level in [Level::Nodes, Level::Caches] {
            while self.pull(level) {
                carried = true;
            }
        }
        carried
    }

    /// Moves one thread between the two groups with the largest difference; returns whether there
    /// was such a thread.
    fn pull(&mut self, level: Level) -> bool {
        let load = self.load();
        let groups = self.groups(level, &load);
        let pairs = groups.iter().flat_map(|to| groups.iter().map(move |from| (to, from)));
        let mut pairs: Vec<_> =
            pairs.filter(|(to, from)| to.within == from.within && to.pulls_from(from, level)).collect();
        pairs.sort_by_key(|(to, from)| std::cmp::Reverse(to.lacks(from)));
        for (to, from) in pairs {
            let idle = if to.idle_cores.is_empty() { &to.idle } else { &to.idle_cores };
            let Some((p, t)) = self.any_of((from.number, level), &load, idle) else { continue };
            let thread = &mut self.processes[p].threads[t];
            let open: Vec<_> = idle.iter().copied().filter(|cpu| thread.may_go_to(*cpu)).collect();
            let Some(cpu) = pick(&mut self.rng, &open) else { continue };
            thread.cpu = cpu;
            if self.now > 0.0 {
                self.chill(p, t);
            }
            return true;
        }
        false
    }

    /// Picks one of the threads of a group that may go to some of these CPUs, as (process, thread),
    /// at random among the threads whose CPU has the most threads.
    fn any_of(
        &mut self,
        (group, level): (usize, Level),
        load: &BTreeMap<CpuId, u32>,
        idle: &[CpuId],
    ) -> Option<(usize, usize)> {
        let places = &self.workload.machine.places;
        let loose = self.processes.iter().enumerate().filter(|(_, process)| !self.is_kept(process));
        let threads = loose.flat_map(|(p, process)| process.threads.iter().enumerate().map(move |(t, at)| (p, t, at)));
        let here = threads.filter(|(_, _, thread)| {
            let is_there = level.group(places[&thread.cpu]).0 == group && !thread.ended();
            is_there && idle.iter().any(|cpu| thread.may_go_to(*cpu))
        });
        let mates = |thread: &Thread| load.get(&thread.cpu).copied().unwrap_or(1);
        let here: Vec<_> = here.map(|(p, t, thread)| (mates(thread), (p, t))).collect();
        let most = here.iter().map(|(mates, _)| *mates).max();
        let busiest = here.iter().filter(|(mates, _)| Some(*mates) == most);
        let busiest: Vec<_> = busiest.map(|(_, at)| *at).collect();
        pick(&mut self.rng, &busiest)
    }

    /// Whether the workload determines where a process runs.
    fn is_kept(&self, process: &Process) -> bool {
        let app = &self.workload.apps[process.app];
        app.cpu.is_some() || app.seats.as_ref().is_some_and(|seats| seats.keep)
    }

    /// All groups of a level, given how many threads each CPU has.
    fn groups(&self, level: Level, load: &BTreeMap<CpuId, u32>) -> Vec<Group> {
        let runs = |cpu: &CpuId| load.get(cpu).is_some_and(|threads| *threads > 0);
        let cpus = self.workload.machine.topology.cpus();
        let busy: BTreeSet<_> = cpus.iter().filter(|cpu| runs(&cpu.id)).map(|cpu| cpu.core).collect();
        let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
        for cpu in cpus {
            let place = self.workload.machine.places[&cpu.id];
            let (number, within) = level.group(place);
            let group = groups.entry(number).or_insert_with(|| Group { number, within, ..Group::default() });
            group.cpus += 1;
            group.cores.insert(cpu.core);
            group.caches.insert(place.llc);
            group.running += load.get(&cpu.id).copied().unwrap_or(0);
            if !runs(&cpu.id) {
                group.idle.push(cpu.id);
            }
            if !busy.contains(&cpu.core) {
                group.idle_cores.push(cpu.id);
            }
        }
        groups.into_values().collect()
    }
}

#[cfg(test)]
mod tests;
