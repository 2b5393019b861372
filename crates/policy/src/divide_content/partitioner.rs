//! LFOC+ on every LLC of a machine, each by itself (section V.A): who is where, who is sampled, and the clusters that follow.
//!
//! *Properties*: the partitions of an LLC are contiguous, lie side by side within its mask, cover it, and none is smaller than the hardware
//! allows; every managed thread on a partitioned LLC is in one of its clusters; one program an LLC is sampled at a time; where nothing
//! changed, nothing is set.

use super::capacity::Capacity;
use super::clustering::cluster;
use super::clusters::{Clusters, Kind, Wanted};
use super::config::Config;
use super::programs::{Program, Programs};
use super::sampling::{Next, Rules, Sampling, Span};
use super::words;
use isobar_model::{Action, CpuId, LlcId, Observation, Pid, Tid, Topology, WayCurves, num};
use std::sync::Arc;

/// LFOC+ on all LLCs.
#[derive(Debug)]
pub struct Partitioner {
    config: Config,
    machine: Option<Arc<Topology>>,
    llc_of_cpu: Vec<Option<usize>>,
    llcs: Vec<OneLlc>,
    programs: Programs,
    /// Every thread that was seen, ascending.
    threads: Vec<Tid>,
    epoch: u64,
}

/// One LLC.
#[derive(Debug)]
struct OneLlc {
    id: LlcId,
    capacity: Option<Capacity>,
    cpus: usize,
    /// Threads that run here, with their program by position; ascending by pid, then tid.
    members: Vec<(usize, Tid)>,
    clusters: Clusters,
    sampling: Option<Sampling>,
    /// For whom the clusters were made: nothing changes while these are the same.
    made_for: Option<Vec<(Pid, u32, Tid)>>,
}

/// Why an LLC has no partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Nobody has to be protected from anybody.
    NothingToProtect,
    /// There are more threads than CPUs (section V.A).
    Oversubscribed,
}

