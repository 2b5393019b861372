//! What the policy knows of a machine, for tools that display it: how full controllers and links
//! are, how much slower each program is than alone, and which neighbours cause that. The figures
//! come from the same readings and equations as the policy's decisions. This file decides nothing.
//!
//! ```text
//! contention   speed alone, where it is     /  speed now         both by the equations; alone it
//!                                                                has all ways of its cache
//! distance     speed alone, pages with it   /  speed alone, where it is
//! slowdown     contention * distance
//! from q       speed with all but q         /  speed now, minus 1
//! ```
//!
//! The share of each neighbour is found by leaving it out, so the shares of a slowdown need not add
//! up to it. Only the neighbours with most traffic are left out one by one, so that the time is
//! bounded for any number of programs.

use super::alone::{Slowdown, open, slowdown};
use super::config::Config;
use super::idle::Idle;
use super::memory::Memory;
use super::part::Part;
use super::passed::Passed;
use super::predict::Predictors;
use super::programs::Programs;
use super::scene::Scene;
use super::step::{Step, To};
use crate::kit::domains::{CachedDomains, Domains};
use isobar_model::{LlcId, NodeId, Observation, Pid, Topology};
use std::sync::Arc;

/// Maximum number of units in all equations that are solved with a neighbour left out: 24
/// neighbours among 40 threads.
const MOST_UNITS: usize = 960;
/// Minimum and maximum number of neighbours that are left out.
const LEFT_OUT: (usize, usize) = (2, 16);
/// Fraction of the whole traffic below which a neighbour is no suspect.
const SUSPECT: f64 = 0.01;
/// A neighbour that takes less than this fraction of a program's speed is not named: counters read
/// over a second cannot resolve half a per cent.
const FELT: f64 = 0.005;

/// Number of epochs for which a proposal stands without being found again, because the search
/// considers other changes each time.
const STANDS: u32 = 20;

/// Reads the observations of one epoch after another.
#[derive(Debug, Default)]
pub struct Outlook {
    domains: CachedDomains,
    memory: Option<(Arc<Topology>, Memory)>,
    programs: Programs,
    idle: Idle,
    config: Config,
    passed: Passed,
    found: Option<Found>,
}

/// The last proposal that was found.
#[derive(Debug)]
struct Found {
    proposal: Proposal,
    /// Where each program ran when it was found.
    places: Vec<(Pid, Option<usize>)>,
    /// Epochs for which it still stands.
    left: u32,
}

/// Why nothing can be said of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The machine has no memory node.
    NoNode,
    /// No counters of any program were read.
    NotCounted,
    /// The equations have no solution within their bounds.
    NoAnswer,
}

/// What is known after an epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EpochAssessment {
    /// The memory controllers, in the order of the machine's nodes.
    pub controllers: Vec<Load>,
    /// The links between nodes, by the direction in which data flows.
    pub links: Vec<(NodeId, NodeId, Load)>,
    /// The programs, ascending by pid, without those of which too little is known.
    pub programs: Vec<MeasuredSlowdown>,
    /// What the policy would change now. Empty: nothing pays. `None`: no program has been watched
    /// for long enough to be moved.
    pub proposal: Option<Proposal>,
}

/// A change that pays according to the policy's own search, as if no trial were under way and
/// nothing had been refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proposal {
    /// The programs that would move, in order.
    pub moves: Vec<Move>,
    /// The fraction by which each program would get faster (below 0: slower), ascending by pid,
    /// without programs that would not notice.
    pub gains: Vec<(Pid, f64)>,
}

/// A program that would move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// The program.
    pub pid: Pid,
    /// How many of its threads would move, if not all of them.
    pub threads: Option<usize>,
    /// Where its threads would run, if they would move.
    pub to: Option<(Option<NodeId>, Option<LlcId>)>,
    /// Where its pages would be, if they would move.
    pub pages: Option<Home>,
}

/// Where all pages of a program would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// On a node.
    Node(NodeId),
    /// Spread over the nodes that its threads run on.
    Spread,
}

/// The traffic of a controller or a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Bytes per second, as counted.
    pub used: f64,
    /// Bytes per second that can pass.
    pub capacity: f64,
    /// Whether the capacity was reported; otherwise it is a typical figure, corrected by
    /// observations.
    pub told: bool,
}

