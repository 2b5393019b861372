//! Brings programs whose threads are away from their pages to the node of these pages, many in one
//! change. Each changes places with another that is away as well, goes to an idle core, or changes
//! places with one that waits less. This is the placement of N-MASS and maximum-local (Majo and
//! Gross, ISMM 2011 and CGO 2011), as one candidate among others. Moving programs one by one often
//! brings no gain: the first to come finds the others still there, and the threads of a job that
//! wait for each other are as fast as the last of them.

use super::balance::Occupancy;
use super::memory::Memory;
use super::scene::{Arrangement, Scene};
use super::step::Step;

/// Fraction of a program's pages from which on a node is its home.
const HOME: f64 = 0.75;
/// Maximum number of steps in the change.
const MOST: usize = 32;
/// Maximum number of units that are considered: of those that are away, those that wait most.
const LOOKED_AT: usize = 64;

/// The steps that bring programs home, in order; `None` if there are none. `open`: units that no
/// change moves yet, those that wait most first.
#[must_use]
pub fn homeward(scene: &Scene, memory: &Memory, at: &Arrangement, open: &[usize]) -> Option<Vec<Step>> {
    let fresh = scene.fresh(memory);
    let node = |domain: usize| memory.places[domain].node;
    let is_away = |unit: &usize| home(scene, at, *unit).is_some_and(|home| home != node(at.domains[*unit]));
    let moves = |unit: &usize| {
        let one = &scene.traits[scene.units[*unit].program];
        one.movable && !one.follows && !fresh[at.domains[*unit]]
    };
    let mut still: Vec<usize> = open.iter().copied().filter(moves).collect();
    let away: Vec<usize> = still.iter().copied().filter(is_away).take(LOOKED_AT).collect();
    let (mut steps, mut now): (Vec<Step>, Arrangement) = (Vec::new(), at.clone());
    for unit in away {
        if !still.contains(&unit) || steps.len() == MOST {
            continue;
        }
        let Some(step) = seat(scene, memory, &now, unit, &still, &fresh) else { continue };
        step.apply(scene, memory, &mut now);
        // Another thread may run on a core that a unit leaves, so only cores that were idle before
        // count.
        now.idle_cores.iter_mut().zip(&at.idle_cores).for_each(|(now, before)| *now = (*now).min(*before));
        still.retain(|other| step.units().all(|moved| moved != *other));
        steps.push(step);
    }
    (!steps.is_empty()).then_some(steps)
}

/// Finds a place for a unit that is away on the node of its pages: in exchange for a unit whose
/// pages are where it is, otherwise on cores that no thread uses, otherwise in exchange for a unit
/// that waits less. A place beside threads of its own program is preferred. Whole programs go alone
/// only where the kernel might have started them (see [`super::balance`]), or if there are enough
/// CPUs for others.
fn seat(scene: &Scene, memory: &Memory, at: &Arrangement, unit: usize, open: &[usize], fresh: &[bool]) -> Option<Step> {
    let node = |domain: usize| memory.places[domain].node;
    let waits = |unit: usize| scene.traits[scene.units[unit].program].waits();
    let (here, to) = (node(at.domains[unit]), home(scene, at, unit)?);
    let own = scene.units_of(scene.units[unit].program);
    let mates = |domain: usize| own.clone().filter(|other| at.domains[*other] == domain).count();
    let fits = |other: &usize| node(at.domains[*other]) == to && scene.count(*other) == scene.count(unit);
    let mut others = open.iter().copied().filter(fits);
    let returns = others.clone().filter(|other| home(scene, at, *other) == Some(here));
    let step = |to, partner| Step { unit, to, partner, pages: None, partner_pages: None };
    if let Some(other) = returns.max_by_key(|other| mates(at.domains[*other])) {
        return Some(step(at.domains[other], Some(other)));
    }
    let crowds = Occupancy::of(scene, memory, at);
    let goes_alone = scene.units[unit].thread.is_some() || crowds.is_roomy();
    let idle = (0..memory.places.len()).filter(|domain| node(*domain) == to && !fresh[*domain]).filter(|domain| {
        let is_idle = at.idle_cores[*domain] >= scene.count(unit);
        is_idle && (goes_alone || crowds.might_start(unit, *domain)) || crowds.evens(unit, *domain)
    });
    if let Some(domain) = idle.max_by_key(|domain| mates(*domain)) {
        return Some(step(domain, None));
    }
    let is_patient =
        |other: &usize| home(scene, at, *other).is_none_or(|home| home == to) && waits(*other) < waits(unit) / 2.0;
    others.rfind(is_patient).map(|other| step(at.domains[other], Some(other)))
}

/// The home of a unit's program: the node that has most of its pages.
#[must_use]
pub fn home(scene: &Scene, at: &Arrangement, unit: usize) -> Option<usize> {
    let program = scene.units[unit].program;
    let known = scene.traits[program].pages > 0.0;
    at.weights[program].iter().position(|part| known && *part >= HOME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::test_kit::{observation, process, thread, with_pages};

    /// Two nodes of three cores. A job of two threads has its pages on the first node and one
    /// thread on either. Two programs have their pages on the second node and run on the first. A
    /// fourth program is at home and waits as much. The job's thread comes home in exchange for one
    /// of the two, and the other one goes to the idle core. Without that core, only the exchange is
    /// made. Once the job's thread is at home, only the other one goes.
    #[test]
    fn a_job_and_those_in_its_place_change_places() {
        let cpus: [&[u32]; 4] = [&[0, 3], &[1], &[2], &[4]];
        let pid = |at: usize| u32::try_from(10 * (at + 1)).unwrap();
        let one = |(at, cpus): (usize, &&[u32])| {
            let mpki = if at == 3 { 40.0 } else { 20.0 };
            process(pid(at), cpus.iter().zip(pid(at)..).map(|(cpu, tid)| thread(tid, *cpu, mpki)).collect())
        };
        let mut seen = observation("node:2 core:3", cpus.iter().enumerate().map(one).collect());
        [[500, 0], [0, 500], [0, 500], [0, 500]]
            .iter()
            .zip(0..)
            .for_each(|(pages, at)| with_pages(&mut seen, pid(at), pages));
        let (scene, memory, _) = stage(&seen, 4, &Idle::default());
        let mut at = scene.base.clone();
        at.idle_cores = vec![0, 1];
        let units: Vec<usize> = (0..scene.units.len()).collect();
        let of = |unit: usize| scene.units[unit].program;
        let say = |at: &Arrangement| -> Vec<_> {
            let steps = homeward(&scene, &memory, at, &units).into_iter().flatten();
            steps.map(|step| (of(step.unit), step.to, step.partner.map(of))).collect()
        };
        assert_eq!(say(&at), [(0, 0, Some(2)), (1, 1, None)]);
        at.idle_cores = vec![0, 0];
        assert_eq!(say(&at), [(0, 0, Some(2))]);
        (at.domains[1], at.domains[3], at.idle_cores[1]) = (0, 1, 1);
        assert_eq!(say(&at), [(1, 1, None)]);
    }
}
