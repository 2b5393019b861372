//! Evaluates static arrangements of a workload: which last-level cache each thread runs on, which
//! nodes hold each application's pages, and which ways each application may fill. The result is how
//! fast all applications would run if nothing changed any more.
//!
//! **What is computed.** All applications run all the time, each thread at the pace of the fixed
//! point. A program with phases is represented by its mean: the factor on its misses is averaged
//! over instructions. Threads of a cache share its CPUs evenly. An application takes as long as its
//! slowest thread. An application that waits for others at barriers takes as long as the slowest of
//! them, and competes while it waits as if it worked. Nothing moves, so no move is charged; first
//! touches and restarts are left out. The slowdown is relative to the application alone on the
//! machine, as everywhere.

use crate::host::{SWITCHED, private_bytes};
use crate::machine::MachineSpec;
use crate::steady::mean_factor;
use crate::workload::{App, Workload};
use isobar_contention::{Budget, Contender, Demand, NoAnswer, Place, Question, Solver, least_cost};
use isobar_model::{LlcId, num};
use std::collections::{BTreeMap, BTreeSet};

/// Where the pages of an application are.
#[derive(Clone, Debug, PartialEq)]
pub enum Pages {
    /// Each thread's own pages on its node, shared pages spread evenly over the threads.
    WithThreads,
    /// Spread over the nodes, by position, with these weights, which sum to 1.
    On(Vec<f64>),
}

/// Where an application runs and has its memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Stand {
    /// The cache of each thread, by position.
    pub llcs: Vec<usize>,
    /// Its memory.
    pub pages: Pages,
}

/// Applications that alone fill certain ways of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharing {
    /// Applications by position, ascending. The ways hold for their threads on this cache.
    pub apps: Vec<usize>,
    /// Number of ways.
    pub ways: u32,
}

/// The arrangement of all applications.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrangement {
    /// By application.
    pub apps: Vec<Stand>,
    /// By cache: the sets of ways and the applications that share each. An application that is in
    /// no set may fill all ways.
    pub ways: Vec<Vec<Sharing>>,
}

/// A last-level cache with its CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Its id.
    pub id: LlcId,
    /// Position of its node, and its own position.
    place: (usize, usize),
    /// Logical CPUs, and cores.
    pub cpus: usize,
    cores: usize,
    /// Ways that can be allocated.
    pub ways: u32,
    /// Classes of service: how many sets of ways there can be at once.
    pub classes: u32,
}

/// A workload whose arrangements are to be evaluated.
#[derive(Debug)]
pub struct Arranging<'a> {
    workload: &'a Workload,
    alone: &'a [f64],
    rooms: Vec<Room>,
    solver: Solver,
    asked: u64,
}

impl<'a> Arranging<'a> {
    /// Prepares a workload whose applications take these numbers of seconds alone.
    #[must_use]
    pub fn new(workload: &'a Workload, alone: &'a [f64]) -> Self {
        Self { workload, alone, rooms: rooms(&workload.machine), solver: Solver::default(), asked: 0 }
    }

    /// The caches that threads can run on.
    #[must_use]
    pub fn rooms(&self) -> &[Room] {
        &self.rooms
    }

    /// Number of questions put to the contention model so far.
    #[must_use]
    pub const fn asked(&self) -> u64 {
        self.asked
    }

    /// Where the workload leaves an application's pages: where its memory policy says, otherwise
    /// where its threads first touch them.
    #[must_use]
    pub fn left(&self, app: &App) -> Pages {
        let machine = &self.workload.machine;
        let mut weights = vec![0.0; machine.memory.nodes()];
        for to in &app.spread {
            if let Some(node) = machine.node_position(to.node) {
                weights[node] += f64::from(to.weight);
            }
        }
        if let Some(node) =
            app.memory_node.and_then(|node| machine.node_position(node)).filter(|_| app.spread.is_empty())
        {
            weights[node] = 1.0;
        }
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 { Pages::On(weights.iter().map(|weight| weight / sum).collect()) } else { Pages::WithThreads }
    }

    /// Pages spread over all nodes in proportion to the bandwidth that each node sustains.
    #[must_use]
    pub fn split(&self) -> Pages {
        let memory = &self.workload.machine.memory;
        let capacities: Vec<f64> = memory.resources()[..memory.nodes()].iter().map(|one| one.capacity).collect();
        let sum: f64 = capacities.iter().sum();
        Pages::On(capacities.iter().map(|capacity| capacity / sum).collect())
    }