/// How much slower a program is than alone.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredSlowdown {
    /// The program.
    pub pid: Pid,
    /// Because of other programs: 1.4 = it would take 1/1.4 of the time without them.
    pub contention: f64,
    /// Because of its own remote pages; `None` for a program that spans nodes.
    pub distance: Option<f64>,
    /// By how much faster it would be without each neighbour (0.2 = 20 %), the largest first.
    pub from: Vec<(Pid, f64)>,
}

impl Outlook {
    /// Reads an epoch. `ways` gives the ways that a program may fill of a cache, as a bit mask.
    ///
    /// # Errors
    /// If nothing can be said of the epoch.
    pub fn look(&mut self, seen: &Observation, ways: impl Fn(LlcId, Pid) -> u64) -> Result<EpochAssessment, Unknown> {
        let domains = self.domains.of(&seen.machine).clone();
        let mut memory = Memory::renewed(self.memory.take(), seen, &domains).ok_or(Unknown::NoNode)?;
        let llcs = seen.machine.llcs();
        let part =
            |llc: usize, pid: Pid| llcs.get(llc).map_or(Part::ALL, |llc| Part { mask: ways(llc.id, pid), ..Part::ALL });
        self.programs.read(seen, &domains, &memory, part);
        self.idle.pass(seen, &domains);
        let scene = Scene::of(seen, &self.programs, &memory, &domains, &self.config, &self.idle, part);
        for unit in &scene.units {
            self.programs.hold(unit.program, unit.space / unit.threads);
        }
        let counted = seen.processes.is_empty() || self.programs.list.iter().any(|program| program.last.is_some());
        let standing = if counted { self.standing(&scene, &memory, &domains) } else { Err(Unknown::NotCounted) };
        memory.correct(seen, &scene.flows);
        self.memory = Some((Arc::clone(&seen.machine), memory));
        standing
    }

    fn standing(&mut self, scene: &Scene, memory: &Memory, domains: &Domains) -> Result<EpochAssessment, Unknown> {
        let (controllers, links) = loads(scene, memory);
        if scene.units.is_empty() {
            return Ok(EpochAssessment { controllers, links, ..EpochAssessment::default() });
        }
        let predictors = Predictors::of(scene, memory);
        let programs = self.suffering(&predictors).ok_or(Unknown::NoAnswer)?;
        let movable = scene.traits.iter().any(|one| one.movable || one.pages_movable);
        let proposal = movable.then(|| self.proposal(&predictors, domains));
        Ok(EpochAssessment { controllers, links, programs, proposal })
    }

    /// What the search finds now, otherwise what it found lately if nothing has changed since.
    fn proposal(&mut self, predictors: &Predictors<'_>, domains: &Domains) -> Proposal {
        let scene = predictors.scene;
        let places: Vec<_> =
            self.programs.list.iter().zip(&scene.traits).map(|(one, traits)| (one.pid, traits.alone)).collect();
        let fresh = self.propose(predictors, domains);
        let before = self.found.take().filter(|found| found.places == places && found.left > 0);
        self.found = match before {
            Some(found) if fresh.moves.is_empty() => Some(Found { left: found.left - 1, ..found }),
            _ if fresh.moves.is_empty() => None,
            _ => Some(Found { proposal: fresh, places, left: STANDS }),
        };
        self.found.as_ref().map(|found| found.proposal.clone()).unwrap_or_default()
    }

    fn propose(&mut self, predictors: &Predictors<'_>, domains: &Domains) -> Proposal {
        let (scene, memory) = (predictors.scene, predictors.memory);
        let decision = self.passed.search(predictors, &self.config, 0.0, &self.programs.list);
        let pid = |at: usize| self.programs.list[at].pid;
        let mut moves = Vec::new();
        for (step, _) in &decision.steps {
            for (unit, to, pages) in moved(scene, memory, domains, step) {
                let threads = to.and(scene.units[unit].thread).map(|_| 1);
                add(&mut moves, Move { pid: pid(scene.units[unit].program), threads, to, pages });
            }
        }
        let felt = |(at, gain): (usize, &f64)| ((gain - 1.0).abs() > FELT).then(|| (pid(at), gain - 1.0));
        let gains =
            if moves.is_empty() { Vec::new() } else { decision.gains.iter().enumerate().filter_map(felt).collect() };
        Proposal { moves, gains }
    }

