//! The state of one epoch from which predictions start: the programs, the threads of each program
//! on each domain, the free cores, and the properties of every program. The effect of a candidate
//! change is computed on this state. Everything is identified by its position.

use super::config::Config;
use super::cores::Added;
use super::curves::Extrapolation;
use super::idle::{Idle, runs};
use super::math::ln;
use super::memory::Memory;
use super::part::{Guests, Part};
use super::program::Program;
use super::programs::{Programs, weights};
use super::reading::{FEW, WRITE_BACK};
use super::residence::residence;
use super::targets;
use super::traits::{PAGE, Traits, describe};
use crate::kit::domains::Domains;
use isobar_model::{Observation, Pid, Process, Tid, num};
use std::ops::Range;

/// Maximum number of pages that are copied per second (about 600 MB/s, as Goglin and Furmento
/// measured for `move_pages`, IPDPS workshops 2009).
const COPIED: f64 = 150_000.0;
/// Lines of a page. One CPU copies them one after another, which limits the copy rate if memory is
/// slow.
const LINES: f64 = 64.0;
/// Maximum number of running threads of a program on several domains for which each of its threads
/// is modelled by itself.
const FEW_THREADS: usize = 16;
/// Maximum number of running threads of a machine for which that is done: each of them makes a
/// decision more expensive.
const SMALL: usize = 128;

/// The unit of placement: the threads of a program on a domain, or one of these threads.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The program, by position.
    pub program: usize,
    /// How many threads.
    pub threads: f64,
    /// The CPUs that they keep busy, together.
    pub share: f64,
    /// Bytes of the cache that they hold, together.
    pub space: f64,
    /// The thread, if the unit is one thread of a program that is on several domains.
    pub thread: Option<Tid>,
}

/// Where threads and pages are, and what they may use of the caches: the state that a change
/// alters.
#[derive(Debug)]
pub struct Arrangement {
    /// The domain of each unit.
    pub domains: Vec<usize>,
    /// The fraction of each program's pages on each node.
    pub weights: Vec<Vec<f64>>,
    /// What each unit may take of its cache.
    pub parts: Vec<Part>,
    /// Free cores, by domain.
    pub idle_cores: Vec<usize>,
}

impl Clone for Arrangement {
    fn clone(&self) -> Self {
        let Self { domains, weights, parts, idle_cores } = self;
        let (domains, weights) = (domains.clone(), weights.clone());
        Self { domains, weights, parts: parts.clone(), idle_cores: idle_cores.clone() }
    }

    /// Copies into existing memory, because a search does this for every candidate change.
    fn clone_from(&mut self, source: &Self) {
        self.domains.clone_from(&source.domains);
        self.weights.clone_from(&source.weights);
        self.parts.clone_from(&source.parts);
        self.idle_cores.clone_from(&source.idle_cores);
    }
}

/// One epoch, as predictions see it.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The units, ascending by program.
    pub units: Vec<Unit>,
    /// The properties of each program.
    pub traits: Vec<Traits>,
    /// The present arrangement.
    pub base: Arrangement,
    /// What each program would take of the caches that are divided, if it came to them.
    pub guests: Guests,
    /// Pages that each node can still take.
    pub free: Vec<f64>,
    /// Bytes per second through each resource of the machine.
    pub flows: Vec<f64>,
    /// Pages that are copied per second.
    pub copied: f64,
    /// How much a further thread on a core adds.
    pub added: Added,
    /// Seconds for which the gain of a change should last: see [`Scene::wanted`].
    pub watch: f64,
}

