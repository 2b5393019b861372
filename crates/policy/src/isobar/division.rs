//! Finds the best division of a cache into two parts. The contention model predicts what each
//! division brings, with the miss curves as they are likely to be or, where no reading exists, with
//! the most favourable curves.
//!
//! The programs in the first part are called streams. Their part has fewer ways, a share of the
//! memory bandwidth, or both. At a controller that is nearly full, a bandwidth share costs programs
//! with many lines in flight little, because those lines were waiting for each other. It saves
//! programs that wait for each single line most of their wait.

use super::config::Config;
use super::harm::harms;
use super::math::{ln, sum_of_logs};
use super::memory::Memory;
use super::part::Part;
use super::predict::{Predictor, Predictors, solutions};
use super::reading::FEW;
use super::scene::Scene;
use super::targets::{FORETOLD, is_borne};
use super::weigh::worth;
use crate::divide_content::capacity::Capacity;
use isobar_model::topology::BandwidthShares;
use isobar_model::{Observation, Pid};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Fractions of the ways, in eighths, that are tried for the streams, in this order.
const EIGHTHS: [usize; 3] = [2, 1, 3];
/// All ways, in eighths: the rest may fill them, too.
const EVERY: usize = 8;
/// The whole of the memory bandwidth, in per cent.
const ALL: u32 = 100;
/// Maximum number of programs that are tried as streams; for a bandwidth share, of names.
const STREAMS: usize = 5;
/// Shares of the memory bandwidth, in per cent, that are tried for the streams: smaller ones as
/// long as that helps.
const SHARES: [u32; 5] = [80, 60, 40, 20, 10];

/// The division of a cache into two parts.
#[derive(Clone, Debug)]
pub struct Division {
    /// The programs of the cache, ascending, each with whether it is one of the streams.
    pub members: Vec<(Pid, bool)>,
    /// What each of the streams may take.
    pub streams: Part,
    /// What each of the rest may take.
    pub rest: Part,
    /// By name, whether the programs of that name are streams.
    pub names: BTreeMap<Arc<str>, bool>,
}

/// A division that is proposed.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The cache, by position.
    pub llc: usize,
    /// The division.
    pub division: Division,
    /// Speed-up of each program, by position.
    pub gains: Vec<f64>,
    /// The most that may be hoped of it, summed over all programs, if it is an exploration. An
    /// exploration is not likely to pay.
    pub hoped: Option<f64>,
}

impl Division {
    /// What each of the streams may take, or each of the rest.
    #[must_use]
    pub const fn part(&self, streams: bool) -> Part {
        if streams { self.streams } else { self.rest }
    }

    /// What a program would take if it came: the part that its name had. A protected program
    /// belongs to the rest.
    pub fn guest(&self, name: &str, protected: bool) -> Option<Part> {
        let streams = if protected { Some(false) } else { self.names.get(name).copied() };
        streams.map(|streams| self.part(streams))
    }

    /// Adopts the programs that are there now, each given with its unit.
    pub fn take(&mut self, seen: &Observation, scene: &Scene, now: &[(Pid, usize)]) {
        let old = std::mem::take(&mut self.members);
        for (pid, unit) in now {
            let name = &seen.processes[scene.units[*unit].program].name;
            let own = old.iter().find(|(member, _)| member == pid).map(|(_, streams)| *streams);
            // A protected program belongs to the rest, whatever others of its name do.
            let protected = scene.traits[scene.units[*unit].program].protected;
            let by_name = self.names.get(name).copied().filter(|_| !protected);
            self.add(*pid, name, protected, !protected && own.or(by_name).unwrap_or(false));
        }
    }

    /// Adds a program to the streams or to the rest. The part of a protected program says nothing
    /// about others of its name.
    fn add(&mut self, pid: Pid, name: &Arc<str>, protected: bool, streams: bool) {
        self.members.push((pid, streams));
        if !protected {
            self.names.insert(Arc::clone(name), streams);
        }
    }

    /// The speed of each program with the division, as a fraction of its speed without, by
    /// position.
    fn effect(&self, predictors: &Predictors<'_>, now: &[(Pid, usize)]) -> Option<Vec<f64>> {
        let scene = predictors.scene;
        let (mut with, mut without) = (scene.base.clone(), scene.base.clone());
        for ((_, unit), (_, streams)) in now.iter().zip(&self.members) {
            scene.set_part(&mut with, *unit, self.part(*streams));
            scene.set_part(&mut without, *unit, Part::ALL);
        }
        let mut predictor = predictors.one();
        let (with, without) = (predictor.gains(&with)?, predictor.gains(&without)?);
        Some(with.iter().zip(&without).map(|(with, without)| with / without).collect())
    }

