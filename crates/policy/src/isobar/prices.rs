//! A first filter that scores every candidate change with *prices*: the marginal cost, over all
//! programs, of a little more waiting at a controller or link, or of a little less time in a cache.
//! Prices are computed once for an arrangement. A score then considers only what the change touches
//! and uses prices for the rest, so it costs as much on a machine of a thousand threads as on one
//! of ten. The scores select which candidates are worth a rough evaluation ([`super::rough`]).

use super::exchange::Exchange;
use super::math::ln;
use super::memory::Memory;
use super::rough::{Rough, waited};
use super::scene::{Arrangement, Scene};
use super::step::{Step, To};

/// Fraction by which bytes and spaces are changed to find how much depends on them.
const LITTLE: f64 = 0.05;

/// The prices in an arrangement.
#[derive(Debug)]
pub struct Prices<'a> {
    scene: &'a Scene,
    memory: &'a Memory,
    at: &'a Arrangement,
    units: Vec<Unit>,
    /// Seconds of an access from node to node under the present load.
    latency: Vec<Vec<f64>>,
    resources: Vec<Carried>,
    caches: Vec<Filled>,
    domains: Vec<Crowded>,
    /// The change in the bytes per second of each resource; reused from score to score.
    changed: Vec<f64>,
    /// The part of the last score that does not depend on pages.
    last: Option<Placed>,
}

/// The unit that moves, its domain afterwards, and the unit that takes its place.
type Key = (usize, usize, Option<usize>);

/// The part of a change's effect that does not depend on where its pages go. Candidates that move
/// the same units, with and without their pages, follow one another, so this is computed for the
/// first of them.
#[derive(Clone, Copy, Debug)]
struct Placed {
    key: Key,
    /// What the unit does afterwards.
    own: Own,
    /// What the partner does afterwards.
    other: Option<Own>,
    /// What the programs that stay on the caches and domains concerned gain or lose.
    others: f64,
}

/// What a unit does after it has moved.
#[derive(Clone, Copy, Debug)]
struct Own {
    /// Misses per instruction.
    misses: f64,
    /// Seconds of computing, and of passing lines between its threads, per instruction.
    computing: f64,
}

/// What a unit does.
#[derive(Clone, Copy, Debug)]
struct Unit {
    seconds: f64,
    misses: f64,
    exchange: Exchange,
    /// Bytes per second that it inserts into its cache.
    inserted: f64,
    /// What it loses if lines stay in its cache for a fraction less time.
    worth: f64,
    /// What it loses if its computing takes a fraction longer.
    computes: f64,
}

/// A controller or a link.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    bytes: f64,
    /// What all programs lose for a second of wait.
    price: f64,
    /// Bytes per second by which demand falls for a second of wait.
    answer: f64,
    wait: f64,
    /// The fraction of a change in demand that is left when all programs have responded.
    left: f64,
}

/// A cache.
#[derive(Clone, Copy, Debug, Default)]
struct Filled {
    inserted: f64,
    worth: f64,
}

/// The cores of a domain.
#[derive(Clone, Copy, Debug, Default)]
struct Crowded {
    /// CPUs that are busy.
    busy: f64,
    /// The factor by which computing takes longer.
    crowding: f64,
    /// What all programs lose if computing takes a fraction longer.
    worth: f64,
}

/// A unit that moves, or whose pages move.
struct Moved {
    unit: usize,
    from: usize,
    to: usize,
    /// The node, by position, where all of its pages are afterwards; `None`: where they are now.
    pages: Option<usize>,
}

