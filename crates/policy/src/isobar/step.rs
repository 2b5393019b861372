//! A change to an arrangement: a program goes to another domain, alone or in exchange for another,
//! and pages go with them or by themselves. Of a program whose threads are on several domains one
//! thread goes. What it does to an arrangement, and what it costs.

use super::guests::fit;
use super::memory::Memory;
use super::scene::{Arrangement, Scene};
use isobar_model::num;

/// Part of its time that a program loses while its pages are copied: flushes, and pages that are
/// half here and half there.
const OWN_LOSS: f64 = 0.2;
/// Part of their time that others lose meanwhile: a copy takes about a tenth of a controller.
const OTHERS_LOSS: f64 = 0.02;

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The unit: a program that is on one domain, or a thread of one that is on several.
    pub unit: usize,
    /// Its domain afterwards.
    pub to: usize,
    /// The unit that takes its place, in exchange.
    pub partner: Option<usize>,
    /// The node, by position, to which its pages go.
    pub pages: Option<usize>,
    /// That to which the partner's pages go.
    pub partner_pages: Option<usize>,
}

impl Step {
    /// The units that it moves.
    pub fn units(&self) -> impl Iterator<Item = usize> + use<> {
        std::iter::once(self.unit).chain(self.partner)
    }

    /// Changes an arrangement.
    pub fn apply(&self, scene: &Scene, memory: &Memory, to: &mut Arrangement) {
        let from = to.domains[self.unit];
        place(scene, memory, to, self.unit, (self.to, self.pages));
        let count = scene.count(self.unit);
        match self.partner {
            Some(partner) => place(scene, memory, to, partner, (from, self.partner_pages)),
            None if from != self.to => {
                to.idle_cores[from] += count;
                to.idle_cores[self.to] = to.idle_cores[self.to].saturating_sub(count);
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

    /// Pages that it moves from where they are in an arrangement.
    #[must_use]
    pub fn copied(&self, scene: &Scene, from: &Arrangement) -> f64 {
        let moved = |unit: usize, node: Option<usize>| {
            node.map_or(0.0, |node| away(scene, from, scene.units[unit].program, node))
        };
        moved(self.unit, self.pages) + self.partner.map_or(0.0, |partner| moved(partner, self.partner_pages))
    }

    /// Seconds of a program that it costs, over all of them.
    #[must_use]
    pub fn cost(&self, scene: &Scene, from: &Arrangement) -> f64 {
        let others = OTHERS_LOSS * num::float_len(scene.traits.len());
        self.copied(scene, from) / scene.copied * (OWN_LOSS + others)
    }
}

/// An arrangement with changes, one after another.
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

fn place(scene: &Scene, memory: &Memory, to: &mut Arrangement, unit: usize, (domain, pages): (usize, Option<usize>)) {
    let program = scene.units[unit].program;
    to.domains[unit] = domain;
    let node = pages.or_else(|| scene.traits[program].follows.then(|| memory.places[domain].node));
    if let Some(node) = node {
        to.weights[program]
            .iter_mut()
            .enumerate()
            .for_each(|(at, weight)| *weight = if at == node { 1.0 } else { 0.0 });
    }
}