    /// Why the division should be removed after it has adopted its programs, if it should. If they
    /// have `changed`: only one part has programs left, or the programs that are known would be
    /// faster without it. If `most` is given: a bandwidth share takes more than twice this fraction
    /// of a program's speed, which is also what ends a trial.
    pub fn outlived(
        &self,
        predictors: &Predictors<'_>,
        now: &[(Pid, usize)],
        changed: bool,
        most: Option<f64>,
    ) -> Option<&'static str> {
        const OTHERS: &str = "other programs run on this cache now";
        let has = |part: bool| self.members.iter().any(|(_, streams)| *streams == part);
        if changed && !(has(true) && has(false)) {
            return Some(OTHERS);
        }
        let Some(gains) = self.effect(predictors, now) else { return Some(OTHERS) };
        if changed && predictors.scene.sum(&gains) <= 0.0 {
            return Some(OTHERS);
        }
        let (most, all) = (2.0 * most?, sum_of_logs(&gains));
        let lost = gains.iter().map(|gain| -ln(*gain)).fold(0.0, f64::max);
        (lost > most && !is_borne(lost, all, FORETOLD)).then_some("the memory bandwidth limit now costs too much")
    }

    /// Whether its streams have only a share of the memory bandwidth.
    pub const fn is_limited(&self) -> bool {
        self.streams.percent < ALL
    }
}

/// The programs of a cache, each with one of its units there, ascending by pid. Programs of other
/// policies are left out: they keep every way.
pub fn members(seen: &Observation, scene: &Scene, memory: &Memory, llc: usize) -> Vec<(Pid, usize)> {
    let own = |at: usize| !seen.processes[scene.units[at].program].elsewhere;
    let here = |at: &usize| own(*at) && memory.places[scene.base.domains[*at]].llc == llc;
    let mut list: Vec<(Pid, usize)> =
        (0..scene.units.len()).filter(here).map(|at| (seen.processes[scene.units[at].program].pid, at)).collect();
    list.dedup_by_key(|(pid, _)| *pid);
    list
}

/// The division of a cache that gains most, if it gains more than the margin of one program. For an
/// exploration, the scene makes the most favourable assumptions, and `likely` the likely ones.
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
    // For an exploration, programs are ordered by what more space would save them, otherwise by
    // what less space would cost them.
    let whole = memory.machine.llcs()[llc].bytes;
    let worth = |at: usize| if likely.is_some() { hope(scene, at, whole) } else { need(scene, at) };
    let mut order: Vec<(f64, usize)> = members.iter().map(|(_, at)| (worth(*at), *at)).collect();
    // Programs that hardly miss belong to the rest, from which they take no space. So do protected
    // programs.
    order.retain(|(_, at)| traits(*at).misses > FEW);
    let missing = order.len();
    order.retain(|(_, at)| !traits(*at).protected);
    // At least one of the programs that miss stays in the rest.
    let parted = order.len().min(missing.saturating_sub(1));
    let space = |at: usize| scene.units[at].space;
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(space(b.1).total_cmp(&space(a.1))).then(a.1.cmp(&b.1)));
    // For an exploration, each division is solved twice.
    let most = (solutions(config, scene.units.len()) + 2) / if likely.is_some() { 2 } else { 1 };
    let (predictor, likely) = (predictors.one(), likely.map(Predictors::one));
    let wanted = members.iter().map(|(_, unit)| scene.wanted(scene.units[*unit].program, margin));
    let wanted = wanted.fold(0.0, f64::max);
    let shares = seen.machine.allocation().and_then(|one| one.bandwidth).filter(|_| config.bandwidth);
    let mut asked =
        WaySearch { seen, scene, predictor, likely, most, members, order, parted, llc, capacity, shares, wanted };
    let (worth, proposal) = asked.best()?;
    (worth > wanted || proposal.hoped.is_some()).then_some(proposal)
}