impl<'a> Prices<'a> {
    /// The prices in an arrangement that was just evaluated by `rough`.
    #[must_use]
    pub fn of(scene: &'a Scene, memory: &'a Memory, at: &'a Arrangement, rough: &Rough<'_>) -> Self {
        let mut prices = Self {
            scene,
            memory,
            at,
            units: Vec::with_capacity(scene.units.len()),
            latency: rough.latency.clone(),
            resources: vec![Carried::default(); memory.machine.resources().len()],
            caches: vec![Filled::default(); memory.machine.llcs().len()],
            domains: rough.crowding.iter().map(|factor| Crowded { crowding: *factor, ..Crowded::default() }).collect(),
            changed: vec![0.0; memory.machine.resources().len()],
            last: None,
        };
        (0..scene.units.len()).for_each(|unit| prices.add(unit, rough.misses[unit]));
        for (one, resource) in prices.resources.iter_mut().zip(memory.machine.resources()) {
            let more = LITTLE * resource.capacity;
            one.wait = waited(resource, one.bytes);
            let steepness = (waited(resource, one.bytes + more) - one.wait) / more;
            one.left = 1.0 / (1.0 + steepness * one.answer);
        }
        prices
    }

    fn add(&mut self, at: usize, misses: f64) {
        let unit = &self.scene.units[at];
        let one = &self.scene.traits[unit.program];
        let domain = self.at.domains[at];
        let place = self.memory.places[domain];
        let weights = &self.at.weights[unit.program];
        let latency: f64 =
            weights.iter().zip(&self.latency[place.node]).map(|(weight, seconds)| weight * seconds).sum();
        let computing = one.compute * self.domains[domain].crowding;
        let delay = self.scene.delay(self.memory, self.at, at);
        // Changes that bring a program's threads to one cache are scored as a whole: see `gather`.
        let exchange = self.scene.exchange(self.memory, self.at, unit.program);
        let seconds = (computing + exchange.seconds + misses * one.wait * latency + misses * delay).max(1e-12);
        let rate = unit.share / seconds;
        let horizon = if one.known { one.stake() * self.scene.part(at) } else { 0.0 };
        // The fraction by which its time grows for a second of wait, and for all of its waits.
        let (by_wait, waits) = (misses * one.wait / seconds, misses * one.wait * latency / seconds);
        let own = unit.space / unit.threads;
        let (more, now) = (one.curve.0.misses(own * (1.0 + LITTLE)), one.curve.0.misses(own).max(1e-12));
        let worth = horizon * waits * (1.0 - more / now).max(0.0) / LITTLE;
        let inserted = 64.0 * rate * misses;
        let computes = horizon * computing / seconds;
        self.domains[domain].busy += unit.share;
        self.domains[domain].worth += computes;
        self.units.push(Unit { seconds, misses, exchange, inserted, worth, computes });
        self.caches[place.llc].inserted += inserted;
        self.caches[place.llc].worth += worth;
        let read = inserted * one.read;
        passes(self.memory, (place.node, weights), |resource, weight, bytes| {
            let carried = &mut self.resources[resource];
            carried.bytes += read * bytes;
            carried.price += horizon * by_wait * weight;
            carried.answer += read * bytes * by_wait * weight;
        });
    }

    /// What a change brings, over all programs and their horizons, at these prices.
    pub fn value(&mut self, step: &Step) -> f64 {
        let first = self.moved(step.unit, step.to, step.pages.and_then(To::node));
        let second = step.partner.map(|partner| self.moved(partner, first.from, step.partner_pages));
        let key = (first.unit, first.to, step.partner);
        let last = self.last.filter(|last| last.key == key);
        let placed = last.unwrap_or_else(|| self.placed(key, &first, second.as_ref()));
        let mut changed = std::mem::take(&mut self.changed);
        changed.fill(0.0);
        let mut value = self.own(&first, placed.own, &mut changed);
        if let Some((moved, own)) = second.as_ref().zip(placed.other) {
            value += self.own(moved, own, &mut changed);
        }
        for ((one, change), resource) in self.resources.iter().zip(&changed).zip(self.memory.machine.resources()) {
            if change.abs() > 0.0 {
                let after = waited(resource, (one.bytes + one.left * *change).max(0.0));
                value -= one.price * (after - one.wait);
            }
        }
        value += placed.others;
        (self.changed, self.last) = (changed, Some(placed));
        value
    }

