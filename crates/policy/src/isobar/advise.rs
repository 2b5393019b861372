//! The policy's predictions as advice to a person. For each program the options are to bind it to a
//! node, to interleave its memory, to split its memory by the bandwidth of nodes, or to leave it.
//! Nothing is tried here, so every figure comes with the range in which it lies, given what is
//! known of the program.
//!
//! The advisor watches the machine as the policy does, with the same estimates, and is asked once
//! at the end.

use super::config::Config;
use super::idle::Idle;
use super::memory::Memory;
use super::part::{self, Part};
use super::predict::Predictor;
use super::programs::{Programs, weights};
use super::scene::{Arrangement, Scene};
use super::wording::NOTICED;
use crate::kit::domains::CachedDomains;
use isobar_model::{NodeId, Observation, Pid, Topology, num};
use std::sync::Arc;

/// The least gain over all programs, as a fraction of a program's speed, that is worth a change by
/// hand: as much as the policy requires by default.
const WORTH: f64 = 0.03;
/// Nodes whose bandwidths differ by less than this fraction of the largest count as alike.
const ALIKE: f64 = 0.1;
/// A range of gains up to this wide is known well, whatever the gain.
const NARROW: f64 = 0.04;

/// What can be done with a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdviceKind {
    /// Nothing.
    Leave,
    /// Its threads and all of its pages on a node.
    Bind(NodeId),
    /// All of its pages on a node; its threads stay.
    Gather(NodeId),
    /// Its pages interleaved over these nodes.
    Interleave(Vec<NodeId>),
    /// Its pages on nodes in proportion to their bandwidth, with these weights.
    Split(Vec<(NodeId, u8)>),
}

/// How far a prediction can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The range includes both a gain and a loss, or latencies are guessed.
    Low,
    /// The range is wide.
    Medium,
    /// The range is narrow compared with the gain.
    High,
}

/// An option, with what is predicted of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The option.
    pub what: AdviceKind,
    /// Gain in the program's own speed, 0.1 = 10 % faster.
    pub gain: f64,
    /// The range in which the gain lies, given what is known of how much the program waits.
    pub range: (f64, f64),
    /// Gain of all other programs, summed.
    pub others: f64,
    /// How far the prediction can be relied on.
    pub confidence: Confidence,
}

/// The advice for a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The program.
    pub pid: Pid,
    /// Its name.
    pub name: Arc<str>,
    /// Running threads by node, nodes ascending.
    pub threads: Vec<(NodeId, usize)>,
    /// Fraction of its pages on each node; `None` if that is not measured.
    pub pages: Option<Vec<(NodeId, f64)>>,
    /// LLC misses per instruction.
    pub misses: f64,
    /// Whether the kernel migrates its pages to it, as far as was seen.
    pub follows: bool,
    /// Whether its owner bound some of its threads.
    pub pinned: bool,
    /// The options, best first, including to leave it; empty if nothing can be predicted.
    pub choices: Vec<Choice>,
}

impl Advice {
    /// The gain over all programs of the best option.
    fn most(&self) -> f64 {
        self.choices.first().map_or(f64::NEG_INFINITY, |best| best.gain + best.others)
    }
}

/// Watches a machine to give advice.
#[derive(Debug)]
pub struct Advisor {
    config: Config,
    domains: CachedDomains,
    memory: Option<(Arc<Topology>, Memory)>,
    programs: Programs,
    idle: Idle,
    last: Option<(Observation, Scene)>,
}

impl Default for Advisor {
    fn default() -> Self {
        Self {
            config: Config { watch_epochs: 0, ..Config::default() },
            domains: CachedDomains::default(),
            memory: None,
            programs: Programs::default(),
            idle: Idle::default(),
            last: None,
        }
    }
}

impl Advisor {
    /// Reads an epoch.
    pub fn watch(&mut self, seen: &Observation) {
        let domains = self.domains.of(&seen.machine).clone();
        let known = self.memory.take().filter(|(machine, _)| Arc::ptr_eq(machine, &seen.machine));
        let Some(mut memory) = known.map(|(_, memory)| memory).or_else(|| Memory::of(seen, &domains)) else { return };
        self.programs.read(seen, &domains, &memory, part::all);
        self.idle.pass(seen, &domains);
        let scene = Scene::of(seen, &self.programs, &memory, &domains, &self.config, &self.idle, part::all);
        for unit in &scene.units {
            self.programs.hold(unit.program, unit.space / unit.threads);
        }
        memory.correct(seen, &scene.flows);
        self.memory = Some((Arc::clone(&seen.machine), memory));
        self.last = Some((seen.clone(), scene));
    }