    /// Memory wanted on nodes beyond what they have, as a fraction of the machine's memory; 0 if
    /// all fits.
    #[must_use]
    pub fn overflow(&self, arrangement: &Arrangement) -> f64 {
        let machine = &self.workload.machine;
        let mut wanted = vec![0.0; machine.pages.len()];
        for (app, stand) in self.workload.apps.iter().zip(&arrangement.apps) {
            let pages = num::float(app.program.pages());
            for weights in (0..stand.llcs.len()).map(|thread| self.weights(app, stand, thread)) {
                let part = pages / num::float_len(stand.llcs.len());
                wanted.iter_mut().zip(weights).for_each(|(wanted, weight)| *wanted += part * weight);
            }
        }
        let all: f64 = machine.pages.iter().map(|pages| num::float(*pages)).sum();
        // Allows for one page per application, which rounding may add.
        let lack =
            |(wanted, there): (&f64, &u64)| (wanted - num::float(*there) - num::float_len(self.alone.len())).max(0.0);
        wanted.iter().zip(&machine.pages).map(lack).sum::<f64>() / all
    }

    /// The slowdown of each application.
    ///
    /// # Errors
    /// [`NoAnswer`] of the contention model.
    pub fn slowdowns(&mut self, arrangement: &Arrangement) -> Result<Vec<f64>, NoAnswer> {
        let demands = self.demands(arrangement);
        self.asked += 1;
        let question = Question { machine: &self.workload.machine.memory, threads: &demands, copy: None };
        let answer = self.solver.ask(&question, Budget::default())?;
        let mut rates = answer.rates.iter();
        let mut slowest =
            |app: &App| rates.by_ref().take(num::index(app.threads)).copied().fold(f64::INFINITY, f64::min);
        let slowest: Vec<f64> = self.workload.apps.iter().map(&mut slowest).collect();
        let seconds: Vec<f64> =
            self.workload.apps.iter().zip(slowest).map(|(app, rate)| self.goal(app) / rate).collect();
        let mut last: BTreeMap<&str, f64> = BTreeMap::new();
        for (app, seconds) in self.workload.apps.iter().zip(&seconds) {
            if let Some(job) = &app.job {
                last.entry(&job.name).and_modify(|last| *last = last.max(*seconds)).or_insert(*seconds);
            }
        }
        let ends = self.workload.apps.iter().zip(seconds).map(|(app, seconds)| {
            app.job.as_ref().and_then(|job| last.get(job.name.as_str())).copied().unwrap_or(seconds)
        });
        Ok(ends.zip(self.alone).map(|(seconds, alone)| seconds / alone).collect())
    }

    /// A lower bound of the mean slowdown over all placements of threads, pages and ways, provided
    /// that no CPU is idle while another has two threads.
    #[must_use]
    pub fn least_mean(&self) -> f64 {
        let machine = &self.workload.machine;
        let threads: u32 = self.workload.apps.iter().map(|app| app.threads).sum();
        let cpus = self.rooms.iter().map(|room| room.cpus).sum::<usize>().max(1);
        let turns = num::float_len((num::index(threads) / cpus).max(1));
        let apps = num::float_len(self.alone.len());
        let contender = |(app, alone): (&App, &f64)| {
            let siblings = f64::from(app.threads) - 1.0;
            let stand = Stand { llcs: vec![0; num::index(app.threads)], pages: Pages::WithThreads };
            let thread = Demand {
                share: 1.0 / turns,
                compute: app.program.base_cpi / machine.hertz,
                reach: 1.0 + app.program.shared * siblings,
                ..self.demand(app, &stand, 0, &Crowd { share: 1.0, crowding: 1.0, siblings: 0.0, mask: u64::MAX })
            };
            let weight = self.goal(app) / (alone * f64::from(app.threads) * apps);
            Contender { thread, weight, count: f64::from(app.threads) }
        };
        let all: Vec<Contender> = self.workload.apps.iter().zip(self.alone).map(contender).collect();
        least_cost(&machine.memory, &alike(all))
    }

    /// Instructions of each thread.
    fn goal(&self, app: &App) -> f64 {
        app.program.instructions_billion * 1e9 * self.workload.run.instructions_factor / f64::from(app.threads)
    }

    /// The threads of all applications, in order.
    fn demands(&self, arrangement: &Arrangement) -> Vec<Demand> {
        let mut threads = vec![0_usize; self.rooms.len()];
        arrangement.apps.iter().flat_map(|stand| &stand.llcs).for_each(|llc| threads[*llc] += 1);
        let mut demands = Vec::new();
        for (index, (app, stand)) in self.workload.apps.iter().zip(&arrangement.apps).enumerate() {
            for (thread, llc) in stand.llcs.iter().enumerate() {
                let room = &self.rooms[*llc];
                let here = stand.llcs.iter().filter(|other| *other == llc).count();
                let crowd = Crowd {
                    share: room.share(threads[*llc]),
                    crowding: room.crowding(&self.workload.machine, threads[*llc]),
                    siblings: num::float_len(here) - 1.0,
                    mask: mask(&arrangement.ways[*llc], index),
                };
                demands.push(self.demand(app, stand, thread, &crowd));
            }
        }
        demands
    }