    fn suffering(&self, predictors: &Predictors<'_>) -> Option<Vec<MeasuredSlowdown>> {
        let scene = predictors.scene;
        let mut predictor = predictors.one();
        let now = predictor.speeds_among(&scene.base, |_| true)?;
        let known: Vec<usize> =
            (0..scene.traits.len()).filter(|at| scene.traits[*at].known && now[*at] > 0.0).collect();
        let mut open = open(scene);
        let mut found = Vec::with_capacity(known.len());
        for at in &known {
            let Slowdown { contention, distance } = slowdown(&mut predictor, &mut open, &now, *at)?;
            let pid = self.programs.list[*at].pid;
            found.push(MeasuredSlowdown { pid, contention, distance, from: Vec::new() });
        }
        for suspect in suspects(scene) {
            let Some(without) = predictor.speeds_among(&scene.base, |program| program != suspect) else { continue };
            for (at, one) in known.iter().zip(&mut found).filter(|(at, _)| **at != suspect) {
                let taken = without[*at] / now[*at] - 1.0;
                if taken > FELT {
                    one.from.push((self.programs.list[suspect].pid, taken));
                }
            }
        }
        found.iter_mut().for_each(|one| one.from.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))));
        Some(found)
    }
}

/// The traffic of controllers and links.
fn loads(scene: &Scene, memory: &Memory) -> (Vec<Load>, Vec<(NodeId, NodeId, Load)>) {
    let resources = memory.machine.resources();
    let load = |at: usize, told: bool| Load { used: scene.flows[at], capacity: resources[at].capacity, told };
    let controllers = (0..memory.nodes.len()).map(|at| load(at, memory.is_reported(at))).collect();
    let mut links = Vec::new();
    for (from, from_id) in memory.nodes.iter().enumerate() {
        for (to, to_id) in memory.nodes.iter().enumerate() {
            if let [only] = memory.machine.route(from, to) {
                links.push((*from_id, *to_id, load(*only, false)));
            }
        }
    }
    (controllers, links)
}

/// Adds a move; moves of threads of a program to the same place become one.
fn add(moves: &mut Vec<Move>, new: Move) {
    match moves.iter_mut().find(|old| (old.pid, old.to) == (new.pid, new.to)) {
        Some(old) => {
            old.threads = old.threads.zip(new.threads).map(|(some, more)| some + more);
            old.pages = old.pages.or(new.pages);
        }
        None => moves.push(new),
    }
}

/// The units that a step moves: their destination by node and cache, and where their pages would
/// be.
type Moved = (usize, Option<(Option<NodeId>, Option<LlcId>)>, Option<Home>);

fn moved(scene: &Scene, memory: &Memory, domains: &Domains, step: &Step) -> Vec<Moved> {
    let place = |domain: usize| domains.domains.get(domain).map(|domain| (domain.node, domain.llc));
    let from = scene.base.domains[step.unit];
    let goes = |unit: usize, to: usize, pages: Option<To>| {
        let program = scene.units[unit].program;
        let to = Some(to).filter(|to| scene.base.domains[unit] != *to);
        // Pages that are all there already do not move.
        let there = |node: usize| scene.base.weights[program].get(node).is_some_and(|weight| *weight > 0.99);
        let home = |pages: To| match pages {
            To::Node(node) if there(node) => None,
            To::Node(node) => memory.nodes.get(node).copied().map(Home::Node),
            To::Spread => Some(Home::Spread),
        };
        (unit, to.and_then(place), pages.and_then(home))
    };
    let own = goes(step.unit, step.to, step.pages);
    let partner = step.partner.map(|partner| goes(partner, from, step.partner_pages.map(To::Node)));
    let acts = |(_, to, pages): &Moved| to.is_some() || pages.is_some();
    std::iter::once(own).chain(partner).filter(acts).collect()
}

