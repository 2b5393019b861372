//! Ways of a cache in two parts: one for programs that make little of more space and fill it all
//! the same, the other for the rest. What it brings is predicted from the miss curves, without
//! sampling: programs are never slowed down only to be measured. It is a trial as any other change.
//!
//! A program that comes gets the part that its name had. A division is taken away when threads are
//! moved to or from its cache, or when those that are there now would be faster without it.

use super::config::Config;
use super::math::ln;
use super::memory::Memory;
use super::predict::{Predictor, solutions};
use super::scene::Scene;
use super::step::{Step, domain_of};
use crate::divide_content::capacity::Capacity;
use crate::kit::domains::Domains;
use isobar_model::{Action, LlcId, Observation, Pid, Tid, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Cluster of those that make little of space, and of the rest.
const NAMES: [&str; 2] = ["isobar-streams", "isobar-rest"];
/// Parts of the ways, in eighths, that streams are tried with, in this order.
const EIGHTHS: [usize; 3] = [2, 1, 3];
/// How many programs streams are tried to be, at most.
const STREAMS: usize = 5;

/// The ways of the caches that are divided.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    divided: BTreeMap<usize, Division>,
    /// Until when a cache is left alone, and how often dividing it did not help in a row.
    rests: BTreeMap<usize, (f64, u32)>,
    /// The cache that was looked at last.
    turn: usize,
}

/// A cache, by position, in two parts.
#[derive(Clone, Debug)]
pub struct Division {
    /// Its programs, ascending, each with its mask.
    pub members: Vec<(Pid, u64)>,
    /// Both masks: that of the streams, that of the rest.
    pub masks: [u64; 2],
    /// The mask of each name.
    pub names: BTreeMap<Arc<str>, u64>,
}

/// A division that pays.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The cache, by position.
    pub llc: usize,
    /// How.
    pub division: Division,
    /// Speed-up of each program, by position.
    pub gains: Vec<f64>,
}

impl Ways {
    /// The mask of each unit.
    #[must_use]
    pub fn mask(&self, llc: usize, pid: Pid) -> u64 {
        let division = self.divided.get(&llc);
        let own = division.and_then(|division| division.members.iter().find(|(member, _)| *member == pid));
        own.map_or(u64::MAX, |(_, mask)| *mask)
    }

    /// Fits divisions to who is there now. One that comes gets the part that its name had, else
    /// that of the rest. A division is taken away where all would be faster without it.
    pub fn follow(
        &mut self,
        seen: &Observation,
        domains: &Domains,
        scene: &Scene,
        memory: &Memory,
        actions: &mut Vec<Action>,
    ) {
        let llcs: Vec<usize> = self.divided.keys().copied().collect();
        for llc in llcs {
            let Some(division) = self.divided.get_mut(&llc) else { continue };
            let now = members(seen, scene, memory, llc);
            if division.members.iter().map(|(pid, _)| *pid).eq(now.iter().map(|(pid, _)| *pid)) {
                continue;
            }
            division.take(seen, scene, &now);
            let part = |part: &u64| division.members.iter().any(|(_, mask)| mask == part);
            if !division.masks.iter().all(part) || division.is_useless(scene, memory, &now) {
                self.remove(seen, llc, "other programs run on it now", actions);
            } else {
                let division = division.clone();
                set(seen, domains, memory, (llc, &division), "as before", actions);
            }
        }
    }

    /// Takes away the divisions of the caches between which threads move.
    pub fn open(&mut self, seen: &Observation, memory: &Memory, scene: &Scene, step: &Step, actions: &mut Vec<Action>) {
        for domain in [domain_of(scene, &scene.base, step.program), step.to] {
            self.remove(seen, memory.places[domain].llc, "a program comes or goes", actions);
        }
    }

    /// Takes a division away.
    pub fn remove(&mut self, seen: &Observation, llc: usize, why: &str, actions: &mut Vec<Action>) {
        let (Some(division), Some(id)) = (self.divided.remove(&llc), id(seen, llc)) else { return };
        for (name, mask) in NAMES.iter().zip(division.masks) {
            actions.push(Action::SetWays {
                llc: id,
                cluster: (*name).to_owned(),
                way_mask: mask,
                memory_bandwidth_percent: None,
                threads: Vec::new(),
                reason: format!("every way to all: {why}"),
            });
        }
    }

    /// The machine refused a division: there is none.
    pub fn forget(&mut self, llc: LlcId, machine: &Topology) {
        if let Some(at) = machine.llcs().iter().position(|other| other.id == llc) {
            self.divided.remove(&at);
        }
    }

    /// A division did not help: its cache is left alone, twice as long each time.
    pub fn fail(&mut self, llc: usize, now: f64, rest: f64) {
        let (until, failures) = self.rests.entry(llc).or_default();
        *until = now + rest * f64::from(1u32 << (*failures).min(12));
        *failures += 1;
    }