impl Scene {
    /// Builds the scene of an observation whose programs have been read.
    #[must_use]
    pub fn of(
        seen: &Observation,
        programs: &Programs,
        memory: &Memory,
        domains: &Domains,
        config: &Config,
        idle: &Idle,
        parts: impl Fn(usize, Pid) -> Part,
    ) -> Self {
        let (mut units, mut at) = (Vec::new(), Vec::new());
        let free = free(seen, memory, config);
        let running = |process: &Process| process.threads.iter().filter(|one| runs(one, seen.interval.0)).count();
        let small = seen.processes.iter().map(running).sum::<usize>() <= SMALL;
        let mut traits = Vec::with_capacity(seen.processes.len());
        let mut places = Vec::with_capacity(seen.processes.len());
        for (position, (process, program)) in seen.processes.iter().zip(&programs.list).enumerate() {
            let first = units.len();
            gather(seen, process, (position, small), domains, &mut units, &mut at);
            let alone = (units.len() == first + 1).then(|| at[first]);
            let mut one = describe(seen, process, program, programs, config);
            one.alone = alone;
            let own = weights(process, memory);
            one.pages_movable &= own.is_some();
            let home = memory.places.get(alone.or(at.get(first).copied()).unwrap_or_default()).map_or(0, |p| p.node);
            // The kernel migrates pages only to a node that has room for them.
            let away = own.as_ref().map_or(0.0, |own| one.pages * (1.0 - own[home]));
            one.follows &= alone.is_some() && away <= free[home];
            places.push(own.filter(|_| !one.follows).unwrap_or_else(|| memory.only(home)));
            traits.push(one);
        }
        let idle_cores = idle.by_domain(domains, config.watch_epochs);
        let part = |(unit, domain): (&Unit, &usize)| parts(memory.places[*domain].llc, programs.list[unit.program].pid);
        let parts = units.iter().zip(&at).map(part).collect();
        let base = Arrangement { domains: at, weights: places, parts, idle_cores };
        let watch = f64::from(config.watch_epochs) * seen.interval.0;
        let copied = COPIED.min(1.0 / (LINES * memory.nearest().max(1e-12)));
        let guests = Guests::new();
        let mut scene =
            Self { units, traits, base, guests, free, flows: Vec::new(), copied, added: programs.added, watch };
        scene.weigh(memory, config);
        scene.hold(memory);
        scene.bend(memory, programs, |program, is_large| {
            Extrapolation::both(program.reuse.elasticity).in_proportion(is_large)
        });
        scene.flows = scene.flows(seen, memory, programs);
        scene
    }

    /// Sets the weight of the gain of each program that is known.
    pub fn weigh(&mut self, memory: &Memory, config: &Config) {
        let (nearest, traits) = (memory.nearest(), &mut self.traits);
        let known: Vec<usize> = (0..traits.len()).filter(|at| traits[*at].known).collect();
        let suffers: Vec<(f64, bool)> =
            known.iter().map(|at| (traits[*at].slowdown(nearest), traits[*at].protected)).collect();
        known.iter().zip(targets::weights(config, &suffers)).for_each(|(at, weight)| traits[*at].weight = weight);
    }

    /// The same scene with the most favourable assumption about every program's use of the cache.
    #[must_use]
    pub fn hoped(&self, memory: &Memory, programs: &Programs) -> Self {
        let mut scene = self.clone();
        scene.bend(memory, programs, |program, _| program.hoped());
        scene
    }

    /// The least that a change to a program must bring, in seconds of the program: a fraction of
    /// its speed, plus what is in doubt of it, times the period for which it is expected to go on
    /// or, if that is longer, the time that it takes to find out what the change did.
    #[must_use]
    pub fn wanted(&self, program: usize, margin: f64) -> f64 {
        let one = &self.traits[program];
        (margin + one.doubt) * one.horizon.max(self.watch)
    }

    /// The programs, by position, that have threads on a cache.
    pub fn on<'a>(&'a self, memory: &'a Memory, cache: usize) -> impl Iterator<Item = usize> + 'a {
        let at = self.units.iter().zip(&self.base.domains);
        at.filter(move |(_, domain)| memory.places[**domain].llc == cache).map(|(unit, _)| unit.program)
    }

    /// For each domain: whether a program of which too little is known is on the domain's cache.
    /// What a change would do to such a program cannot be predicted.
    #[must_use]
    pub fn fresh(&self, memory: &Memory) -> Vec<bool> {
        self.beside(memory, |one| one.fresh)
    }

    /// For each domain: whether any program on the domain's cache is such a one.
    pub fn beside(&self, memory: &Memory, such: impl Fn(&Traits) -> bool) -> Vec<bool> {
        let any = |llc: usize| self.on(memory, llc).any(|program| such(&self.traits[program]));
        let by_cache: Vec<bool> = (0..memory.machine.llcs().len()).map(any).collect();
        memory.places.iter().map(|place| by_cache[place.llc]).collect()
    }

    /// The processes of the programs that have threads on any of some caches.
    #[must_use]
    pub fn pids_on(&self, memory: &Memory, caches: &[usize], programs: &Programs) -> Vec<Pid> {
        caches.iter().flat_map(|cache| self.on(memory, *cache)).map(|program| programs.list[program].pid).collect()
    }