    /// The part of a change's effect that does not depend on where its pages go.
    fn placed(&self, key: Key, first: &Moved, second: Option<&Moved>) -> Placed {
        let both = [Some(first), second];
        let own = |moved: &Moved| {
            let one = &self.scene.traits[self.scene.units[moved.unit].program];
            let computing = one.compute * self.crowding(moved.to, &both) + self.units[moved.unit].exchange.seconds;
            Own { misses: self.misses(moved, &both), computing }
        };
        let stays = |domain: usize| self.stay(self.memory.places[domain].llc, &both) + self.breathe(domain, &both);
        let others = if first.from == first.to { 0.0 } else { stays(first.from) + stays(first.to) };
        Placed { key, own: own(first), other: second.map(own), others }
    }

    fn moved(&self, unit: usize, to: usize, pages: Option<usize>) -> Moved {
        let from = self.at.domains[unit];
        let follows = self.scene.traits[self.scene.units[unit].program].follows;
        Moved { unit, from, to, pages: pages.or_else(|| follows.then(|| self.memory.places[to].node)) }
    }

    /// Net bytes per second that a change adds to a cache.
    fn net(&self, llc: usize, both: &[Option<&Moved>]) -> f64 {
        let one = |moved: &&Moved| {
            let place = |domain: usize| if self.memory.places[domain].llc == llc { 1.0 } else { 0.0 };
            self.units[moved.unit].inserted * (place(moved.to) - place(moved.from))
        };
        both.iter().flatten().map(one).sum()
    }

    /// What the programs that stay in a cache gain or lose.
    fn stay(&self, llc: usize, both: &[Option<&Moved>]) -> f64 {
        let leaving = both.iter().flatten().filter(|one| self.memory.places[one.from].llc == llc);
        let worth = self.caches[llc].worth - leaving.map(|one| self.units[one.unit].worth).sum::<f64>();
        let before = self.caches[llc].inserted.max(1.0);
        -worth.max(0.0) * ln((before + self.net(llc, both)).max(1.0) / before)
    }

    /// The factor by which computing takes longer on a domain after a change.
    fn crowding(&self, domain: usize, both: &[Option<&Moved>]) -> f64 {
        let one = |moved: &&Moved| {
            let at = |other: usize| if other == domain { 1.0 } else { 0.0 };
            self.scene.units[moved.unit].share * (at(moved.to) - at(moved.from))
        };
        let busy = self.domains[domain].busy + both.iter().flatten().map(one).sum::<f64>();
        self.memory.cores[domain].crowding(busy, self.scene.added)
    }

    /// What the programs that stay on a domain gain or lose because other threads share their
    /// cores.
    fn breathe(&self, domain: usize, both: &[Option<&Moved>]) -> f64 {
        let leaving = both.iter().flatten().filter(|one| one.from == domain);
        let worth = self.domains[domain].worth - leaving.map(|one| self.units[one.unit].computes).sum::<f64>();
        let more = self.crowding(domain, both) / self.domains[domain].crowding.max(1.0);
        -worth.max(0.0) * ln(more)
    }

    /// What a unit that moves gains itself. The change in its demand is added to `changed`.
    fn own(&self, moved: &Moved, Own { misses, computing }: Own, changed: &mut [f64]) -> f64 {
        let unit = &self.scene.units[moved.unit];
        let one = &self.scene.traits[unit.program];
        let (was, is) = (self.memory.places[moved.from], self.memory.places[moved.to]);
        let now = &self.units[moved.unit];
        let old = &self.at.weights[unit.program];
        let latency = match moved.pages {
            Some(node) => self.latency[is.node][node],
            None => old.iter().zip(&self.latency[is.node]).map(|(weight, seconds)| weight * seconds).sum(),
        };
        // The bandwidth share that it may have on another cache is left to the equations.
        let stays = moved.from == moved.to;
        let delay = if stays { self.scene.delay(self.memory, self.at, moved.unit) } else { 0.0 };
        let seconds = (computing + misses * one.wait * latency + misses * delay).max(1e-12);
        let before = now.inserted * one.read;
        let after = 64.0 * unit.share / seconds * misses * one.read;
        passes(self.memory, (was.node, old), |resource, _, bytes| changed[resource] -= before * bytes);
        match moved.pages {
            Some(node) => {
                pass(self.memory, (is.node, node, 1.0), &mut |resource, _, bytes| changed[resource] += after * bytes);
            }
            None => passes(self.memory, (is.node, old), |resource, _, bytes| changed[resource] += after * bytes),
        }
        if one.known { one.stake() * self.scene.part(moved.unit) * ln(now.seconds / seconds) } else { 0.0 }
    }

