//! A cache in two parts, and which division of it brings most: asked of the contention model, with
//! the curves as they are likely to be, or as good as may be hoped where no reading has told.

use super::config::Config;
use super::math::ln;
use super::memory::Memory;
use super::predict::{Predictor, Predictors, solutions};
use super::program::FEW;
use super::scene::Scene;
use super::weigh::worth;
use crate::divide_content::capacity::Capacity;
use isobar_model::{Observation, Pid};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Parts of the ways, in eighths, that streams are tried with, in this order.
const EIGHTHS: [usize; 3] = [2, 1, 3];
/// How many programs streams are tried to be, at most.
const STREAMS: usize = 5;

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
    /// The most that may be hoped of it, summed over all, where it is made to learn from: it is not
    /// likely to pay.
    pub hoped: Option<f64>,
}

impl Division {
    /// Takes the programs that are there now, each with its unit.
    pub fn take(&mut self, seen: &Observation, scene: &Scene, now: &[(Pid, usize)]) {
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
    pub fn is_useless(&self, predictors: &Predictors<'_>, now: &[(Pid, usize)]) -> bool {
        let scene = predictors.scene;
        let (mut with, mut without) = (scene.base.clone(), scene.base.clone());
        for ((_, unit), (_, mask)) in now.iter().zip(&self.members) {
            scene.set_ways(&mut with, *unit, *mask);
            scene.set_ways(&mut without, *unit, u64::MAX);
        }
        let mut predictor = predictors.one();
        let (Some(with), Some(without)) = (predictor.gains(&with), predictor.gains(&without)) else { return true };
        with.iter().zip(&without).map(|(with, without)| ln(*with / *without)).sum::<f64>() <= 0.0
    }
}

/// Programs of a cache, each with one of its units there, ascending by pid; not those of other
/// policies, which keep every way.
pub fn members(seen: &Observation, scene: &Scene, memory: &Memory, llc: usize) -> Vec<(Pid, usize)> {
    let own = |at: usize| !seen.processes[scene.units[at].program].elsewhere;
    let here = |at: &usize| own(*at) && memory.places[scene.base.domains[*at]].llc == llc;
    let mut list: Vec<(Pid, usize)> =
        (0..scene.units.len()).filter(here).map(|at| (seen.processes[scene.units[at].program].pid, at)).collect();
    list.dedup_by_key(|(pid, _)| *pid);
    list
}

/// Of the divisions of a cache the one that gains most, where that is more than the margin for one
/// program. Where the scene is what may be hoped, the one that is likely is there as well.
pub fn best(
    seen: &Observation,
    (predictors, likely): (&Predictors<'_>, Option<&Predictors<'_>>),
    config: &Config,
    (llc, capacity, margin): (usize, Capacity, f64),
) -> Option<Proposal> {
    let (scene, memory) = (predictors.scene, predictors.memory);
    let members = members(seen, scene, memory, llc);
    let traits = |at: usize| &scene.traits[scene.units[at].program];
    let ready = members.iter().all(|(_, at)| traits(*at).known);
    if members.len() < 2 || !ready {
        return None;
    }
    // What is hoped for is what more space would save, else who would lose least by less is parted.
    let whole = memory.machine.llcs()[llc].bytes;
    let worth = |at: usize| if likely.is_some() { hope(scene, at, whole) } else { need(scene, at) };
    let mut order: Vec<(f64, usize)> = members.iter().map(|(_, at)| (worth(*at), *at)).collect();
    // What hardly misses belongs to the rest: it takes no space from it.
    order.retain(|(_, at)| traits(*at).misses > FEW);
    let space = |at: usize| scene.units[at].space;
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(space(b.1).total_cmp(&space(a.1))).then(a.1.cmp(&b.1)));
    // Where it is to learn from, each is solved twice.
    let most = (solutions(config, scene.units.len()) + 2) / if likely.is_some() { 2 } else { 1 };
    let (predictor, likely) = (predictors.one(), likely.map(Predictors::one));
    let wanted = members.iter().map(|(_, unit)| scene.wanted(scene.units[*unit].program, margin));
    let wanted = wanted.fold(0.0, f64::max);
    let mut asked = Asked { seen, scene, predictor, likely, most, members, order, llc, capacity, wanted };
    let (worth, proposal) = asked.best()?;
    (worth > wanted || proposal.hoped.is_some()).then_some(proposal)
}

