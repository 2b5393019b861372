//! Repeats a change for similar programs. What is right for a program is often right for others
//! like it: copies of one program that crowd a node, or whose pages are all on another. One by one,
//! each would cost a solution of the equations, and most would wait for the next trial. So the same
//! change is predicted for more and more of them at once, as long as that pays.

use super::balance::Occupancy;
use super::memory::Memory;
use super::reading::ratio;
use super::scene::{Arrangement, Scene};
use super::step::{Step, To, away};
use super::traits::Traits;

/// Logarithm of the ratio of two programs' misses, or of their times per instruction, up to which
/// they are alike.
const ALIKE: f64 = 0.2;

/// Those units of `of` that are like the unit of a change: they run as many threads on the same
/// domain, miss as much, and have their pages where its pages were.
#[must_use]
pub fn like(scene: &Scene, at: &Arrangement, step: &Step, of: &[usize]) -> Vec<usize> {
    let program = |unit: usize| scene.units[unit].program;
    let (one, own) = (&scene.traits[program(step.unit)], &at.weights[program(step.unit)]);
    let near = |a: f64, b: f64| ratio(b, a.max(1e-12)) < ALIKE;
    let here = at.domains[step.unit];
    let may = |one: &Traits| (one.movable, one.pages_movable, one.follows, one.young);
    let is_like = |unit: &usize| {
        let other = &scene.traits[program(*unit)];
        *unit != step.unit
            && at.domains[*unit] == here
            && scene.count(*unit) == scene.count(step.unit)
            && may(other) == may(one)
            && near(other.misses, one.misses)
            && near(other.uncrowded(), one.uncrowded())
            && at.weights[program(*unit)].iter().zip(own).all(|(a, b)| (a - b).abs() < 0.1)
    };
    of.iter().copied().filter(is_like).collect()
}

/// The same change for the first of some units, up to a number of them, each only if there is still
/// room for it after those before. `at` and `free` are updated.
pub fn same(
    scene: &Scene,
    memory: &Memory,
    step: &Step,
    (likes, most): (&[usize], usize),
    at: &mut Arrangement,
    free: &mut [f64],
) -> Vec<Step> {
    let mut steps = Vec::new();
    for unit in likes.iter().copied() {
        if steps.len() == most {
            break;
        }
        let program = scene.units[unit].program;
        let asked = step.pages.and_then(To::node);
        let brings = scene.traits[program].follows.then(|| memory.places[step.to].node).or(asked);
        let takes = brings.map(|node| (node, away(scene, at, program, node)));
        if takes.is_some_and(|(node, pages)| pages > free[node]) {
            continue;
        }
        let seat = at.domains[unit] == step.to
            || (at.idle_cores[step.to] >= scene.count(unit)
                && Occupancy::of(scene, memory, at).might_start(unit, step.to));
        // If there is no seat for one, there is none for the others, which have as many threads on
        // the same domain.
        if !seat {
            break;
        }
        if let Some((node, pages)) = takes {
            free[node] -= pages;
        }
        let own = Step { unit, ..*step };
        own.apply(scene, memory, at);
        steps.push(own);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::kit::domains::Domains;
    use crate::test_kit::{observation, process, thread, with_pages};

    /// Six programs on a node of eight cores. Five have all of their pages there, the sixth has
    /// them on the other node. Of the four that are like the first, only as many go as leave no
    /// more threads on the other node than on this one.
    #[test]
    fn as_many_go_as_there_is_room_for() {
        let six = (1..=6).map(|pid| process(pid, vec![thread(pid, pid - 1, 1.0)]));
        let mut seen = observation("node:2 core:8", six.collect());
        (1..=6).for_each(|pid| with_pages(&mut seen, pid, if pid == 6 { &[0, 1000] } else { &[1000, 0] }));
        let domains = Domains::of(&seen.machine);
        let mut idle = Idle::default();
        idle.pass(&seen, &domains);
        let (scene, memory, _) = stage(&seen, 1, &idle);
        let step = Step { unit: 0, to: 1, partner: None, pages: Some(To::Node(1)), partner_pages: None };
        let likes = like(&scene, &scene.base, &step, &[0, 1, 2, 3, 4, 5]);
        assert_eq!(likes, [1, 2, 3, 4]);
        let went = |most: usize, room: f64| {
            let (mut at, mut free) = (scene.base.clone(), vec![room; 2]);
            step.apply(&scene, &memory, &mut at);
            same(&scene, &memory, &step, (&likes, most), &mut at, &mut free).len()
        };
        assert_eq!([went(1, 1e6), went(4, 1e6), went(4, 1500.0), went(4, 0.0)], [1, 2, 1, 0]);
    }
}