    /// The factor by which computing takes longer on each domain of an arrangement, because of
    /// threads that share cores, if only some programs run: see [`super::cores`].
    #[must_use]
    pub fn crowding(&self, memory: &Memory, at: &Arrangement, runs: impl Fn(usize) -> bool) -> Vec<f64> {
        let mut busy = vec![0.0; memory.cores.len()];
        let units = self.units.iter().zip(&at.domains).filter(|(unit, _)| runs(unit.program));
        units.for_each(|(unit, domain)| busy[*domain] += unit.share);
        memory.cores.iter().zip(busy).map(|(cores, busy)| cores.crowding(busy, self.added)).collect()
    }

    /// The units of a program.
    pub fn units_of(&self, program: usize) -> Range<usize> {
        let before = |all: usize| self.units.partition_point(|unit| unit.program < all);
        before(program)..before(program + 1)
    }

    /// How many threads a unit stands for.
    #[must_use]
    pub fn count(&self, unit: usize) -> usize {
        let unit = &self.units[unit];
        if unit.thread.is_some() { 1 } else { self.traits[unit.program].threads }
    }

    /// The fraction of its program's threads that a unit stands for.
    #[must_use]
    pub fn part(&self, unit: usize) -> f64 {
        let unit = &self.units[unit];
        unit.threads / num::float_len(self.traits[unit.program].threads.max(1))
    }

    /// Assigns a part of a cache to the program of a unit in an arrangement: to all threads that
    /// the program has on the domain of the unit.
    pub fn set_part(&self, at: &mut Arrangement, unit: usize, part: Part) {
        let of = |other: usize| (self.units[other].program, at.domains[other]);
        let mates: Vec<usize> = (0..self.units.len()).filter(|other| of(*other) == of(unit)).collect();
        mates.into_iter().for_each(|mate| at.parts[mate] = part);
    }

    /// Seconds by which a limit on the unit's memory bandwidth delays each of its misses in an
    /// arrangement.
    #[must_use]
    pub fn delay(&self, memory: &Memory, at: &Arrangement, unit: usize) -> f64 {
        memory.delay(at.domains[unit], at.parts[unit]) * self.traits[self.units[unit].program].read
    }

    /// Whether a unit can be moved: it is a program on one domain, or one thread of a program on
    /// several.
    #[must_use]
    pub fn is_one(&self, unit: usize) -> bool {
        self.units[unit].thread.is_some() || self.traits[self.units[unit].program].alone.is_some()
    }

    /// Weighted sum of what all programs gain, in logarithms of their speeds.
    #[must_use]
    pub fn sum(&self, gains: &[f64]) -> f64 {
        self.traits.iter().zip(gains).map(|(one, gain)| one.weight * ln(*gain)).sum()
    }

    /// Computes the bytes that each unit holds. Lines that no thread looks for again stay in a
    /// cache equally long, so a unit holds what it inserts in that time, up to the memory that its
    /// threads have.
    fn hold(&mut self, memory: &Memory) {
        let part = |unit: usize| {
            let llc = memory.places[self.base.domains[unit]].llc;
            (llc, self.base.parts[unit].mask & memory.machine.llcs()[llc].all_ways())
        };
        let mut parts: Vec<(usize, u64)> = (0..self.units.len()).map(part).collect();
        parts.sort_unstable();
        parts.dedup();
        let mut spaces = vec![0.0; self.units.len()];
        for (llc, mask) in parts {
            let cache = memory.machine.llcs()[llc];
            let here: Vec<usize> = (0..self.units.len()).filter(|unit| part(*unit) == (llc, mask)).collect();
            let rate = |unit: &usize| {
                let Unit { program, share, .. } = self.units[*unit];
                let one = &self.traits[program];
                64.0 * share * one.kept / one.seconds.max(1e-12)
            };
            let most = |unit: &usize| self.traits[self.units[*unit].program].footprint * self.units[*unit].threads;
            let rates: Vec<(f64, f64)> = here.iter().map(|unit| (rate(unit), most(unit))).collect();
            let stay = residence(&rates, cache.bytes_of(mask));
            for (unit, (rate, most)) in here.iter().zip(&rates) {
                spaces[*unit] = (rate * stay).min(*most).max(64.0);
            }
        }
        self.units.iter_mut().zip(spaces).for_each(|(unit, space)| unit.space = space);
    }

