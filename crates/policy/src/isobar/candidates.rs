//! Enumerates the candidate changes of one step for all units that may still be changed: pages to
//! another node, a unit to another domain, or two units that change places. Moves and exchanges
//! come with and without the pages of each unit.

use super::balance::Occupancy;
use super::memory::Memory;
use super::scene::{Arrangement, Scene};
use super::step::{Step, To, away};

/// Number of units whose changes are considered in an epoch: those that wait most.
const MOVERS: usize = 24;
/// Number of units at either end of a domain's list that a unit may change places with: those that
/// wait least, and those that wait most.
const PARTNERS: usize = 3;

/// The changes of the units in `open`, which are sorted by how much they wait, if nodes have room
/// for `free` pages. Changes of the same units follow one another: scores by prices are quick only
/// if they do.
pub fn candidates(scene: &Scene, memory: &Memory, at: &Arrangement, open: &[usize], free: &[f64]) -> Vec<Step> {
    let asked = CandidateInput::of(scene, memory, at, open, free);
    let mut steps = Vec::new();
    for &unit in open.iter().take(MOVERS) {
        asked.pages_alone(unit, &mut steps);
        asked.moves(unit, &mut steps);
    }
    steps
}

/// What the candidates of each unit are derived from.
struct CandidateInput<'a> {
    scene: &'a Scene,
    memory: &'a Memory,
    at: &'a Arrangement,
    free: &'a [f64],
    /// By domain, whether a program on its cache is not known yet: see [`Scene::fresh`].
    fresh: Vec<bool>,
    /// The same for one that is not known yet or whose speed is in doubt.
    unsettled: Vec<bool>,
    crowds: Occupancy<'a>,
    /// By domain, the units in `open` that may be moved.
    movable: Vec<Vec<usize>>,
}

impl<'a> CandidateInput<'a> {
    fn of(scene: &'a Scene, memory: &'a Memory, at: &'a Arrangement, open: &[usize], free: &'a [f64]) -> Self {
        let mut movable: Vec<Vec<usize>> = vec![Vec::new(); memory.places.len()];
        for unit in open.iter().copied().filter(|unit| scene.traits[scene.units[*unit].program].movable) {
            movable[at.domains[unit]].push(unit);
        }
        let unsettled = scene.beside(memory, |one| one.fresh || one.doubt > 0.0);
        let (fresh, crowds) = (scene.fresh(memory), Occupancy::of(scene, memory, at));
        Self { scene, memory, at, free, fresh, unsettled, crowds, movable }
    }

    fn program(&self, unit: usize) -> usize {
        self.scene.units[unit].program
    }

    fn node(&self, domain: usize) -> usize {
        self.memory.places[domain].node
    }

    /// Whether a node has room for those pages of a program that are elsewhere.
    fn has_room(&self, program: usize, node: usize) -> bool {
        away(self.scene, self.at, program, node) <= self.free[node]
    }

    /// Whether the kernel would migrate pages of a program to a node that has no room for them.
    fn overflows(&self, program: usize, node: usize) -> bool {
        self.scene.traits[program].follows && !self.has_room(program, node)
    }

    /// Where the pages of a program go when it moves to a node: to that node, or nowhere. If the
    /// kernel migrates them in any case, there is only one answer.
    fn pages(&self, program: usize, node: usize) -> impl Iterator<Item = Option<usize>> + Clone + use<> {
        let one = &self.scene.traits[program];
        let there = (one.pages_movable && self.has_room(program, node)).then_some(node);
        [there, None].into_iter().take(if one.follows || there.is_none() { 1 } else { 2 })
    }

    /// Whether to wait before pages are moved to a unit, because moved pages stay for good. A
    /// program that is not known yet, or in doubt, may run beside the unit, or where its pages are,
    /// and exchanging the two may be the better change. A unit waits only while its program is
    /// young.
    fn might_exchange(&self, unit: usize) -> bool {
        let (program, here) = (self.program(unit), self.at.domains[unit]);
        let has_most = |domain: usize| self.at.weights[program][self.node(domain)] > 0.5;
        let is_there = |domain: usize| domain == here || has_most(domain);
        let one = &self.scene.traits[program];
        let mut domains = 0..self.memory.places.len();
        one.young && one.movable && domains.any(|domain| self.unsettled[domain] && is_there(domain))
    }

