//! A step is a change to an arrangement: a program goes to another domain, alone or in exchange for
//! another, and pages go with them or by themselves. For a program whose threads are on several
//! domains, one thread goes. This file computes what a step does to an arrangement, and what it
//! costs.

use super::guests::fit;
use super::memory::Memory;
use super::scene::{Arrangement, Scene};
use isobar_model::num;

/// Fraction of its time that a program loses while its pages are copied, because of TLB flushes and
/// pages that are half here and half there.
const OWN_LOSS: f64 = 0.2;
/// Fraction of their time that others lose meanwhile: a copy takes about a tenth of a controller.
const OTHERS_LOSS: f64 = 0.02;

/// Where all pages of a program go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum To {
    /// To a node, by position.
    Node(usize),
    /// Over the nodes that its threads run on, in proportion to their bandwidth.
    Spread,
}

impl To {
    /// The node, by position, if it is one.
    #[must_use]
    pub const fn node(self) -> Option<usize> {
        match self {
            Self::Node(node) => Some(node),
            Self::Spread => None,
        }
    }
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The unit: a program on one domain, or one thread of a program on several.
    pub unit: usize,
    /// Its domain afterwards.
    pub to: usize,
    /// The unit that takes its place in an exchange.
    pub partner: Option<usize>,
    /// Where its pages go.
    pub pages: Option<To>,
    /// The node, by position, to which the partner's pages go.
    pub partner_pages: Option<usize>,
}

impl Step {
    /// The units that it moves.
    pub fn units(&self) -> impl Iterator<Item = usize> + use<> {
        std::iter::once(self.unit).chain(self.partner)
    }

    /// Applies the step to an arrangement.
    pub fn apply(&self, scene: &Scene, memory: &Memory, to: &mut Arrangement) {
        let from = to.domains[self.unit];
        place(scene, memory, to, self.unit, (self.to, self.pages));
        let count = scene.count(self.unit);
        match self.partner {
            Some(partner) => place(scene, memory, to, partner, (from, self.partner_pages.map(To::Node))),
            // A unit that leaves a crowd for a smaller one leaves no core idle, and takes none.
            None if from != self.to && to.idle_cores[self.to] >= count => {
                to.idle_cores[from] += count;
                to.idle_cores[self.to] -= count;
            }
            None => {}
        }
        if memory.places[from].llc != memory.places[self.to].llc {
            fit(scene, memory, to, memory.places[self.to].llc, Some(self.unit));
            fit(scene, memory, to, memory.places[from].llc, self.partner);
        }
    }

    /// The caches that threads leave and come to, by position.
    #[must_use]
    pub fn caches(&self, scene: &Scene, memory: &Memory) -> Vec<usize> {
        let from = scene.base.domains[self.unit];
        if from == self.to { Vec::new() } else { vec![memory.places[from].llc, memory.places[self.to].llc] }
    }

    /// Number of pages that it moves from where they are in an arrangement.
    #[must_use]
    pub fn copied(&self, scene: &Scene, memory: &Memory, from: &Arrangement) -> f64 {
        let program = |unit: usize| scene.units[unit].program;
        let own = match self.pages {
            Some(To::Node(node)) => away(scene, from, program(self.unit), node),
            Some(To::Spread) => coming(scene, memory, from, program(self.unit), To::Spread).iter().sum(),
            None => 0.0,
        };
        let partner = self.partner.zip(self.partner_pages);
        own + partner.map_or(0.0, |(unit, node)| away(scene, from, program(unit), node))
    }

    /// Its cost in seconds of a program, summed over all programs.
    #[must_use]
    pub fn cost(&self, scene: &Scene, memory: &Memory, from: &Arrangement) -> f64 {
        copying(scene, self.copied(scene, memory, from))
    }
}

/// What it costs to copy some pages of a program, in seconds of a program, summed over all
/// programs.
#[must_use]
pub fn copying(scene: &Scene, pages: f64) -> f64 {
    let others = OTHERS_LOSS * num::float_len(scene.traits.len());
    pages / scene.copied * (OWN_LOSS + others)
}

/// An arrangement after some steps, taken one after another.
#[must_use]
pub fn with(steps: &[Step], scene: &Scene, memory: &Memory, at: &Arrangement) -> Arrangement {
    let mut changed = at.clone();
    steps.iter().for_each(|step| step.apply(scene, memory, &mut changed));
    changed
}

/// Pages of a program that are not on a node.
#[must_use]
pub fn away(scene: &Scene, arrangement: &Arrangement, program: usize, node: usize) -> f64 {
    scene.traits[program].pages * (1.0 - arrangement.weights[program][node]).max(0.0)
}

/// The fractions of a program's pages on each node when they are spread in an arrangement.
fn spread(scene: &Scene, memory: &Memory, at: &Arrangement, program: usize) -> Vec<f64> {
    let mut weights = vec![0.0; memory.nodes.len()];
    for domain in &at.domains[scene.units_of(program)] {
        let node = memory.places[*domain].node;
        weights[node] = memory.machine.resources()[node].capacity;
    }
    let all: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= all.max(1e-12));
    weights
}

/// Pages of a program that come to each node if its pages go to `to`.
#[must_use]
pub fn coming(scene: &Scene, memory: &Memory, at: &Arrangement, program: usize, to: To) -> Vec<f64> {
    let should = aimed(scene, memory, at, program, to);
    let is = &at.weights[program];
    should.iter().zip(is).map(|(should, is)| scene.traits[program].pages * (should - is).max(0.0)).collect()
}

/// The fractions of a program's pages on each node once they have gone to `to`.
#[must_use]
pub fn aimed(scene: &Scene, memory: &Memory, at: &Arrangement, program: usize, to: To) -> Vec<f64> {
    match to {
        To::Node(node) => memory.only(node),
        To::Spread => spread(scene, memory, at, program),
    }
}

fn place(scene: &Scene, memory: &Memory, to: &mut Arrangement, unit: usize, (domain, pages): (usize, Option<To>)) {
    let program = scene.units[unit].program;
    to.domains[unit] = domain;
    let follows = || scene.traits[program].follows.then(|| To::Node(memory.places[domain].node));
    if let Some(pages) = pages.or_else(follows) {
        let weights = aimed(scene, memory, to, program, pages);
        to.weights[program].copy_from_slice(&weights);
    }
}