    /// The next cache's best division, if it pays.
    pub fn propose(
        &mut self,
        seen: &Observation,
        scene: &Scene,
        memory: &Memory,
        config: &Config,
        margin: f64,
    ) -> Option<Proposal> {
        let llcs = seen.machine.llcs();
        let next = (0..llcs.len()).map(|k| (self.turn + 1 + k) % llcs.len()).find(|llc| {
            let rests = self.rests.get(llc).is_some_and(|(until, _)| seen.time.0 < *until);
            !rests && !self.divided.contains_key(llc)
        })?;
        self.turn = next;
        let capacity = Capacity::of(&seen.machine, &llcs[next]).filter(Capacity::is_divisible)?;
        best(seen, scene, memory, config, (next, capacity, margin))
    }

    /// Carries a proposal out.
    pub fn divide(
        &mut self,
        seen: &Observation,
        domains: &Domains,
        memory: &Memory,
        proposal: &Proposal,
        why: &str,
        actions: &mut Vec<Action>,
    ) {
        set(seen, domains, memory, (proposal.llc, &proposal.division), why, actions);
        self.divided.insert(proposal.llc, proposal.division.clone());
    }
}

/// Asks for a division.
fn set(
    seen: &Observation,
    domains: &Domains,
    memory: &Memory,
    (llc, division): (usize, &Division),
    why: &str,
    actions: &mut Vec<Action>,
) {
    let Some(id) = id(seen, llc) else { return };
    for (name, mask) in NAMES.iter().zip(division.masks) {
        let own = |pid: Pid| division.members.iter().any(|(member, at)| *member == pid && *at == mask);
        let here = |thread: &isobar_model::Thread| {
            let seat = thread.cpu.and_then(|cpu| domains.seat_of(cpu));
            seat.is_some_and(|seat| memory.places[domains.seat(seat).domain.0].llc == llc)
        };
        let threads: Vec<Tid> = seen
            .threads()
            .filter(|(process, thread)| own(process.pid) && here(thread))
            .map(|(_, thread)| thread.tid)
            .collect();
        actions.push(Action::SetWays {
            llc: id,
            cluster: (*name).to_owned(),
            way_mask: mask,
            memory_bandwidth_percent: None,
            threads,
            reason: format!("{} ways for {} programs: {why}", mask.count_ones(), name.trim_start_matches("isobar-")),
        });
    }
}

impl Division {
    /// Takes the programs that are there now, each with its unit.
    fn take(&mut self, seen: &Observation, scene: &Scene, now: &[(Pid, usize)]) {
        let old = std::mem::take(&mut self.members);
        let [streams, rest] = self.masks;
        for (pid, unit) in now {
            let name = &seen.processes[scene.units[*unit].program].name;
            let own = old.iter().find(|(member, _)| member == pid).map(|(_, mask)| *mask);
            let mask = own.or_else(|| self.names.get(name).copied()).unwrap_or(rest);
            self.members.push((*pid, mask));
            self.names.insert(Arc::clone(name), if mask == streams { streams } else { rest });
        }
    }

    /// Whether those that are known would be faster without it.
    fn is_useless(&self, scene: &Scene, memory: &Memory, now: &[(Pid, usize)]) -> bool {
        let (mut with, mut without) = (scene.base.clone(), scene.base.clone());
        for ((_, unit), (_, mask)) in now.iter().zip(&self.members) {
            (with.masks[*unit], without.masks[*unit]) = (*mask, u64::MAX);
        }
        let mut predictor = Predictor::new(scene, memory);
        let (Some(with), Some(without)) = (predictor.gains(&with), predictor.gains(&without)) else { return true };
        with.iter().zip(&without).map(|(with, without)| ln(*with / *without)).sum::<f64>() <= 0.0
    }
}

fn id(seen: &Observation, llc: usize) -> Option<LlcId> {
    seen.machine.llcs().get(llc).map(|llc| llc.id)
}

/// Programs of a cache with their units, ascending by pid; not those of other policies, which keep
/// every way.
fn members(seen: &Observation, scene: &Scene, memory: &Memory, llc: usize) -> Vec<(Pid, usize)> {
    let own = |at: usize| !seen.processes[scene.units[at].program].elsewhere;
    let here = |at: &usize| own(*at) && memory.places[scene.base.domains[*at]].llc == llc;
    let mut list: Vec<(Pid, usize)> =
        (0..scene.units.len()).filter(here).map(|at| (seen.processes[scene.units[at].program].pid, at)).collect();
    list.dedup_by_key(|(pid, _)| *pid);
    list
}

