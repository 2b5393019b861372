//! The search through assignments. Threads of an application are interchangeable, and of
//! applications that are alike only one order is listed, together with the number of assignments
//! that it represents.

use super::too_many::TooMany;
use crate::workload::{App, Workload};
use isobar_model::{LlcId, num};
use std::collections::{BTreeMap, BTreeSet};

/// Steps of the search before it gives up, which is after about a second.
const STEPS: usize = 200_000;
pub(super) const REMEDY: &str = "take fewer programs or threads, or more copies of one program";

/// One assignment, representing `weight` of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leaf {
    /// Threads by application and cache.
    pub counts: Vec<Vec<u32>>,
    pub weight: f64,
}

impl Leaf {
    /// The cache of each thread, in the order of the caches.
    pub fn llcs(&self, ids: &[LlcId]) -> Vec<Vec<LlcId>> {
        let repeat = |(count, id): (&u32, &LlcId)| std::iter::repeat_n(*id, num::index(*count));
        self.counts.iter().map(|counts| counts.iter().zip(ids).flat_map(repeat).collect()).collect()
    }
}

/// Equal numbers for applications that are alike except for the nodes of their memory and start.
pub(super) fn kinds(apps: &[App]) -> Vec<usize> {
    let same = |a: &App, b: &App| {
        a.program == b.program
            && a.job == b.job
            && (a.threads, a.cpu) == (b.threads, b.cpu)
            && a.phase_offset.total_cmp(&b.phase_offset).is_eq()
    };
    apps.iter().map(|app| apps.iter().position(|other| same(app, other)).unwrap_or_default()).collect()
}

/// For each application the applications that are alike, including itself.
pub(super) fn alike(apps: &[App], kinds: &[usize]) -> Vec<Vec<usize>> {
    let class = |index: usize| (kinds[index], apps[index].memory_node, apps[index].start_node);
    (0..apps.len()).map(|one| (0..apps.len()).filter(|other| class(*other) == class(one)).collect()).collect()
}

/// The assignments that are possible.
pub(super) struct Seating<'a> {
    workload: &'a Workload,
    alike: Vec<Vec<usize>>,
    /// Applications in the order of the search: applications that are alike are adjacent.
    order: Vec<usize>,
    /// Node and CPUs of each cache, by position.
    caches: Vec<(usize, u32)>,
}

impl<'a> Seating<'a> {
    pub fn new(workload: &'a Workload) -> Self {
        let alike = alike(&workload.apps, &kinds(&workload.apps));
        let mut order: Vec<_> = (0..workload.apps.len()).collect();
        order.sort_by_key(|app| (alike[*app][0], *app));
        let mut caches = vec![(0, 0); workload.machine.memory.llcs().len()];
        for place in workload.machine.places.values() {
            caches[place.llc] = (place.node, caches[place.llc].1 + 1);
        }
        Self { workload, alike, order, caches }
    }

    /// The most threads that each cache takes: one per CPU, or a multiple of that if there are more
    /// threads.
    pub fn capacity(&self) -> Vec<u32> {
        let threads: u32 = self.workload.apps.iter().map(|app| app.threads).sum();
        let all: u32 = self.caches.iter().map(|(_, cpus)| cpus).sum();
        self.caches.iter().map(|(_, cpus)| cpus * threads.div_ceil(all.max(1))).collect()
    }

    /// Threads by cache under CPU load balancing, with one entry for every outcome of ties.
    pub fn balanced_counts(&self) -> Vec<Vec<u32>> {
        let mut all = BTreeSet::from([vec![0; self.caches.len()]]);
        let mut apps: Vec<_> = self.workload.apps.iter().collect();
        apps.sort_by_key(|app| (app.cpu.is_none(), app.start_node.is_none()));
        for app in apps {
            for number in 0..app.threads {
                let allowed = self.allowed(app, number);
                all = all.iter().flat_map(|counts| self.after(counts, &allowed)).take(STEPS).collect();
            }
        }
        all.into_iter().collect()
    }

    /// The caches that a thread of an application may use.
    fn allowed(&self, app: &App, number: u32) -> Vec<usize> {
        let machine = &self.workload.machine;
        if let Some(first) = app.cpu {
            let cpus = machine.topology.cpus();
            let start = cpus.iter().position(|cpu| cpu.id == first).unwrap_or_default();
            return vec![machine.places[&cpus[(start + num::index(number)) % cpus.len()].id].llc];
        }
        let node = app.start_node.and_then(|node| machine.node_position(node));
        (0..self.caches.len()).filter(|llc| node.is_none_or(|node| self.caches[*llc].0 == node)).collect()
    }