/// What the divisions of a cache bring.
struct Asked<'a> {
    seen: &'a Observation,
    scene: &'a Scene,
    predictor: Predictor<'a>,
    /// Where the scene is what may be hoped: what is likely.
    likely: Option<Predictor<'a>>,
    /// How many arrangements may be solved.
    most: u32,
    members: Vec<(Pid, usize)>,
    /// Units by what they make of their space, the least first.
    order: Vec<(f64, usize)>,
    llc: usize,
    capacity: Capacity,
    /// The least that it must be worth.
    wanted: f64,
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

    /// Whether programs of one name would be on both sides: they make the same of their space, and
    /// may wait for each other.
    fn parts_a_name(&self, streams: usize) -> bool {
        let name = |unit: usize| &self.seen.processes[self.scene.units[unit].program].name;
        let is_stream = |unit: usize| self.order[..streams].iter().any(|(_, at)| *at == unit);
        let rest = || self.members.iter().map(|(_, unit)| *unit).filter(|unit| !is_stream(*unit));
        self.order[..streams].iter().any(|(_, at)| rest().any(|unit| name(unit) == name(*at)))
    }

    /// What a division is worth, over all programs and their horizons; `None` where there is none,
    /// or a program would lose more than it may.
    fn ask(&mut self, streams: usize, eighths: usize) -> Option<(f64, Proposal)> {
        let Self { scene, capacity, .. } = *self;
        if self.predictor.solved >= self.most {
            return None;
        }
        if self.likely.is_some() && self.parts_a_name(streams) {
            return None;
        }
        let few = (capacity.ways * eighths / 8).max(capacity.min_ways);
        if few + capacity.min_ways > capacity.ways {
            return None;
        }
        let masks = capacity.masks([capacity.ways - few, few]);
        let (rest, own) = (masks[0], masks[1]);
        let mut at = scene.base.clone();
        self.members.iter().for_each(|(_, unit)| self.scene.set_ways(&mut at, *unit, rest));
        self.order[..streams].iter().for_each(|(_, unit)| self.scene.set_ways(&mut at, *unit, own));
        let gains = self.predictor.gains(&at).filter(|gains| !scene.harms(gains))?;
        let mut division = Division { members: Vec::new(), masks: [own, rest], names: BTreeMap::new() };
        for (pid, unit) in &self.members {
            let name = &self.seen.processes[scene.units[*unit].program].name;
            division.members.push((*pid, at.masks[*unit]));
            division.names.insert(Arc::clone(name), at.masks[*unit]);
        }
        let (llc, best) = (self.llc, worth(scene, &gains));
        let Some(likely) = &mut self.likely else {
            return Some((best, Proposal { llc, division, gains, hoped: None }));
        };
        if best <= self.wanted {
            return None;
        }
        // Halfway between both, so that of two divisions of which the same is hoped the better is
        // tried.
        let hoped = Some(gains.iter().map(|gain| gain - 1.0).sum());
        let gains = likely.gains(&at)?;
        Some(((best + worth(scene, &gains)) / 2.0, Proposal { llc, division, gains, hoped }))
    }
}

/// What a program would make of a whole cache, were its curve as good as may be hoped: the part of
/// its time that it would save.
fn hope(scene: &Scene, at: usize, whole: f64) -> f64 {
    let unit = &scene.units[at];
    let one = &scene.traits[unit.program];
    let (now, all) = (one.curve.0.misses(unit.space / unit.threads), one.curve.0.misses(whole / unit.threads));
    let waits = one.waits();
    unit.threads * waits * (1.0 - all / now.max(1e-12))
}

/// What a program makes of its space: the part of its time that it would lose with half of it, for
/// each byte that it holds.
fn need(scene: &Scene, at: usize) -> f64 {
    let unit = &scene.units[at];
    let one = &scene.traits[unit.program];
    let own = unit.space / unit.threads;
    let (now, half) = (one.curve.0.misses(own), one.curve.0.misses(own / 2.0));
    let waits = one.waits();
    unit.threads * waits * (half / now.max(1e-12) - 1.0) / unit.space.max(64.0)
}