    /// Adds the changes that move the program's pages to another node while its threads stay.
    fn pages_alone(&self, unit: usize, steps: &mut Vec<Step>) {
        let (program, to) = (self.program(unit), self.at.domains[unit]);
        let one = &self.scene.traits[program];
        if !one.pages_movable || one.follows || self.might_exchange(unit) {
            return;
        }
        let open = |node: &usize| self.at.weights[program][*node] < 0.9 && self.has_room(program, *node);
        let nodes = (0..self.memory.nodes.len()).filter(open);
        steps.extend(nodes.map(|node| alone(unit, to, Some(node))));
    }

    /// Adds the changes that move the unit to each other domain, by itself and in exchange.
    fn moves(&self, unit: usize, steps: &mut Vec<Step>) {
        let (program, here) = (self.program(unit), self.at.domains[unit]);
        if !self.scene.traits[program].movable || self.fresh[here] {
            return;
        }
        for to in (0..self.memory.places.len()).filter(|to| *to != here && !self.fresh[*to]) {
            if self.overflows(program, self.node(to)) {
                continue;
            }
            let own = self.pages(program, self.node(to));
            let is_idle = self.at.idle_cores[to] >= self.scene.count(unit);
            if is_idle && self.crowds.might_start(unit, to) || self.crowds.evens(unit, to) {
                steps.extend(own.clone().map(|pages| alone(unit, to, pages)));
            }
            for partner in partners(&self.movable[to], self.scene, unit) {
                let (who, back) = (self.program(partner), self.node(here));
                if self.overflows(who, back) {
                    continue;
                }
                for pages in own.clone() {
                    let with = |partner_pages| Step { partner: Some(partner), partner_pages, ..alone(unit, to, pages) };
                    steps.extend(self.pages(who, back).map(with));
                }
            }
        }
    }
}

/// A step of one unit by itself, with all of its program's pages to a node or with none.
fn alone(unit: usize, to: usize, pages: Option<usize>) -> Step {
    Step { unit, to, partner: None, pages: pages.map(To::Node), partner_pages: None }
}

/// Of the units of a domain that stand for as many threads as `unit`, the first and the last few.
/// The units are sorted by how much they wait.
fn partners(there: &[usize], scene: &Scene, unit: usize) -> Vec<usize> {
    let fits = |other: &usize| scene.count(*other) == scene.count(unit);
    let equal: Vec<usize> = there.iter().copied().filter(fits).collect();
    if equal.len() <= 2 * PARTNERS {
        return equal;
    }
    let last = equal.len() - PARTNERS;
    equal[..PARTNERS].iter().chain(&equal[last..]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::test_kit::{observation, process, thread, with_pages};
    use isobar_model::Bytes;

    /// Two nodes of two cores. Program 0 runs on the first, with its pages on the second, where
    /// program 1 is at home. The pages of program 0 may come to it, and each program may change
    /// places with the other, with the pages of either, of both or of none. If program 1 runs
    /// beside program 0, program 0 may go alone, with its pages named or not. Without room, pages
    /// only go where they already are. While program 1 is not known yet, it is waited for, because
    /// program 0 is young, too.
    #[test]
    fn pages_threads_and_exchanges_are_looked_at() {
        let running = [(1, 0), (2, 2)].map(|(pid, cpu)| process(pid, vec![thread(pid, cpu, 20.0)]));
        let mut seen = observation("node:2 core:2", running.to_vec());
        (1..=2).for_each(|pid| with_pages(&mut seen, pid, &[0, 500]));
        seen.free = seen.machine.nodes().iter().map(|node| (node.id, Bytes(16 << 30))).collect();
        let (mut scene, memory, _) = stage(&seen, 4, &Idle::default());
        let mut at = scene.base.clone();
        at.idle_cores = vec![0, 1];
        // Counts pages alone, the first program alone, and exchanges.
        let count = |scene: &Scene, at: &Arrangement, free: &[f64]| {
            let steps = candidates(scene, &memory, at, &[0, 1], free);
            let of = |fits: &dyn Fn(&Step) -> bool| steps.iter().filter(|step| fits(step)).count();
            [
                of(&|step| step.unit == 0 && step.to == 0),
                of(&|step| step.unit == 0 && step.to == 1 && step.partner.is_none()),
                of(&|step| step.partner.is_some()),
            ]
        };
        assert_eq!(count(&scene, &at, &scene.free), [1, 0, 8]);
        assert_eq!(count(&scene, &at, &[0.0, 0.0]), [0, 0, 4]);
        let mut beside = at.clone();
        beside.domains[1] = 0;
        assert_eq!(count(&scene, &beside, &scene.free), [1, 2, 0]);
        scene.traits[1].fresh = true;
        assert_eq!(count(&scene, &at, &scene.free), [0, 0, 0]);
    }
}
