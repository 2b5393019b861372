//! LFOC+ on every LLC of a machine, each separately (section V.A): the sampling of programs, and
//! the clusters that follow from it.
//!
//! *Properties*: the partitions of an LLC are contiguous, lie side by side within its mask and
//! cover it, and none is smaller than the hardware allows; every managed thread on a partitioned
//! LLC is in one of its clusters; at most one program per LLC is sampled at a time; if nothing
//! changed, nothing is set; what was refused is not taken to be in force, and is asked for again
//! after growing intervals.

use super::capacity::Capacity;
use super::clustering::cluster;
use super::clusters::{Kind, Wanted};
use super::config::Config;
use super::core_groups::CoreGroups;
use super::llcs::{Llc, Llcs};
use super::programs::{Program, Programs};
use super::sampling::{Next, Sampling, Span};
use super::words;
use crate::kit::refused::{Refused, RequestKey, refused_of};
use isobar_model::{Action, Observation, Outcome, Plan, Thread, Tid, WayCurves, num};
use std::sync::Arc;

/// LFOC+ on all LLCs.
#[derive(Debug)]
pub struct Partitioner {
    config: Config,
    llcs: Llcs,
    programs: Programs,
    epoch: u64,
    refused: Refused,
}

impl Partitioner {
    /// Takes validated settings.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, llcs: Llcs::default(), programs: Programs::default(), epoch: 0, refused: Refused::default() }
    }

    /// Takes an epoch: where threads run, what each counted, and whether that matches the profiles.
    /// To be called once per epoch, before anything else.
    pub fn observe(&mut self, seen: &Observation) {
        self.epoch += 1;
        self.refused.next_epoch(seen);
        self.llcs.fit(&seen.machine);
        let capacities = self.llcs.list.iter().filter_map(|llc| llc.capacity);
        let ways = capacities.map(|capacity| capacity.ways).max().unwrap_or(0);
        self.programs.follow(seen, &self.config, ways);
        self.llcs.locate(seen, &mut self.programs);
        self.judge();
    }

    /// Takes the outcome of a plan: a cluster that was refused is not in force.
    pub fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.refused.applied(plan, outcome);
        for action in refused_of(plan, outcome) {
            if let Action::SetWays { llc, cluster, threads, .. } = action
                && let Some(own) = self.llcs.by_id(*llc)
            {
                own.refused(cluster, threads.is_empty());
            }
        }
    }

    /// Whether ways of an LLC were refused so recently that they are not asked for now.
    fn waits(&self, llc: usize) -> bool {
        self.refused.waits(RequestKey::Ways(self.llc(llc).id()))
    }

    /// Removes, once, what is left of a partitioning of which a part was refused.
    fn retreat(&mut self, llc: usize, actions: &mut Vec<Action>) {
        if std::mem::take(&mut self.llcs.list[llc].retreats) {
            self.llcs.set(llc, Vec::new(), |_| words::REFUSED.to_owned(), actions);
        }
    }

    /// Looks for class transitions on LLCs where no program was sampled in the epoch.
    fn judge(&mut self) {
        for index in 0..self.programs.list.len() {
            let Some(program) = self.programs.list.get_mut(index) else { return };
            let Some(llc) = program.llc.map(|llc| &self.llcs.list[llc]).filter(|llc| llc.sampling.is_none()) else {
                continue;
            };
            let Some(capacity) = llc.capacity else { continue };
            let own = program.reference.and_then(|tid| llc.clusters.ways_of(tid));
            program.judge(own.unwrap_or(capacity.ways), self.epoch, &self.config);
        }
    }

    /// The curves that were measured over ways. If several programs have one name, those of the
    /// first are returned.
    #[must_use]
    pub fn learnt(&self) -> Vec<WayCurves> {
        let mut all: Vec<WayCurves> = self.programs.list.iter().filter_map(Program::learnt).collect();
        all.sort_by(|a, b| a.profile.name().cmp(b.profile.name()));
        all.dedup_by(|later, first| later.profile.name() == first.profile.name());
        all
    }

    /// The programs, in the order of the observation's processes.
    #[must_use]
    pub fn programs(&self) -> &[Program] {
        &self.programs.list
    }

    /// The LLCs with their CPUs, by position.
    #[must_use]
    pub const fn groups(&self) -> &CoreGroups {
        &self.llcs.groups
    }

    /// The LLC of the CPU on which a thread last ran, by position.
    #[must_use]
    pub fn llc_of(&self, thread: &Thread) -> Option<usize> {
        self.groups().of_cpu(thread.cpu?)
    }

    /// Misses per 1000 cycles from which on a program may be a streaming program.
    #[must_use]
    pub const fn streaming_llcmpkc(&self) -> f64 {
        self.config.streaming_llcmpkc
    }

    /// Whether an LLC is in sampling mode.
    #[must_use]
    pub fn is_sampling(&self, llc: usize) -> bool {
        self.llc(llc).sampling.is_some()
    }

    /// Takes the reading of the program that is sampled on an LLC, and begins with the next program
    /// that waits. A sampling begins only if there is `company`: other programs to which its class
    /// matters.
    pub fn sample(&mut self, llc: usize, now: f64, company: bool) {
        if let Some(mut sampling) = self.llcs.list[llc].sampling.take() {
            self.llcs.list[llc].sampling = self.read(llc, &mut sampling).then_some(sampling);
        }
        if !self.is_sampling(llc) && company && !self.waits(llc) {
            self.llcs.list[llc].sampling = self.next_sampling(llc, now);
        }
    }

    /// Gives up the sampling on an LLC; the program is sampled again later.
    pub fn stop_sampling(&mut self, llc: usize) {
        self.llcs.list[llc].sampling = None;
    }

    /// Takes a reading. Returns whether the sampling goes on.
    fn read(&mut self, llc: usize, sampling: &mut Sampling) -> bool {
        let position = self.programs.position(sampling.pid);
        let Some(program) = position.and_then(|position| self.programs.list.get_mut(position)) else { return false };
        if program.llc != Some(llc) {
            return false;
        }
        match sampling.read(program.reading, &self.config) {
            Next::Ways(_) => return true,
            Next::Done(profile) => program.sampled(profile, self.epoch, &self.config),
            Next::GiveUp => program.not_sampled(self.epoch, &self.config),
        }
        false
    }

    /// The program of an LLC that has waited longest for its class; programs without a profile come
    /// first.
    fn next_sampling(&self, llc: usize, now: f64) -> Option<Sampling> {
        let capacity = self.llc(llc).capacity.filter(Capacity::is_divisible)?;
        let here =
            |program: &&Program| program.llc == Some(llc) && program.wants_sampling(now, self.epoch, &self.config);
        let order = |a: &&Program, b: &&Program| {
            let profiled = a.profile.is_some().cmp(&b.profile.is_some());
            profiled.then(a.since.total_cmp(&b.since)).then(a.pid.cmp(&b.pid))
        };
        let program = self.programs.list.iter().filter(here).min_by(order)?;
        let span = Span { least: capacity.min_ways, most: capacity.ways - capacity.min_ways, ways: capacity.ways };
        Some(Sampling::new(program.pid, span))
    }

    /// A number that differs (with near certainty) if other programs run on an LLC.
    #[must_use]
    pub fn fingerprint(&self, llc: usize) -> u64 {
        // FNV-1a over the pids.
        let list = &self.programs.list;
        let mut last = None;
        let pids = self.llc(llc).members.iter().filter(|(at, _)| last.replace(*at) != Some(*at));
        let mix = |hash: u64, pid: u32| (hash ^ u64::from(pid)).wrapping_mul(0x0100_0000_01b3);
        pids.fold(0xcbf2_9ce4_8422_2325, |hash, (at, _)| mix(hash, list[*at].pid.0))
    }

    /// Number of threads that run on an LLC.
    #[must_use]
    pub fn crowd(&self, llc: usize) -> usize {
        self.llc(llc).crowd()
    }

    /// Whether more threads than CPUs run on an LLC.
    #[must_use]
    pub fn is_oversubscribed(&self, llc: usize) -> bool {
        self.llc(llc).is_oversubscribed()
    }

    /// Runs LFOC+ on an LLC, whatever its mode: the next reading, then the partitions. An
    /// oversubscribed LLC has none.
    pub fn run(&mut self, llc: usize, now: f64, actions: &mut Vec<Action>) {
        if self.is_oversubscribed(llc) {
            return self.release(llc, actions);
        }
        let shared = self.llc(llc).is_shared();
        self.sample(llc, now, shared);
        self.partition(llc, actions);
    }

    /// Adds the actions that give an LLC the partitions of its mode.
    pub fn partition(&mut self, llc: usize, actions: &mut Vec<Action>) {
        let Some(capacity) = self.llc(llc).capacity else { return };
        if self.waits(llc) {
            return self.retreat(llc, actions);
        }
        if let Some(sampling) = self.llc(llc).sampling.clone() {
            return self.isolate(llc, capacity, &sampling, actions);
        }
        if self.unchanged(llc) {
            return;
        }
        let list = &self.programs.list;
        let wanted = cluster(list, &self.llc(llc).members, capacity, &self.config);
        let (programs, clusters): (Vec<Vec<usize>>, Vec<Wanted>) = wanted.into_iter().unzip();
        let ways: Vec<usize> = clusters.iter().map(|cluster| num::index(cluster.mask.count_ones())).collect();
        let kinds: Vec<Kind> = clusters.iter().map(|cluster| cluster.kind).collect();
        let none = clusters.is_empty();
        let why = |index: Option<usize>| match index {
            Some(index) => {
                let own: Vec<&Program> = programs[index].iter().map(|at| &list[*at]).collect();
                words::cluster(kinds[index], &own, ways[index])
            }
            None if none => words::NOTHING_TO_PROTECT.to_owned(),
            None => words::UNUSED.to_owned(),
        };
        self.llcs.set(llc, clusters, why, actions);
    }

    /// Whether the clusters of an LLC were made for the threads and profiles that are there now.
    /// These are remembered.
    fn unchanged(&mut self, llc: usize) -> bool {
        let list = &self.programs.list;
        let now = self.llc(llc).members.iter().map(|(at, tid)| (list[*at].pid, list[*at].version, *tid));
        if self.llc(llc).made_for.as_ref().is_some_and(|old| old.iter().copied().eq(now.clone())) {
            return true;
        }
        let now = now.collect();
        self.llcs.list[llc].made_for = Some(now);
        false
    }

    /// Removes all partitions of an oversubscribed LLC.
    pub fn release(&mut self, llc: usize, actions: &mut Vec<Action>) {
        self.llcs.list[llc].sampling = None;
        self.llcs.list[llc].made_for = None;
        if self.waits(llc) {
            self.retreat(llc, actions);
        } else if !self.llc(llc).clusters.is_empty() {
            self.llcs.set(llc, Vec::new(), |_| words::OVERSUBSCRIBED.to_owned(), actions);
        }
    }

    /// Puts the sampled program into its partition, and all others into the rest.
    fn isolate(&mut self, llc: usize, capacity: Capacity, sampling: &Sampling, actions: &mut Vec<Action>) {
        self.llcs.list[llc].made_for = None;
        let masks = capacity.masks([sampling.ways, capacity.ways - sampling.ways]);
        let position = self.programs.position(sampling.pid);
        let sampled = |member: &&(usize, Tid)| Some(member.0) == position;
        let members = &self.llc(llc).members;
        let cluster = |kind, mask, own: bool| {
            let mut threads: Vec<Tid> =
                members.iter().filter(|member| sampled(member) == own).map(|(_, tid)| *tid).collect();
            threads.sort_unstable();
            Wanted { kind, mask, percent: None, threads }
        };
        let both = [cluster(Kind::Sampling, masks[0], true), cluster(Kind::Rest, masks[1], false)];
        let wanted: Vec<Wanted> = both.into_iter().filter(|cluster| !cluster.threads.is_empty()).collect();
        let name = position.map(|position| Arc::clone(&self.programs.list[position].name)).unwrap_or_default();
        let again = position.and_then(|position| self.programs.list[position].departed);
        let ways = (sampling.ways, capacity.ways);
        let why = |index: Option<usize>| words::sampling(index, sampling.pid, &name, ways, again);
        self.llcs.set(llc, wanted, why, actions);
    }

    fn llc(&self, llc: usize) -> &Llc {
        &self.llcs.list[llc]
    }
}