/// Of the divisions of a cache the one that gains most, where that is more than the margin for one
/// program.
fn best(
    seen: &Observation,
    scene: &Scene,
    memory: &Memory,
    config: &Config,
    (llc, capacity, margin): (usize, Capacity, f64),
) -> Option<Proposal> {
    let members = members(seen, scene, memory, llc);
    let traits = |at: usize| &scene.traits[scene.units[at].program];
    let ready = members.iter().all(|(_, at)| traits(*at).known);
    if members.len() < 2 || !ready {
        return None;
    }
    let mut order: Vec<(f64, usize)> = members.iter().map(|(_, at)| (need(scene, *at), *at)).collect();
    // What hardly misses belongs to the rest: it takes no space from it.
    order.retain(|(_, at)| traits(*at).misses > super::program::FEW);
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let most = solutions(config, scene.units.len()) + 2;
    let mut asked =
        Asked { seen, scene, predictor: Predictor::new(scene, memory), most, members, order, llc, capacity };
    let wanted = asked.members.iter().map(|(_, unit)| scene.wanted(scene.units[*unit].program, margin));
    let wanted = wanted.fold(0.0, f64::max);
    let (worth, proposal) = asked.best()?;
    (worth > wanted).then_some(proposal)
}

/// What the divisions of a cache bring.
struct Asked<'a> {
    seen: &'a Observation,
    scene: &'a Scene,
    predictor: Predictor<'a>,
    /// How many arrangements may be solved.
    most: u32,
    members: Vec<(Pid, usize)>,
    /// Units by what they make of their space, the least first.
    order: Vec<(f64, usize)>,
    llc: usize,
    capacity: Capacity,
}

impl Asked<'_> {
    /// The best of them: first how many programs are parted from the rest, with a quarter of the
    /// ways and one more at a time for as long as that helps; then with fewer ways and with more.
    fn best(&mut self) -> Option<(f64, Proposal)> {
        let (mut best, mut parted) = (None::<(f64, Proposal)>, 1);
        for streams in 1..self.order.len().min(STREAMS + 1) {
            let next = self.ask(streams, EIGHTHS[0]);
            let worth = |of: &Option<(f64, Proposal)>| of.as_ref().map_or(f64::NEG_INFINITY, |(worth, _)| *worth);
            if streams > 2 && worth(&next) <= worth(&best) {
                break;
            }
            if worth(&next) > worth(&best) {
                (best, parted) = (next, streams);
            }
        }
        if self.order.len() < 2 {
            return None;
        }
        for eighths in &EIGHTHS[1..] {
            let next = self.ask(parted, *eighths);
            if next.as_ref().is_some_and(|(worth, _)| best.as_ref().is_none_or(|(most, _)| worth > most)) {
                best = next;
            }
        }
        best
    }

    /// What a division is worth, over all programs and their horizons; `None` where there is none,
    /// or a program would lose more than it may.
    fn ask(&mut self, streams: usize, eighths: usize) -> Option<(f64, Proposal)> {
        let Self { scene, capacity, .. } = *self;
        if self.predictor.solved >= self.most {
            return None;
        }
        let few = (capacity.ways * eighths / 8).max(capacity.min_ways);
        if few + capacity.min_ways > capacity.ways {
            return None;
        }
        let masks = capacity.masks([capacity.ways - few, few]);
        let (rest, own) = (masks[0], masks[1]);
        let mut at = scene.base.clone();
        self.members.iter().for_each(|(_, unit)| at.masks[*unit] = rest);
        self.order[..streams].iter().for_each(|(_, unit)| at.masks[*unit] = own);
        let gains = self.predictor.gains(&at).filter(|gains| !scene.harms(gains))?;
        let worth: f64 = scene.traits.iter().zip(&gains).map(|(one, gain)| one.stake() * ln(*gain)).sum();
        let mut division = Division { members: Vec::new(), masks: [own, rest], names: BTreeMap::new() };
        for (pid, unit) in &self.members {
            let name = &self.seen.processes[scene.units[*unit].program].name;
            division.members.push((*pid, at.masks[*unit]));
            division.names.insert(Arc::clone(name), at.masks[*unit]);
        }
        Some((worth, Proposal { llc: self.llc, division, gains }))
    }
}

/// What a program makes of its space: the part of its time that it would lose with half of it, for
/// each byte that it holds.
fn need(scene: &Scene, at: usize) -> f64 {
    let unit = &scene.units[at];
    let one = &scene.traits[unit.program];
    let own = unit.space / unit.threads;
    let (now, half) = (one.curve.0.misses(own), one.curve.0.misses(own / 2.0));
    let waits = (1.0 - one.compute / one.seconds.max(1e-12)).max(0.0);
    unit.threads * waits * (half / now.max(1e-12) - 1.0) / unit.space.max(64.0)
}