    /// Misses per instruction of a unit that moves.
    fn misses(&self, moved: &Moved, both: &[Option<&Moved>]) -> f64 {
        let unit = &self.scene.units[moved.unit];
        let one = &self.scene.traits[unit.program];
        let (was, is) = (self.memory.places[moved.from].llc, self.memory.places[moved.to].llc);
        let now = self.units[moved.unit].misses;
        if was == is || now <= 1e-6 {
            return now;
        }
        let llcs = self.memory.machine.llcs();
        let long = |llc: usize, more: f64| llcs[llc].bytes / (self.caches[llc].inserted + more).max(1.0);
        let space = unit.space * long(is, self.net(is, both)) / long(was, 0.0);
        let space = space.min(one.footprint * unit.threads).min(llcs[is].bytes).max(64.0);
        one.curve.0.misses(space / unit.threads) * one.curve.1 * self.units[moved.unit].exchange.left
    }
}

/// Calls `count` for each resource that a program's traffic passes, with the fraction of its misses
/// that waits there and the bytes that pass there per byte that the program reads.
fn passes(memory: &Memory, (home, weights): (usize, &[f64]), mut count: impl FnMut(usize, f64, f64)) {
    for (node, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        pass(memory, (home, node, *weight), &mut count);
    }
}

fn pass(memory: &Memory, (home, node, weight): (usize, usize, f64), count: &mut impl FnMut(usize, f64, f64)) {
    for hop in memory.hops(home, node) {
        count(hop.resource, weight * hop.awaited, weight * hop.lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::candidates::candidates;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::test_kit::{observation, process, thread, with_pages};
    use isobar_model::Bytes;

    /// Exchanges, moves, and pages alone of four programs on two nodes, and of one whose pages
    /// follow it. In any order a score has the bits that it has by itself.
    #[test]
    fn a_score_does_not_depend_on_the_one_before() {
        let running = [(1, 0, 20.0), (2, 1, 5.0), (3, 2, 12.0), (4, 3, 1.0)];
        let running = running.map(|(pid, cpu, mpki)| process(pid, vec![thread(pid, cpu, mpki)]));
        let mut seen = observation("node:2 core:2", running.to_vec());
        (1..=4).for_each(|pid| with_pages(&mut seen, pid, &[300, 500]));
        seen.free = seen.machine.nodes().iter().map(|node| (node.id, Bytes(16 << 30))).collect();
        let (mut scene, memory, _) = stage(&seen, 4, &Idle::default());
        scene.traits[1].follows = true;
        let mut steps = candidates(&scene, &memory, &scene.base, &[0, 1, 2, 3], &scene.free);
        assert!(steps.iter().any(|step| step.partner.is_some()) && steps.iter().any(|step| step.partner.is_none()));
        let rough = Rough::new(&scene, &memory);
        let alone: Vec<u64> =
            steps.iter().map(|step| Prices::of(&scene, &memory, &scene.base, &rough).value(step).to_bits()).collect();
        let mut prices = Prices::of(&scene, &memory, &scene.base, &rough);
        let mut score =
            |steps: &[Step]| -> Vec<u64> { steps.iter().map(|step| prices.value(step).to_bits()).collect() };
        assert_eq!(score(&steps), alone);
        steps.reverse();
        assert!(score(&steps).iter().eq(alone.iter().rev()));
        assert!(alone.iter().any(|bits| f64::from_bits(*bits) != 0.0));
    }
}