/// The search for the best division of a cache.
struct WaySearch<'a> {
    seen: &'a Observation,
    scene: &'a Scene,
    predictor: Predictor<'a>,
    /// For an exploration: predictions from the likely assumptions.
    likely: Option<Predictor<'a>>,
    /// How many arrangements may be solved.
    most: u32,
    members: Vec<(Pid, usize)>,
    /// Units that miss and are not protected, by how much use they make of their space, the least
    /// first.
    order: Vec<(f64, usize)>,
    /// How many of them may be separated by ways.
    parted: usize,
    llc: usize,
    capacity: Capacity,
    /// The shares of memory bandwidth that the machine offers, if the settings allow them.
    shares: Option<BandwidthShares>,
    /// The least that a division must be worth.
    wanted: f64,
}

/// A division to try.
#[derive(Clone, Debug)]
struct Cut {
    /// The units of the streams.
    streams: Vec<usize>,
    /// The streams' fraction of the ways, in eighths.
    eighths: usize,
    /// The streams' share of the memory bandwidth, in per cent.
    percent: u32,
}

/// What a division is worth, together with the division.
type Worth = Option<(f64, Cut, Proposal)>;

impl WaySearch<'_> {
    /// The best division.
    fn best(&mut self) -> Option<(f64, Proposal)> {
        let ways = self.by_ways();
        let best = self.by_shares(ways);
        best.map(|(worth, _, proposal)| (worth, proposal))
    }

    /// The best division by ways. The first question is how many programs to separate from the
    /// rest, with a quarter of the ways: one more at a time as long as that helps. Fewer ways and
    /// more ways are tried after that.
    fn by_ways(&mut self) -> Worth {
        let order: Vec<Vec<usize>> = self.order[..self.parted].iter().map(|(_, unit)| vec![*unit]).collect();
        let first = order.first()?.clone();
        let mut best = self.how_many(&order, EIGHTHS[0], ALL);
        let parted = best.as_ref().map_or(first, |(_, cut, _)| cut.streams.clone());
        for eighths in &EIGHTHS[1..] {
            best = better(best, self.ask(Cut { streams: parted.clone(), eighths: *eighths, percent: ALL }));
        }
        best
    }

    /// The best division with a share of the memory bandwidth. It is tried for the programs that
    /// read most, with every way, and for the streams of the best division by ways.
    fn by_shares(&mut self, ways: Worth) -> Worth {
        let Some(shares) = self.shares.filter(|_| self.likely.is_none()) else { return ways };
        let mut tried: Vec<u32> = SHARES.iter().map(|percent| shares.rounded(*percent)).collect();
        tried.retain(|percent| *percent < ALL);
        tried.dedup();
        let (loads, mut best) = (self.loads(), None);
        for percent in tried.iter().take(2) {
            best = better(best, self.how_many(&loads, EVERY, *percent));
        }
        best = self.how_much(best, &tried);
        if let Some((_, cut, _)) = &ways {
            let share = tried.first().and_then(|percent| self.ask(Cut { percent: *percent, ..cut.clone() }));
            best = better(best, self.how_much(share, &tried));
        }
        better(ways, best)
    }

    /// The units that read memory, grouped by name, the groups that read most first.
    fn loads(&self) -> Vec<Vec<usize>> {
        let mut names: BTreeMap<&str, (f64, Vec<usize>)> = BTreeMap::new();
        for (_, at) in &self.order {
            let unit = &self.scene.units[*at];
            let (load, units) = names.entry(&self.seen.processes[unit.program].name).or_default();
            *load += unit.share * self.scene.traits[unit.program].flow();
            units.push(*at);
        }
        let mut loads: Vec<(f64, Vec<usize>)> = names.into_values().collect();
        loads.sort_by(|a, b| b.0.total_cmp(&a.0));
        loads.into_iter().map(|(_, units)| units).collect()
    }

    /// How many groups of units, in this order, are best separated from the rest: one more at a
    /// time as long as that helps.
    fn how_many(&mut self, order: &[Vec<usize>], eighths: usize, percent: u32) -> Worth {
        let mut best: Worth = None;
        for count in 1..=order.len().min(STREAMS) {
            let streams = order[..count].concat();
            if streams.len() >= self.members.len() {
                break;
            }
            let next = self.ask(Cut { streams, eighths, percent });
            if count > 2 && worth_of(&next) <= worth_of(&best) {
                break;
            }
            best = better(best, next);
        }
        best
    }

    /// How much of the memory bandwidth the streams of a division should have: from their present
    /// share down to smaller ones as long as that helps.
    fn how_much(&mut self, from: Worth, shares: &[u32]) -> Worth {
        let mut best = from;
        while let Some((_, cut, _)) = &best {
            let less = shares.iter().find(|percent| **percent < cut.percent).copied();
            let next = less.and_then(|percent| self.ask(Cut { percent, ..cut.clone() }));
            if worth_of(&next) <= worth_of(&best) {
                break;
            }
            best = next;
        }
        best
    }

    /// Whether programs of one name would be on both sides. They make the same use of their space,
    /// and may wait for each other.
    fn parts_a_name(&self, streams: &[usize]) -> bool {
        let name = |unit: usize| &self.seen.processes[self.scene.units[unit].program].name;
        let rest = || self.members.iter().map(|(_, unit)| *unit).filter(|unit| !streams.contains(unit));
        streams.iter().any(|at| rest().any(|unit| name(unit) == name(*at)))
    }

    /// What a division is worth, over all programs and their horizons. `None` if it is not
    /// possible, or if a program would lose more than it may.
    fn ask(&mut self, cut: Cut) -> Worth {
        let Self { scene, capacity, .. } = *self;
        if self.predictor.solved >= self.most {
            return None;
        }
        if self.likely.is_some() && self.parts_a_name(&cut.streams) {
            return None;
        }
        let few = (capacity.ways * cut.eighths / 8).max(capacity.min_ways);
        let [rest, own] = if cut.eighths == EVERY {
            [capacity.full_mask(); 2]
        } else if few + capacity.min_ways <= capacity.ways {
            capacity.masks([capacity.ways - few, few]).try_into().ok()?
        } else {
            return None;
        };
        let (streams, rest) = (Part { mask: own, percent: cut.percent }, Part { mask: rest, percent: ALL });
        let mut division = Division { members: Vec::new(), streams, rest, names: BTreeMap::new() };
        let mut at = scene.base.clone();
        for (pid, unit) in &self.members {
            let (program, is_stream) = (scene.units[*unit].program, cut.streams.contains(unit));
            scene.set_part(&mut at, *unit, division.part(is_stream));
            division.add(*pid, &self.seen.processes[program].name, scene.traits[program].protected, is_stream);
        }
        let gains = self.predictor.gains(&at).filter(|gains| !harms(scene, self.predictor.memory(), &[], gains))?;
        let (llc, best) = (self.llc, worth(scene, &gains));
        let Some(likely) = &mut self.likely else {
            return Some((best, cut, Proposal { llc, division, gains, hoped: None }));
        };
        if best <= self.wanted {
            return None;
        }
        // The mean of both, so that the better of two divisions with the same hoped gain is tried.
        let hoped = Some(gains.iter().map(|gain| gain - 1.0).sum());
        let gains = likely.gains(&at)?;
        Some(((best + worth(scene, &gains)) / 2.0, cut, Proposal { llc, division, gains, hoped }))
    }
}