    /// Computes the miss curves, each through the misses at the bytes that the program holds now.
    /// `beyond` says what to assume outside the readings, for a program and for whether its memory
    /// is larger than any cache.
    fn bend(&mut self, memory: &Memory, programs: &Programs, beyond: impl Fn(&Program, bool) -> Extrapolation) {
        let most = memory.machine.llcs().iter().map(|cache| cache.bytes).fold(0.0, f64::max);
        for at in 0..self.units.len() {
            let unit = &self.units[at];
            let (program, own) = (&programs.list[unit.program], unit.space / unit.threads);
            if program.misses > FEW && own < most {
                let seen = programs.curves.get(&program.kind()).cloned().unwrap_or_default();
                let now = (own, program.misses);
                let beyond = beyond(program, self.traits[unit.program].footprint * unit.threads > most);
                self.traits[unit.program].curve = seen.curve(most / unit.threads, now, program.most(), beyond);
            }
        }
    }

    /// Bytes per second at controllers and links, as counted.
    fn flows(&self, seen: &Observation, memory: &Memory, programs: &Programs) -> Vec<f64> {
        let mut flows = vec![0.0; memory.machine.resources().len()];
        for (unit, domain) in self.units.iter().zip(&self.base.domains) {
            let (program, home) = (&programs.list[unit.program], memory.places[*domain].node);
            let Some(last) = program.last else { continue };
            let part = unit.threads / num::float_len(self.traits[unit.program].threads.max(1));
            let bytes = last.speed * part * last.misses * last.fetched() * program.lines * 64.0;
            let real = weights(&seen.processes[unit.program], memory);
            for (node, weight) in real.as_ref().unwrap_or(&self.base.weights[unit.program]).iter().enumerate() {
                flows[node] += bytes * weight;
                let read = bytes * weight / (1.0 + WRITE_BACK);
                memory.machine.route(node, home).iter().for_each(|link| flows[*link] += read);
                memory.machine.route(home, node).iter().for_each(|link| flows[*link] += read * WRITE_BACK);
            }
        }
        flows
    }
}

/// The units of a process: its running threads by domain, ascending. Each thread is a unit of its
/// own if the threads are few and on several domains, and the machine does not run many threads.
fn gather(
    seen: &Observation,
    process: &Process,
    (program, small): (usize, bool),
    domains: &Domains,
    units: &mut Vec<Unit>,
    at: &mut Vec<usize>,
) {
    let interval = seen.interval.0.max(1e-9);
    let mut found: Vec<(usize, f64, Tid)> = Vec::new();
    for thread in process.threads.iter().filter(|thread| runs(thread, interval)) {
        let Some(domain) = thread.cpu.and_then(|cpu| domains.domain_of(cpu)) else { continue };
        let share = thread.cpu_time.map_or(1.0, |time| (time.0 / interval).clamp(0.01, 1.0));
        found.push((domain.0, share, thread.tid));
    }
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    let several = found.first().map(|one| one.0) != found.last().map(|one| one.0);
    if several && small && found.len() <= FEW_THREADS {
        for (domain, share, tid) in found {
            units.push(Unit { program, threads: 1.0, share, space: 0.0, thread: Some(tid) });
            at.push(domain);
        }
        return;
    }
    for together in found.chunk_by(|a, b| a.0 == b.0) {
        let share = together.iter().map(|(_, share, _)| share).sum();
        units.push(Unit { program, threads: num::float_len(together.len()), share, space: 0.0, thread: None });
        at.push(together[0].0);
    }
}

/// Pages that each node can take and still keep some memory free; 0 for a node whose free memory is
/// not known.
fn free(seen: &Observation, memory: &Memory, config: &Config) -> Vec<f64> {
    let one = |node: &isobar_model::topology::Node| {
        let all = node.memory.map_or(0.0, |bytes| num::float(bytes.0));
        let kept = (all * config.keep_free_percent / 100.0).max(64.0 * 1_048_576.0);
        let free = seen.free.get(node.id).map_or(0.0, |bytes| num::float(bytes.0));
        let coming = num::float(crate::kit::flight::arriving(seen, node.id));
        ((free - kept) / PAGE - coming).max(0.0)
    };
    debug_assert_eq!(memory.nodes.len(), seen.machine.nodes().len());
    seen.machine.nodes().iter().map(one).collect()
}