    fn demand(&self, app: &App, stand: &Stand, thread: usize, crowd: &Crowd) -> Demand {
        let program = &app.program;
        let (node, llc) = self.rooms[stand.llcs[thread]].place;
        Demand {
            share: crowd.share,
            place: Place { node, llc },
            mask: crowd.mask,
            compute: program.base_cpi * crowd.crowding / self.workload.machine.hertz,
            curve: program.mpki.clone(),
            factor: mean_factor(program),
            mlp: program.mlp,
            prefetch: program.prefetch,
            write_back: program.write_back,
            footprint: private_bytes(program, f64::from(app.threads)),
            reach: 1.0 + program.shared * crowd.siblings,
            weights: self.weights(app, stand, thread),
            delay: 0.0,
            held: 0.0,
        }
    }

    /// The fraction of a thread's accesses that goes to each node.
    fn weights(&self, app: &App, stand: &Stand, thread: usize) -> Vec<f64> {
        let Pages::On(weights) = &stand.pages else {
            let node = |thread: usize| self.rooms[stand.llcs[thread]].place.0;
            let shared = if app.threads > 1 { app.program.shared } else { 0.0 };
            let mut weights = vec![0.0; self.workload.machine.memory.nodes()];
            weights[node(thread)] += 1.0 - shared;
            let each = shared / num::float_len(stand.llcs.len());
            (0..stand.llcs.len()).for_each(|other| weights[node(other)] += each);
            return weights;
        };
        weights.clone()
    }
}

/// The resources that a thread's neighbours leave to it.
struct Crowd {
    share: f64,
    crowding: f64,
    siblings: f64,
    mask: u64,
}

impl Room {
    /// The fraction of a CPU that each thread gets if there are `threads` of them on the cache.
    fn share(&self, threads: usize) -> f64 {
        if threads <= self.cpus {
            return 1.0;
        }
        num::float_len(self.cpus) / num::float_len(threads) * (1.0 - SWITCHED)
    }

    /// The mean factor on computing time because of other threads of a core, with cores filled
    /// evenly.
    fn crowding(&self, machine: &MachineSpec, threads: usize) -> f64 {
        let busy = threads.min(self.cpus);
        let (each, more) = (busy / self.cores.max(1), busy % self.cores.max(1));
        let on = |count: usize, cores: usize| {
            num::float_len(count * cores) * machine.smt.crowding(u32::try_from(count).unwrap_or(1))
        };
        (on(each, self.cores - more) + on(each + 1, more)) / num::float_len(busy.max(1))
    }
}

/// The ways of a cache that an application may fill there, as a mask. The sets of ways are adjacent
/// and do not overlap.
fn mask(ways: &[Sharing], app: usize) -> u64 {
    let mut first = 0;
    for sharing in ways {
        if sharing.apps.contains(&app) {
            return (u64::MAX >> (64 - sharing.ways.clamp(1, 64))) << first;
        }
        first += sharing.ways;
    }
    u64::MAX
}

/// The caches that have CPUs.
fn rooms(machine: &MachineSpec) -> Vec<Room> {
    let room = |(position, llc): (usize, &isobar_model::topology::Llc)| {
        let cpus: Vec<_> = machine.topology.cpus().iter().filter(|cpu| cpu.llc == Some(llc.id)).collect();
        let place = machine.places.get(&cpus.first()?.id)?;
        let cores: BTreeSet<_> = cpus.iter().map(|cpu| cpu.core).collect();
        let classes = machine.classes[position].clos;
        let ways = machine.memory.llcs()[position].ways;
        Some(Room { id: llc.id, place: (place.node, position), cpus: cpus.len(), cores: cores.len(), ways, classes })
    };
    machine.topology.llcs().iter().enumerate().filter_map(room).collect()
}

/// Merges equal contenders.
fn alike(all: Vec<Contender>) -> Vec<Contender> {
    let mut kinds: Vec<Contender> = Vec::new();
    for one in all {
        match kinds.iter_mut().find(|kind| kind.thread == one.thread && kind.weight.total_cmp(&one.weight).is_eq()) {
            Some(kind) => kind.count += one.count,
            None => kinds.push(one),
        }
    }
    kinds
}

#[cfg(test)]
mod tests;