fn worth_of(one: &Worth) -> f64 {
    one.as_ref().map_or(f64::NEG_INFINITY, |(worth, ..)| *worth)
}

/// The better of two; the first if they are worth the same.
fn better(one: Worth, other: Worth) -> Worth {
    if worth_of(&other) > worth_of(&one) { other } else { one }
}

/// What a program would make of a whole cache with the most favourable curve: the fraction of its
/// time that it would save.
fn hope(scene: &Scene, at: usize, whole: f64) -> f64 {
    let unit = &scene.units[at];
    let one = &scene.traits[unit.program];
    let (now, all) = (one.curve.0.misses(unit.space / unit.threads), one.curve.0.misses(whole / unit.threads));
    let waits = one.waits();
    unit.threads * waits * (1.0 - all / now.max(1e-12))
}

/// How much use a program makes of its space: the fraction of its time that it would lose with half
/// of it, per byte that it holds.
fn need(scene: &Scene, at: usize) -> f64 {
    let unit = &scene.units[at];
    let one = &scene.traits[unit.program];
    let own = unit.space / unit.threads;
    let (now, half) = (one.curve.0.misses(own), one.curve.0.misses(own / 2.0));
    let waits = one.waits();
    unit.threads * waits * (half / now.max(1e-12) - 1.0) / unit.space.max(64.0)
}