    /// The counts after one more thread, on a node and there on a cache with the least load per
    /// CPU; one entry for each tie.
    fn after(&self, counts: &[u32], allowed: &[usize]) -> Vec<Vec<u32>> {
        let load = |caches: &dyn Fn(usize) -> bool| {
            let inside = || (0..self.caches.len()).filter(|llc| caches(*llc));
            let threads: u32 = inside().map(|llc| counts[llc]).sum();
            let cpus: u32 = inside().map(|llc| self.caches[llc].1).sum();
            f64::from(threads) / f64::from(cpus.max(1))
        };
        let node = |llc: usize| load(&|other| self.caches[other].0 == self.caches[llc].0);
        let own = |llc: usize| load(&|other| other == llc);
        let with_cpus: Vec<_> = allowed.iter().copied().filter(|llc| self.caches[*llc].1 > 0).collect();
        let least = least_by(&least_by(&with_cpus, node), own);
        let add = |llc: usize| {
            let mut counts = counts.to_vec();
            counts[llc] += 1;
            counts
        };
        least.into_iter().map(add).collect()
    }

    /// Calls `found` with every assignment in which each cache has at most `room` threads.
    pub fn each(&self, room: &[u32], found: &mut dyn FnMut(&Leaf) -> Result<(), TooMany>) -> Result<(), TooMany> {
        let mut leaf = Leaf { counts: vec![Vec::new(); self.workload.apps.len()], weight: 1.0 };
        let mut room: Vec<i64> = room.iter().map(|cpus| i64::from(*cpus)).collect();
        self.seat(0, &mut room, &mut leaf, &mut 0, found)
    }

    /// Tries all seats for the application at a rank, and then for the applications after it.
    fn seat(
        &self,
        rank: usize,
        room: &mut Vec<i64>,
        leaf: &mut Leaf,
        steps: &mut usize,
        found: &mut dyn FnMut(&Leaf) -> Result<(), TooMany>,
    ) -> Result<(), TooMany> {
        *steps += 1;
        if *steps > STEPS {
            return Err(TooMany::Assignments { most: STEPS, remedy: REMEDY });
        }
        let Some(app) = self.order.get(rank).copied() else {
            leaf.weight = self.weight(&leaf.counts);
            return found(leaf);
        };
        let before = (rank > 0).then(|| self.order[rank - 1]).filter(|other| self.alike[app].contains(other));
        for counts in self.ways(app, room, *steps)? {
            if before.is_some_and(|other| counts < leaf.counts[other]) {
                continue;
            }
            room.iter_mut().zip(&counts).for_each(|(room, taken)| *room -= i64::from(*taken));
            leaf.counts[app].clone_from(&counts);
            self.seat(rank + 1, room, leaf, steps, found)?;
            room.iter_mut().zip(&counts).for_each(|(room, taken)| *room += i64::from(*taken));
        }
        Ok(())
    }

    /// The ways to split an application's threads over the caches, ascending.
    fn ways(&self, app: usize, room: &[i64], steps: usize) -> Result<BTreeSet<Vec<u32>>, TooMany> {
        let app = &self.workload.apps[app];
        let mut all = BTreeSet::from([vec![0; room.len()]]);
        for number in 0..app.threads {
            let allowed = self.allowed(app, number);
            let more = |counts: &Vec<u32>| {
                let fits = allowed.iter().filter(|llc| i64::from(counts[**llc]) < room[**llc] || app.cpu.is_some());
                let add = |llc: &usize| {
                    let mut counts = counts.clone();
                    counts[*llc] += 1;
                    counts
                };
                fits.map(add).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(more).collect();
            if steps + all.len() > STEPS {
                return Err(TooMany::Assignments { most: STEPS, remedy: REMEDY });
            }
        }
        Ok(all)
    }

    /// Number of assignments that differ only in which thread of an application, or which of the
    /// applications that are alike, has which place.
    fn weight(&self, counts: &[Vec<u32>]) -> f64 {
        let threads =
            |counts: &Vec<u32>| factorial(counts.iter().sum()) / counts.iter().map(|n| factorial(*n)).product::<f64>();
        let mut weight: f64 = counts.iter().map(threads).product();
        for group in self.alike.iter().enumerate().filter(|(app, group)| group[0] == *app).map(|(_, group)| group) {
            let mut equal: BTreeMap<&Vec<u32>, u32> = BTreeMap::new();
            group.iter().for_each(|app| *equal.entry(&counts[*app]).or_default() += 1);
            weight *= factorial(equal.values().sum()) / equal.values().map(|n| factorial(*n)).product::<f64>();
        }
        weight
    }
}

/// The elements with the least value.
fn least_by(all: &[usize], value: impl Fn(usize) -> f64) -> Vec<usize> {
    let least = all.iter().map(|one| value(*one)).fold(f64::INFINITY, f64::min);
    all.iter().copied().filter(|one| value(*one) <= least).collect()
}

fn factorial(n: u32) -> f64 {
    (1..=n).map(f64::from).product()
}