    /// The advice for each program that runs, the programs with the most to gain over all first.
    #[must_use]
    pub fn advise(&self) -> Vec<Advice> {
        let (Some((seen, scene)), Some((_, memory))) = (&self.last, &self.memory) else { return Vec::new() };
        let asked = AdviceInput { seen, scene, memory, programs: &self.programs };
        let running = (0..scene.traits.len()).filter(|at| scene.traits[*at].threads > 0);
        let mut all: Vec<Advice> = running.map(|at| asked.about(at)).collect();
        all.sort_by(|a, b| b.most().total_cmp(&a.most()).then(a.pid.cmp(&b.pid)));
        all
    }
}

/// What advice is based on.
struct AdviceInput<'a> {
    seen: &'a Observation,
    scene: &'a Scene,
    memory: &'a Memory,
    programs: &'a Programs,
}

impl AdviceInput<'_> {
    fn about(&self, at: usize) -> Advice {
        let (process, program) = (&self.seen.processes[at], &self.programs.list[at]);
        let by_node = |weights: Vec<f64>| self.memory.nodes.iter().copied().zip(weights).collect();
        Advice {
            pid: process.pid,
            name: Arc::clone(&process.name),
            threads: self.threads(at),
            pages: weights(process, self.memory).map(by_node),
            misses: program.misses,
            follows: self.scene.traits[at].follows,
            pinned: process.threads.iter().any(|thread| thread.pinned),
            choices: self.choices(at),
        }
    }

    fn units(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.scene.units.len()).filter(move |unit| self.scene.units[*unit].program == at)
    }

    fn threads(&self, at: usize) -> Vec<(NodeId, usize)> {
        let on = |node: usize| {
            let here = |unit: &usize| self.memory.places[self.scene.base.domains[*unit]].node == node;
            let threads = self.units(at).filter(here).map(|unit| self.scene.units[unit].threads);
            usize::try_from(num::round(threads.sum::<f64>())).unwrap_or_default()
        };
        let all = self.memory.nodes.iter().enumerate().map(|(at, node)| (*node, on(at)));
        all.filter(|(_, threads)| *threads > 0).collect()
    }

    /// The options, best first.
    fn choices(&self, at: usize) -> Vec<Choice> {
        let one = &self.scene.traits[at];
        if !one.known {
            return Vec::new();
        }
        let mut all = vec![(AdviceKind::Leave, self.scene.base.clone())];
        let process = &self.seen.processes[at];
        if let Some(pages) = weights(process, self.memory) {
            let room = |node: usize| one.pages * (1.0 - pages[node]) <= self.scene.free[node];
            let nodes = (0..self.memory.nodes.len()).filter(|node| room(*node));
            all.extend(nodes.filter_map(|node| self.on(at, node)));
            all.extend(self.spread(at, &pages));
        }
        // An option that changes nothing is to leave it.
        all.retain(|(what, there)| *what == AdviceKind::Leave || !self.is_as_it_is(there));
        let mut choices = self.predicted(at, &all);
        let score = |one: &Choice| if one.what == AdviceKind::Leave { 0.0 } else { one.gain + one.others - WORTH };
        choices.sort_by(|a, b| score(b).total_cmp(&score(a)).then_with(|| a.what.cmp(&b.what)));
        choices
    }

    fn is_as_it_is(&self, there: &Arrangement) -> bool {
        let base = &self.scene.base;
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 0.02;
        let pages = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).all(near);
        there.domains == base.domains && there.weights.iter().zip(&base.weights).all(pages)
    }

    /// Everything on one node: the pages, and the threads if there is room for them.
    fn on(&self, at: usize, node: usize) -> Option<(AdviceKind, Arrangement)> {
        let mut there = self.scene.base.clone();
        let mut away = false;
        for unit in self.units(at).collect::<Vec<_>>() {
            if self.memory.places[there.domains[unit]].node == node {
                continue;
            }
            let open = (0..self.memory.places.len()).filter(|domain| self.memory.places[*domain].node == node);
            let roomy = open.max_by_key(|domain| (there.idle_cores[*domain], usize::MAX - domain))?;
            let wanted = usize::try_from(num::round(self.scene.units[unit].threads)).unwrap_or(usize::MAX);
            let fits = there.idle_cores[roomy] >= wanted;
            let free = self.seen.processes[at].threads.iter().all(|thread| !thread.pinned);
            if !fits || !free {
                away = true;
                break;
            }
            there.idle_cores[roomy] -= wanted;
            (there.domains[unit], there.parts[unit]) = (roomy, Part::ALL);
        }
        let id = self.memory.nodes[node];
        if away {
            there = self.scene.base.clone();
        }
        self.pages_to(at, |to| if to == node { 1.0 } else { 0.0 }, &mut there);
        Some((if away { AdviceKind::Gather(id) } else { AdviceKind::Bind(id) }, there))
    }

    /// Its pages over all nodes, if they have room: interleaved, and by bandwidth if that differs.
    fn spread(&self, at: usize, pages: &[f64]) -> Vec<(AdviceKind, Arrangement)> {
        let one = &self.scene.traits[at];
        let nodes = 0..self.memory.nodes.len();
        let part = 1.0 / num::float_len(self.memory.nodes.len());
        let fits = |node: usize| one.pages * (part - pages[node]).max(0.0) <= self.scene.free[node];
        if self.memory.nodes.len() < 2 || !nodes.clone().all(fits) {
            return Vec::new();
        }
        let mut all = Vec::new();
        let mut there = self.scene.base.clone();
        self.pages_to(at, |_| part, &mut there);
        all.push((AdviceKind::Interleave(self.memory.nodes.clone()), there));
        let carried: Vec<f64> = nodes.map(|node| self.memory.machine.resources()[node].capacity).collect();
        let (least, most) = carried.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), one| (a.min(*one), b.max(*one)));
        if least < (1.0 - ALIKE) * most {
            let weight = |one: &f64| u8::try_from(num::round(8.0 * one / most).max(1)).unwrap_or(8);
            let by: Vec<u8> = carried.iter().map(weight).collect();
            let sum: f64 = by.iter().map(|weight| f64::from(*weight)).sum();
            let mut there = self.scene.base.clone();
            self.pages_to(at, |node| f64::from(by[node]) / sum, &mut there);
            all.push((AdviceKind::Split(self.memory.nodes.iter().copied().zip(by).collect()), there));
        }
        all
    }

    fn pages_to(&self, at: usize, part: impl Fn(usize) -> f64, there: &mut Arrangement) {
        there.weights[at].iter_mut().enumerate().for_each(|(node, weight)| *weight = part(node));
    }

    /// The predictions for all options, with the program as it is taken to be, and as it may be.
    fn predicted(&self, at: usize, all: &[(AdviceKind, Arrangement)]) -> Vec<Choice> {
        let middle = self.gains(self.scene, all);
        let ends: Vec<Vec<Option<Vec<f64>>>> = self.ends(at).iter().map(|scene| self.gains(scene, all)).collect();
        let mut choices = Vec::new();
        for (index, (what, _)) in all.iter().enumerate() {
            let Some(gains) = &middle[index] else { continue };
            let gain = gains[at] - 1.0;
            let others = gains.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, gain)| gain - 1.0).sum();
            let own = ends.iter().filter_map(|end| Some(end[index].as_ref()?[at] - 1.0));
            let range = own.fold((gain, gain), |(low, high), one| (low.min(one), high.max(one)));
            let confidence = self.confidence(gain, range);
            choices.push(Choice { what: what.clone(), gain, range, others, confidence });
        }
        choices
    }

    fn gains(&self, scene: &Scene, all: &[(AdviceKind, Arrangement)]) -> Vec<Option<Vec<f64>>> {
        let mut predictor = Predictor::new(scene, self.memory);
        all.iter().map(|(_, there)| predictor.gains(there)).collect()
    }

    /// The scene with the program waiting for less of its time, and for more, within what is not
    /// known of it. Its speed now stays as measured.
    fn ends(&self, at: usize) -> Vec<Scene> {
        let program = &self.programs.list[at];
        let Some(last) = program.last else { return Vec::new() };
        let doubt = program.cpi.doubtful(last.cycles, last.exposure);
        let part = program.cpi.wait * last.exposure / last.cycles.max(1e-9);
        if part < 1e-6 {
            return Vec::new();
        }
        let end = |to: f64| {
            let mut scene = self.scene.clone();
            let one = &mut scene.traits[at];
            let all = one.compute * one.crowding + (part * last.cycles / self.programs.hertz).max(0.0);
            one.wait *= to / part;
            one.compute = (all * (1.0 - to) / one.crowding).max(1e-12);
            scene
        };
        [part - doubt, part + doubt].into_iter().map(|to| end(to.clamp(0.01 * part, 0.98))).collect()
    }

    fn confidence(&self, gain: f64, (low, high): (f64, f64)) -> Confidence {
        let guessed = self.seen.latency.is_none() && self.seen.latency_idle.is_none();
        let wide = high - low;
        if guessed || (low < -NOTICED && high > NOTICED) {
            Confidence::Low
        } else if wide <= NARROW.max(gain.abs() / 2.0) {
            Confidence::High
        } else {
            Confidence::Medium
        }
    }
}

#[cfg(test)]
#[path = "advise_tests.rs"]
mod tests;