impl Partitioner {
    /// With validated settings.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            machine: None,
            llc_of_cpu: Vec::new(),
            llcs: Vec::new(),
            programs: Programs::default(),
            threads: Vec::new(),
            epoch: 0,
        }
    }

    /// Takes an epoch: who runs where, what each counted, and whether that matches what is known. Call it once an epoch, first.
    pub fn observe(&mut self, seen: &Observation) {
        self.epoch += 1;
        self.fit(&seen.machine);
        let ways = self.llcs.iter().filter_map(|llc| llc.capacity).map(|capacity| capacity.ways).max().unwrap_or(0);
        self.programs.follow(seen, &self.config, ways);
        self.seat(seen);
        self.judge();
    }

    /// Learns the machine, where it is another one than before.
    fn fit(&mut self, machine: &Arc<Topology>) {
        if self.machine.as_ref().is_some_and(|old| Arc::ptr_eq(old, machine) || old == machine) {
            self.machine = Some(Arc::clone(machine));
            return;
        }
        let highest = machine.cpus().last().map_or(0, |cpu| num::index(cpu.id.0) + 1);
        self.llc_of_cpu = vec![None; highest];
        for cpu in machine.cpus() {
            let position = machine.llcs().iter().position(|llc| Some(llc.id) == cpu.llc);
            self.llc_of_cpu[num::index(cpu.id.0)] = position;
        }
        let mut old = std::mem::take(&mut self.llcs);
        let mut keep = |id: LlcId| old.iter().position(|llc| llc.id == id).map(|at| old.swap_remove(at).clusters);
        let fresh = |llc: &isobar_model::topology::Llc| OneLlc {
            id: llc.id,
            capacity: Capacity::of(machine, llc),
            cpus: machine.cpus_of_llc(llc.id).map_or(0, isobar_model::CpuSet::len),
            members: Vec::new(),
            clusters: keep(llc.id).unwrap_or_default(),
            sampling: None,
            made_for: None,
        };
        self.llcs = machine.llcs().iter().map(fresh).collect();
        self.machine = Some(Arc::clone(machine));
    }

    fn seat(&mut self, seen: &Observation) {
        self.threads.clear();
        self.llcs.iter_mut().for_each(|llc| llc.members.clear());
        for (index, process) in seen.processes.iter().enumerate() {
            let Some(program) = self.programs.get_mut(index) else { return };
            program.llc = None;
            for thread in &process.threads {
                self.threads.push(thread.tid);
                let Some(llc) = thread.cpu.and_then(|cpu| llc_of(&self.llc_of_cpu, cpu)) else { continue };
                self.llcs[llc].members.push((index, thread.tid));
                if program.reference == Some(thread.tid) {
                    program.llc = Some(llc);
                }
            }
        }
        self.threads.sort_unstable();
    }

    /// Looks for class transitions where the epoch was an ordinary one.
    fn judge(&mut self) {
        for index in 0..self.programs.list().len() {
            let Some(program) = self.programs.get_mut(index) else { return };
            let Some(llc) = program.llc.map(|llc| &self.llcs[llc]).filter(|llc| llc.sampling.is_none()) else {
                continue;
            };
            let Some(capacity) = llc.capacity else { continue };
            let own = program.reference.and_then(|tid| llc.clusters.ways_of(tid));
            program.judge(own.unwrap_or(capacity.ways), self.epoch, &self.config);
        }
    }

    /// What was measured of programs over ways: of several by one name, the first that is known.
    #[must_use]
    pub fn learnt(&self) -> Vec<WayCurves> {
        let mut all: Vec<WayCurves> = self.programs.list().iter().filter_map(Program::learnt).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all.dedup_by(|later, first| later.name == first.name);
        all
    }

    /// The programs, in the order of the observation's processes.
    #[must_use]
    pub fn programs(&self) -> &[Program] {
        self.programs.list()
    }

    /// How many LLCs there are; they are named by position.
    #[must_use]
    pub const fn llcs(&self) -> usize {
        self.llcs.len()
    }

    /// The LLC of a CPU, by position.
    #[must_use]
    pub fn llc_of(&self, cpu: CpuId) -> Option<usize> {
        llc_of(&self.llc_of_cpu, cpu)
    }

    /// The ways of an LLC, where they can be divided.
    #[must_use]
    pub fn capacity(&self, llc: usize) -> Option<Capacity> {
        self.llcs[llc].capacity
    }

    /// Whether an LLC is in sampling mode.
    #[must_use]
    pub fn sampling(&self, llc: usize) -> bool {
        self.llcs[llc].sampling.is_some()
    }

    /// Takes the reading of the program that is sampled on an LLC, and begins with the next one that waits. Only where there is
    /// `company`, somebody whom the classes matter to.
    pub fn sample(&mut self, llc: usize, now: f64, company: bool) {
        if let Some(mut sampling) = self.llcs[llc].sampling.take() {
            self.llcs[llc].sampling = self.read(llc, &mut sampling).then_some(sampling);
        }
        if self.llcs[llc].sampling.is_none() && company {
            self.llcs[llc].sampling = self.next_sampling(llc, now);
        }
    }

    /// Gives up the sampling on an LLC; the program is sampled anew later.
    pub fn stop_sampling(&mut self, llc: usize) {
        self.llcs[llc].sampling = None;
    }

    /// Whether the sampling goes on.
    fn read(&mut self, llc: usize, sampling: &mut Sampling) -> bool {
        let rules = Rules {
            classes: self.config.classes(),
            light_llcmpkc: self.config.light_llcmpkc,
            streaming_ways: num::index(self.config.ways_streaming),
            epochs: self.config.probe_epochs,
        };
        let position = self.programs.position(sampling.pid);
        let Some(program) = position.and_then(|position| self.programs.get_mut(position)) else { return false };
        if program.llc != Some(llc) {
            return false;
        }
        match sampling.read(program.reading, &rules) {
            Next::Ways(_) => return true,
            Next::Done(profile) => program.sampled(profile, self.epoch, &self.config),
            Next::GiveUp => program.not_sampled(self.epoch, &self.config),
        }
        false
    }

    /// The program of an LLC that has waited longest for its class, those that have none first.
    fn next_sampling(&self, llc: usize, now: f64) -> Option<Sampling> {
        let capacity = self.llcs[llc].capacity.filter(Capacity::is_divisible)?;
        let here =
            |program: &&Program| program.llc == Some(llc) && program.wants_sampling(now, self.epoch, &self.config);
        let order = |a: &&Program, b: &&Program| {
            let profiled = a.profile.is_some().cmp(&b.profile.is_some());
            profiled.then(a.since.total_cmp(&b.since)).then(a.pid.cmp(&b.pid))
        };
        let program = self.programs.list().iter().filter(here).min_by(order)?;
        let span = Span { least: capacity.min_ways, most: capacity.ways - capacity.min_ways, ways: capacity.ways };
        Some(Sampling::new(program.pid, span))
    }

    /// Whether threads of more than one program run on an LLC.
    #[must_use]
    pub fn shared(&self, llc: usize) -> bool {
        let members = &self.llcs[llc].members;
        members.first().is_some_and(|(first, _)| members.iter().any(|(program, _)| program != first))
    }

    /// A number that differs (but for chance) where other programs run on an LLC.
    #[must_use]
    pub fn fingerprint(&self, llc: usize) -> u64 {
        // FNV-1a, over pids.
        let list = self.programs.list();
        let mut last = None;
        let pids = self.llcs[llc].members.iter().filter(|(at, _)| last.replace(*at) != Some(*at));
        let mix = |hash: u64, pid: u32| (hash ^ u64::from(pid)).wrapping_mul(0x0100_0000_01b3);
        pids.fold(0xcbf2_9ce4_8422_2325, |hash, (at, _)| mix(hash, list[*at].pid.0))
    }

    /// Whether more threads than CPUs run on an LLC: LFOC+ was not made for that, and does not partition then (section V.A).
    #[must_use]
    pub fn crowded(&self, llc: usize) -> bool {
        self.llcs[llc].members.len() > self.llcs[llc].cpus
    }

    /// LFOC+ on an LLC, whatever its mode: the next reading, then partitions; none where it is oversubscribed.
    pub fn run(&mut self, llc: usize, now: f64, actions: &mut Vec<Action>) {
        if self.crowded(llc) {
            return self.release(llc, Whole::Oversubscribed, actions);
        }
        let shared = self.shared(llc);
        self.sample(llc, now, shared);
        self.partition(llc, actions);
    }

    /// The actions that give an LLC the partitions of its mode.
    pub fn partition(&mut self, llc: usize, actions: &mut Vec<Action>) {
        let Some(capacity) = self.llcs[llc].capacity else { return };
        if let Some(sampling) = self.llcs[llc].sampling.clone() {
            return self.isolate(llc, capacity, &sampling, actions);
        }
        if self.unchanged(llc) {
            return;
        }
        let list = self.programs.list();
        let wanted = cluster(list, &self.llcs[llc].members, capacity, &self.config);
        let (programs, clusters): (Vec<Vec<usize>>, Vec<Wanted>) = wanted.into_iter().unzip();
        let ways: Vec<usize> = clusters.iter().map(|cluster| num::index(cluster.mask.count_ones())).collect();
        let kinds: Vec<Kind> = clusters.iter().map(|cluster| cluster.kind).collect();
        let none = clusters.is_empty();
        let why = |index: Option<usize>| match index {
            Some(index) => {
                let own: Vec<&Program> = programs[index].iter().map(|at| &list[*at]).collect();
                words::cluster(kinds[index], &own, ways[index])
            }
            None if none => words::whole(Whole::NothingToProtect).to_owned(),
            None => words::UNUSED.to_owned(),
        };
        self.llcs[llc].set(capacity, clusters, &self.threads, why, actions);
    }

    /// Whether the clusters of an LLC were made for what is there now; remembers what is there now.
    fn unchanged(&mut self, llc: usize) -> bool {
        let list = self.programs.list();
        let now = self.llcs[llc].members.iter().map(|(at, tid)| (list[*at].pid, list[*at].version, *tid));
        if self.llcs[llc].made_for.as_ref().is_some_and(|old| old.iter().copied().eq(now.clone())) {
            return true;
        }
        let now = now.collect();
        self.llcs[llc].made_for = Some(now);
        false
    }

    /// Takes all partitions of an LLC away.
    pub fn release(&mut self, llc: usize, why: Whole, actions: &mut Vec<Action>) {
        self.llcs[llc].sampling = None;
        self.llcs[llc].made_for = None;
        let Some(capacity) = self.llcs[llc].capacity.filter(|_| !self.llcs[llc].clusters.is_empty()) else { return };
        self.llcs[llc].set(capacity, Vec::new(), &self.threads, |_| words::whole(why).to_owned(), actions);
    }

    /// The sampled program in its partition, everybody else in the rest.
    fn isolate(&mut self, llc: usize, capacity: Capacity, sampling: &Sampling, actions: &mut Vec<Action>) {
        self.llcs[llc].made_for = None;
        let masks = capacity.masks([sampling.ways, capacity.ways - sampling.ways]);
        let position = self.programs.position(sampling.pid);
        let sampled = |member: &&(usize, Tid)| Some(member.0) == position;
        let members = &self.llcs[llc].members;
        let cluster = |kind, mask, own: bool| {
            let mut threads: Vec<Tid> =
                members.iter().filter(|member| sampled(member) == own).map(|(_, tid)| *tid).collect();
            threads.sort_unstable();
            Wanted { kind, mask, percent: None, threads }
        };
        let both = [cluster(Kind::Sampling, masks[0], true), cluster(Kind::Rest, masks[1], false)];
        let wanted: Vec<Wanted> = both.into_iter().filter(|cluster| !cluster.threads.is_empty()).collect();
        let name = position.map(|position| Arc::clone(&self.programs.list()[position].name)).unwrap_or_default();
        let again = position.and_then(|position| self.programs.list()[position].departed);
        let ways = (sampling.ways, capacity.ways);
        let why = |index: Option<usize>| words::sampling(index, sampling.pid, &name, ways, again);
        self.llcs[llc].set(capacity, wanted, &self.threads, why, actions);
    }
}

impl OneLlc {
    /// Sets the clusters; `threads` are all that there are, ascending.
    fn set(
        &mut self,
        capacity: Capacity,
        wanted: Vec<Wanted>,
        threads: &[Tid],
        why: impl Fn(Option<usize>) -> String,
        actions: &mut Vec<Action>,
    ) {
        let here = |tid: Tid| threads.binary_search(&tid).is_ok();
        self.clusters.change(self.id, wanted, capacity.full_mask(), here, why, actions);
    }
}

fn llc_of(llc_of_cpu: &[Option<usize>], cpu: CpuId) -> Option<usize> {
    llc_of_cpu.get(num::index(cpu.0)).copied().flatten()
}
