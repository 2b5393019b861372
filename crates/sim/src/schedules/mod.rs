//! Lists which threads can run on which last-level cache: every assignment of a workload's threads,
//! with assignments that are equal by symmetry listed once. It runs nothing.
//!
//! **Balanced schedules** are those that a scheduler may choose if it balances CPU load and knows
//! nothing of memory: threads come in any order, each goes to a node with the least load, and there
//! to a cache with the least load. All orders are equally likely, and so are all ties. This gives
//! N-MASS's six schedules of four processes on two nodes (section 4.3 there). **Mappings** are all
//! assignments that leave no CPU idle while another has two threads.
//!
//! **Equal by symmetry**: applications that are alike (same program, threads, phase, job, start and
//! home of memory) may be exchanged, and so may caches and nodes wherever the machine has that
//! symmetry. A [`Schedule`] says how likely it is and which application takes whose part in it, so
//! that means over all assignments can be computed from the listed ones alone.

mod seating;
mod symmetry;
mod too_many;

pub use too_many::{MOST_THREADS, TooMany};

use crate::workload::{App, LlcAssignment, Workload};
use isobar_model::{LlcId, num};
use seating::{Leaf, Seating};
use std::collections::BTreeMap;
use std::sync::Arc;
use symmetry::{Symmetry, symmetries};

/// An assignment of all threads to last-level caches, which represents all that are equal by
/// symmetry.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The cache of each thread, by application in the order of the workload.
    pub llcs: Vec<Vec<LlcId>>,
    /// The fraction of all assignments that equal this one by symmetry. Over all schedules, the
    /// fractions sum to 1.
    pub share: f64,
    /// `parts[i][j]`: the part of `share` that is assignments in which application `i` fares as
    /// application `j` does in this one.
    pub parts: Vec<BTreeMap<usize, f64>>,
}

/// Every balanced schedule of a workload.
///
/// # Errors
/// [`TooMany`] if more than `most` differ.
pub fn balanced(workload: &Workload, most: usize) -> Result<Vec<Schedule>, TooMany> {
    few_threads(workload)?;
    let seating = Seating::new(workload);
    let mut listing = Listing::new(workload, most);
    for room in seating.balanced_counts() {
        seating.each(&room, &mut |leaf| listing.add(leaf))?;
    }
    listing.finish()
}

/// Every mapping of a workload's threads to caches that leaves no CPU idle while another has two
/// threads.
///
/// # Errors
/// [`TooMany`] if more than `most` differ.
pub fn mappings(workload: &Workload, most: usize) -> Result<Vec<Schedule>, TooMany> {
    few_threads(workload)?;
    let seating = Seating::new(workload);
    let mut listing = Listing::new(workload, most);
    seating.each(&seating.capacity(), &mut |leaf| listing.add(leaf))?;
    listing.finish()
}

fn few_threads(workload: &Workload) -> Result<(), TooMany> {
    let threads = workload.apps.iter().map(|app| app.threads).sum();
    if threads > MOST_THREADS { Err(TooMany::Threads { threads }) } else { Ok(()) }
}

impl Workload {
    /// The workload with its threads started on given caches. With `keep`, they also restart there,
    /// whatever the load.
    #[must_use]
    pub fn seated(&self, schedule: &Schedule, keep: bool) -> Self {
        let seated = |(app, llcs): (&App, &Vec<LlcId>)| App {
            seats: Some(LlcAssignment { llcs: llcs.clone(), keep }),
            ..app.clone()
        };
        let apps = self.apps.iter().zip(&schedule.llcs).map(seated).collect();
        Self { machine: Arc::clone(&self.machine), apps, run: self.run }
    }
}

/// What identifies an assignment: for every application its kind, its home nodes, and its threads
/// by cache; sorted.
type Key = Vec<(usize, [Option<usize>; 2], Vec<u32>)>;

/// The assignments found so far, with equal ones merged.
struct Listing<'a> {
    workload: &'a Workload,
    most: usize,
    symmetries: Vec<Symmetry>,
    kinds: Vec<usize>,
    alike: Vec<Vec<usize>>,
    /// By key: the applications in the order of the key, and the schedule.
    known: BTreeMap<Key, (Vec<usize>, Schedule)>,
}

impl<'a> Listing<'a> {
    fn new(workload: &'a Workload, most: usize) -> Self {
        let mut symmetries = symmetries(&workload.machine);
        if workload.apps.iter().any(|app| app.cpu.is_some()) {
            symmetries.truncate(1); // a given CPU has no image
        }
        let kinds = seating::kinds(&workload.apps);
        let alike = seating::alike(&workload.apps, &kinds);
        Self { workload, most, symmetries, kinds, alike, known: BTreeMap::new() }
    }

    fn add(&mut self, leaf: &Leaf) -> Result<(), TooMany> {
        let keys = self.symmetries.iter().map(|symmetry| self.key(leaf, symmetry));
        let Some((key, order)) = keys.min() else { return Ok(()) };
        if !self.known.contains_key(&key) && self.known.len() == self.most {
            return Err(self.too_many());
        }
        let apps = self.workload.apps.len();
        let ids: Vec<LlcId> = self.workload.machine.topology.llcs().iter().map(|llc| llc.id).collect();
        let first = || Schedule { llcs: leaf.llcs(&ids), share: 0.0, parts: vec![BTreeMap::new(); apps] };
        let (roles, schedule) = self.known.entry(key).or_insert_with(|| (order.clone(), first()));
        schedule.share += leaf.weight;
        for (app, role) in order.iter().zip(roles.iter()) {
            // The leaf represents every exchange of applications that are alike.
            let alike = &self.alike[*app];
            for other in alike {
                *schedule.parts[*other].entry(*role).or_default() += leaf.weight / num::float_len(alike.len());
            }
        }
        Ok(())
    }

    /// The key of the assignment after applying a symmetry, and the applications in the order of
    /// the key.
    fn key(&self, leaf: &Leaf, symmetry: &Symmetry) -> (Key, Vec<usize>) {
        let image =
            |node: Option<isobar_model::NodeId>| Some(symmetry.nodes[self.workload.machine.node_position(node?)?]);
        let one = |(index, app): (usize, &App)| {
            let mut counts = vec![0; symmetry.llcs.len()];
            leaf.counts[index].iter().zip(&symmetry.llcs).for_each(|(count, to)| counts[*to] = *count);
            ((self.kinds[index], [image(app.memory_node), image(app.start_node)], counts), index)
        };
        let mut all: Vec<_> = self.workload.apps.iter().enumerate().map(one).collect();
        all.sort();
        all.into_iter().unzip()
    }

    fn finish(self) -> Result<Vec<Schedule>, TooMany> {
        let mut all: Vec<_> = self.known.into_values().map(|(_, schedule)| schedule).collect();
        let sum: f64 = all.iter().map(|schedule| schedule.share).sum();
        for schedule in &mut all {
            schedule.share /= sum;
            schedule.parts.iter_mut().flat_map(BTreeMap::values_mut).for_each(|part| *part /= sum);
        }
        Ok(all)
    }

    fn too_many(&self) -> TooMany {
        TooMany::Assignments { most: self.most, remedy: seating::REMEDY }
    }
}

#[cfg(test)]
mod tests;
