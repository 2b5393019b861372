//! A rough evaluation of many candidate changes: what queues and caches would be if all programs
//! went on at their present speed, and then at the speed that follows from that. It only selects
//! candidates for the exact equations ([`super::predict`]), so only the order of its values has to
//! be right.

use super::math::ln;
use super::memory::Memory;
use super::scene::{Arrangement, Scene};
use isobar_contention::Resource;

/// Utilisation beyond which waits grow in proportion. Demand beyond the capacity would be cut back
/// by the waits that it causes, which a rough evaluation does not follow to the end.
const FULL: f64 = 0.9;
/// Rounds from speeds to waits and back.
const ROUNDS: u32 = 3;

/// Seconds that a transfer waits at a resource that is to carry `bytes` bytes per second.
#[must_use]
pub fn waited(resource: &Resource, bytes: f64) -> f64 {
    let used = bytes / resource.capacity;
    if used <= FULL {
        return resource.wait(used);
    }
    resource.wait(FULL) + (used - FULL) * resource.queue * (1.0 - 0.01) / 0.01
}

/// Evaluates arrangements; its buffers are reused each time.
#[derive(Debug)]
pub struct Rough<'a> {
    scene: &'a Scene,
    memory: &'a Memory,
    /// Bytes per second inserted into each cache at present.
    inserted: Vec<f64>,
    /// Instructions per second of each unit at present, by the same rough evaluation.
    rates: Vec<f64>,
    /// The same in the arrangement that was evaluated last.
    pub now: Vec<f64>,
    /// Misses per instruction of each unit there.
    pub misses: Vec<f64>,
    /// Seconds that a transfer waits at each resource there.
    pub waits: Vec<f64>,
    /// The factor by which computing takes longer on each domain there.
    pub crowding: Vec<f64>,
    /// Bytes per second inserted into each cache there.
    pub caches: Vec<f64>,
    /// Seconds of computing and of passing lines between its threads, and of waiting for a
    /// bandwidth share, per instruction of each unit there.
    fixed: Vec<(f64, f64)>,
    /// Seconds of an access from each node to each node there.
    pub latency: Vec<Vec<f64>>,
    /// Units evaluated so far.
    pub spent: usize,
}

impl<'a> Rough<'a> {
    /// Starts from the present arrangement of a scene.
    #[must_use]
    pub fn new(scene: &'a Scene, memory: &'a Memory) -> Self {
        let units = scene.units.len();
        let rates = scene.units.iter().map(|unit| unit.share / scene.traits[unit.program].seconds.max(1e-12)).collect();
        let mut rough = Self {
            scene,
            memory,
            inserted: vec![0.0; memory.machine.llcs().len()],
            rates,
            now: vec![0.0; units],
            misses: vec![0.0; units],
            waits: Vec::new(),
            crowding: Vec::new(),
            caches: Vec::new(),
            fixed: Vec::with_capacity(units),
            latency: vec![vec![0.0; memory.nodes.len()]; memory.nodes.len()],
            spent: 0,
        };
        for (at, unit) in scene.units.iter().enumerate() {
            let bytes = 64.0 * rough.rates[at] * scene.traits[unit.program].misses;
            rough.inserted[memory.places[scene.base.domains[at]].llc] += bytes;
        }
        rough.look(&scene.base);
        rough.rates.clone_from(&rough.now);
        rough
    }

    /// What an arrangement is worth, over all programs and their horizons: the sum of the
    /// logarithms of their speed-ups, each times its weight and horizon.
    pub fn value(&mut self, arrangement: &Arrangement) -> f64 {
        self.look(arrangement);
        let (mut value, mut at) = (0.0, 0);
        while at < self.scene.units.len() {
            let program = self.scene.units[at].program;
            let (mut before, mut after) = (0.0, 0.0);
            while self.scene.units.get(at).is_some_and(|unit| unit.program == program) {
                before += self.rates[at];
                after += self.now[at];
                at += 1;
            }
            if before > 0.0 && (after - before).abs() > 1e-6 * before && self.scene.traits[program].known {
                value += self.scene.traits[program].stake() * ln(after / before);
            }
        }
        value
    }

    /// Computes `now` for an arrangement, in some rounds.
    fn look(&mut self, arrangement: &Arrangement) {
        self.spent += self.scene.units.len();
        self.share_caches(arrangement);
        self.crowding = self.scene.crowding(self.memory, arrangement, |_| true);
        self.set_fixed(arrangement);
        for round in 0..ROUNDS {
            self.queue(arrangement, round > 0);
            self.progress(arrangement, round > 0);
        }
    }