/// The programs with most traffic, as many as may be left out.
fn suspects(scene: &Scene) -> Vec<usize> {
    let mut traffic = vec![0.0; scene.traits.len()];
    for unit in &scene.units {
        let one = &scene.traits[unit.program];
        traffic[unit.program] += unit.share * one.flow();
    }
    let all: f64 = traffic.iter().sum();
    let most = (MOST_UNITS / scene.units.len().max(1)).clamp(LEFT_OUT.0, LEFT_OUT.1);
    let mut order: Vec<usize> = (0..traffic.len()).filter(|at| traffic[*at] > SUSPECT * all).collect();
    order.sort_by(|a, b| traffic[*b].total_cmp(&traffic[*a]).then(a.cmp(b)));
    order.truncate(most);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{observation, process, thread, with_pages};
    use isobar_model::{Bandwidth, Bytes, Thread};

    /// 25 misses per thousand instructions at 2 cycles per instruction and 2.5 GHz: 2 GB/s of
    /// misses.
    fn stream(tid: u32, cpu: u32) -> Thread {
        Thread {
            instructions: Some(1_250_000_000),
            cycles: Some(2_500_000_000),
            llc_misses: Some(31_250_000),
            bandwidth: Some(Bandwidth(2.6e9)),
            ..thread(tid, cpu, 0.0)
        }
    }

    /// Gives the machine room for pages.
    fn with_room(seen: &mut Observation) {
        seen.free = seen.machine.nodes().iter().map(|node| (node.id, Bytes(16 << 30))).collect();
    }

    fn watched(seen: &mut Observation, epochs: u32) -> Result<EpochAssessment, Unknown> {
        let mut outlook = Outlook::default();
        let mut last = Err(Unknown::NotCounted);
        for _ in 0..epochs {
            seen.time.0 += 1.0;
            last = outlook.look(seen, |_, _| u64::MAX);
        }
        last
    }

    /// Four streams of 2.6 GB/s with their pages on node 0, 10.4 GB/s in all. The traffic of the
    /// two streams on node 1 crosses the link.
    #[test]
    fn loads_are_what_was_counted() {
        let streams = (1..=4).map(|pid| process(pid, vec![stream(pid, if pid <= 2 { pid - 1 } else { pid + 1 })]));
        let mut seen = observation("node:2 core:4", streams.collect());
        (1..=4).for_each(|pid| with_pages(&mut seen, pid, &[100_000, 0]));
        with_room(&mut seen);
        let standing = watched(&mut seen, 20).unwrap();
        let used = |load: Load| load.used / 1e9;
        assert!((used(standing.controllers[0]) - 10.4).abs() < 0.1, "{standing:?}");
        assert!(used(standing.controllers[1]) < 0.01 && !standing.controllers[0].told);
        let (from, to, load) = standing.links[0];
        assert_eq!((from, to), (NodeId(0), NodeId(1)));
        // Of 1.3 lines per miss one is read: 2 * 2.6 / 1.3 = 4 GB/s.
        assert!((used(load) - 4.0).abs() < 0.1, "{load:?}");
        let [first, .., last] = &standing.programs[..] else { panic!("{standing:?}") };
        assert!(first.contention > 1.05 && first.distance.unwrap() < 1.001, "{first:?}");
        assert!(last.distance.unwrap() > 1.1, "{last:?}");
        let from: Vec<u32> = first.from.iter().map(|(pid, _)| pid.0).collect();
        assert_eq!(from.len(), 3, "each neighbour takes some: {first:?}");
        // The memory of node 1 is idle, so some of the pages go there.
        let to_node_1 = |one: &Move| one.pages == Some(Home::Node(NodeId(1)));
        let proposal = standing.proposal.unwrap();
        assert!(proposal.moves.iter().any(to_node_1), "{proposal:?}");
        assert!(proposal.gains.iter().map(|(_, gain)| gain).sum::<f64>() > 0.1, "{proposal:?}");
    }

    #[test]
    fn a_program_alone_suffers_nothing_and_too_short_a_look_says_nothing() {
        let mut seen = observation("node:2 core:4", vec![process(1, vec![stream(1, 0)])]);
        with_pages(&mut seen, 1, &[100_000, 0]);
        let first = watched(&mut seen, 1).unwrap();
        assert_eq!((first.programs, first.proposal), (vec![], None));
        let standing = watched(&mut seen, 5).unwrap();
        let [one] = &standing.programs[..] else { panic!("{standing:?}") };
        assert!((one.contention - 1.0).abs() < 1e-6 && one.from.is_empty(), "{one:?}");
    }

    #[test]
    fn without_counters_nothing_is_said() {
        let bare = Thread { instructions: None, cycles: None, llc_misses: None, ..thread(1, 0, 0.0) };
        let mut seen = observation("node:2 core:4", vec![process(1, vec![bare])]);
        assert_eq!(watched(&mut seen, 5), Err(Unknown::NotCounted));
        let mut nothing = observation("node:2 core:4", vec![]);
        assert_eq!(watched(&mut nothing, 2).unwrap().programs, []);
    }
}