    fn share_caches(&mut self, arrangement: &Arrangement) {
        let Self { scene, memory, .. } = *self;
        self.caches.clear();
        self.caches.resize(self.inserted.len(), 0.0);
        for (at, unit) in scene.units.iter().enumerate() {
            let llc = memory.places[arrangement.domains[at]].llc;
            self.caches[llc] += 64.0 * self.rates[at] * scene.traits[unit.program].misses;
        }
        let llcs = memory.machine.llcs();
        let stay = |inserted: &[f64]| -> Vec<f64> {
            llcs.iter().zip(inserted).map(|(llc, inserted)| llc.bytes / inserted.max(1.0)).collect()
        };
        let (before, after) = (stay(&self.inserted), stay(&self.caches));
        for (at, unit) in scene.units.iter().enumerate() {
            let one = &scene.traits[unit.program];
            let (was, is) = (memory.places[scene.base.domains[at]].llc, memory.places[arrangement.domains[at]].llc);
            let apart = (scene.base.parts[at].mask ^ arrangement.parts[at].mask) & llcs[was].all_ways() != 0;
            let before = if apart { unit.space / (64.0 * self.rates[at] * one.misses).max(1.0) } else { before[was] };
            let ratio = after[is] / before;
            self.misses[at] = one.misses;
            if (ratio - 1.0).abs() > 1e-3 && one.misses > 1e-6 {
                let space = (unit.space * ratio).min(one.footprint * unit.threads).min(llcs[is].bytes).max(64.0);
                self.misses[at] = one.curve.0.misses(space / unit.threads) * one.curve.1;
            }
        }
    }

    /// Computes what is the same in every round.
    fn set_fixed(&mut self, arrangement: &Arrangement) {
        let Self { scene, memory, .. } = *self;
        self.fixed.clear();
        for (at, unit) in scene.units.iter().enumerate() {
            let exchange = scene.exchange(memory, arrangement, unit.program);
            let computing = scene.traits[unit.program].compute * self.crowding[arrangement.domains[at]];
            self.misses[at] *= exchange.left;
            self.fixed.push((computing + exchange.seconds, self.misses[at] * scene.delay(memory, arrangement, at)));
        }
    }

    fn queue(&mut self, arrangement: &Arrangement, again: bool) {
        let Self { scene, memory, .. } = *self;
        self.waits.clear();
        self.waits.resize(memory.machine.resources().len(), 0.0);
        for (at, unit) in scene.units.iter().enumerate() {
            let one = &scene.traits[unit.program];
            let rate = if again { self.now[at] } else { self.rates[at] };
            let read = 64.0 * rate * self.misses[at] * one.read;
            let home = memory.places[arrangement.domains[at]].node;
            for (node, weight) in arrangement.weights[unit.program].iter().enumerate().filter(|(_, w)| **w > 0.0) {
                for hop in memory.hops(home, node) {
                    self.waits[hop.resource] += read * weight * hop.lines;
                }
            }
        }
        for (wait, resource) in self.waits.iter_mut().zip(memory.machine.resources()) {
            *wait = waited(resource, *wait);
        }
        for (home, row) in self.latency.iter_mut().enumerate() {
            for (node, (loaded, idle)) in row.iter_mut().zip(&memory.machine.latency()[home]).enumerate() {
                let hops = memory.hops(home, node).iter();
                *loaded = hops.fold(*idle, |sum, hop| sum + hop.awaited * self.waits[hop.resource]);
            }
        }
    }

    fn progress(&mut self, arrangement: &Arrangement, again: bool) {
        let Self { scene, memory, .. } = *self;
        for (at, unit) in scene.units.iter().enumerate() {
            let one = &scene.traits[unit.program];
            let home = memory.places[arrangement.domains[at]].node;
            let weights = arrangement.weights[unit.program].iter().zip(&self.latency[home]);
            let latency: f64 = weights.map(|(weight, seconds)| weight * seconds).sum();
            let (computing, delay) = self.fixed[at];
            let next = unit.share / (computing + self.misses[at] * one.wait * latency + delay).max(1e-12);
            // The mean of both, because waits respond to speeds, and speeds to waits.
            let before = if again { self.now[at] } else { self.rates[at] };
            self.now[at] = (before + next) / 2.0;
        }
    }
}
