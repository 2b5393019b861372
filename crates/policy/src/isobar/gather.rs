//! Changes for a program whose threads are on several caches. Either its pages are spread over the
//! nodes of these caches, or the whole program is brought together on one: each thread goes to an
//! idle core or changes places with a thread there, and the pages follow. Moving one thread at a
//! time brings no gain, because pages can follow only when all threads have come. So such a change
//! is evaluated as a whole.

use super::memory::Memory;
use super::scene::{Arrangement, Scene};
use super::step::{Step, To, away, coming};

/// Maximum number of programs whose threads are considered: those that wait most.
const PROGRAMS: usize = 8;

/// Least fraction of its pages that must move for a program to be spread: less is no change.
const LITTLE: f64 = 0.1;

/// The ways to bring together the threads of a program, for programs whose units are single
/// threads. Each way is a list of steps, of which the last brings the pages. `free`: pages that
/// each node can take.
#[must_use]
pub fn gathers(scene: &Scene, memory: &Memory, at: &Arrangement, free: &[f64], open: &[usize]) -> Vec<Vec<Step>> {
    let mut programs: Vec<usize> = Vec::new();
    for unit in open.iter().copied().filter(|unit| scene.units[*unit].thread.is_some()) {
        let program = scene.units[unit].program;
        let one = &scene.traits[program];
        if one.movable && one.pages_movable && !programs.contains(&program) {
            programs.push(program);
        }
    }
    let fresh = scene.fresh(memory);
    let known = |domain: usize| !fresh[domain];
    let mut found = Vec::new();
    for program in programs.into_iter().take(PROGRAMS) {
        let own = scene.units_of(program);
        let (unmoved, moved): (Vec<usize>, Vec<usize>) = own.clone().partition(|unit| open.contains(unit));
        // If threads of it have just made room for another program, the others follow them.
        if own.len() == scene.traits[program].threads && unmoved.iter().all(|unit| known(at.domains[*unit])) {
            let here = |to: &usize| moved.iter().all(|unit| at.domains[*unit] == *to);
            let places = (0..memory.places.len()).filter(|to| known(*to) && here(to));
            found.extend(places.filter_map(|to| gather(scene, memory, at, free, (&unmoved, open), to)));
        }
    }
    found
}

/// The changes that spread the pages of a program whose threads run on several domains over the
/// nodes of these domains. If all pages are on one node, its memory controller and links carry what
/// several could. Programs to whose threads the kernel migrates pages are left out, because the
/// kernel knows which thread uses which page. `open`: units that no change moves yet.
#[must_use]
pub fn spreads(scene: &Scene, memory: &Memory, at: &Arrangement, free: &[f64], open: &[usize]) -> Vec<Vec<Step>> {
    let mut is_open = vec![false; scene.units.len()];
    open.iter().for_each(|unit| is_open[*unit] = true);
    let (mut found, mut first): (Vec<(usize, usize)>, usize) = (Vec::new(), 0);
    for units in scene.units.chunk_by(|a, b| a.program == b.program) {
        let one = &scene.traits[units[0].program];
        let may = one.known && one.pages_movable && !one.brought;
        if units.len() > 1 && may && is_open[first..first + units.len()].iter().all(|open| *open) {
            found.push((units[0].program, first));
        }
        first += units.len();
    }
    let waits = |program: usize| scene.traits[program].waits();
    found.sort_by(|a, b| waits(b.0).total_cmp(&waits(a.0)).then(a.cmp(b)));
    let moves = |program: usize| {
        let coming = coming(scene, memory, at, program, To::Spread);
        let fits = coming.iter().zip(free).all(|(pages, free)| pages <= free);
        fits && coming.iter().sum::<f64>() > LITTLE * scene.traits[program].pages
    };
    let step = |unit| Step { unit, to: at.domains[unit], partner: None, pages: Some(To::Spread), partner_pages: None };
    let some = found.into_iter().filter(|(program, _)| moves(*program)).take(PROGRAMS);
    some.map(|(_, unit)| vec![step(unit)]).collect()
}

/// The steps that bring those threads of a program to a domain that are not there yet, with its
/// pages. If other threads of it have come there to make room and none is elsewhere, only its pages
/// move. `None` if there is no room, or nothing to do.
fn gather(
    scene: &Scene,
    memory: &Memory,
    at: &Arrangement,
    free: &[f64],
    (unmoved, open): (&[usize], &[usize]),
    to: usize,
) -> Option<Vec<Step>> {
    let program = scene.units[*unmoved.first()?].program;
    let node = memory.places[to].node;
    if away(scene, at, program, node) > free[node] {
        return None;
    }
    // Which threads make room: first threads of programs that are on several domains, then threads
    // that wait least for memory.
    let leaves = |unit: &usize| {
        let other = scene.units[*unit].program;
        at.domains[*unit] == to && other != program && scene.traits[other].movable && scene.count(*unit) == 1
    };
    let mut others: Vec<usize> = open.iter().copied().filter(leaves).collect();
    let order = |unit: &usize| (scene.units[*unit].thread.is_none(), scene.traits[scene.units[*unit].program].waits());
    others.sort_by(|a, b| order(b).0.cmp(&order(a).0).then(order(b).1.total_cmp(&order(a).1)));
    let (mut steps, mut now) = (Vec::new(), at.clone());
    for unit in unmoved.iter().copied().filter(|unit| at.domains[*unit] != to) {
        // An idle core is enough, also if the kernel would start no program there: see
        // [`super::balance`].
        let alone = now.idle_cores[to] > 0;
        let partner = if alone { None } else { Some(others.pop()?) };
        let step = Step { unit, to, partner, pages: None, partner_pages: None };
        step.apply(scene, memory, &mut now);
        steps.push(step);
    }
    let made_room = unmoved.len() < scene.traits[program].threads;
    if made_room && steps.is_empty() && away(scene, at, program, node) > 0.0 {
        steps.push(Step { unit: unmoved[0], to, partner: None, pages: None, partner_pages: None });
    }
    steps.last_mut()?.pages = Some(To::Node(node));
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::test_kit::{observation, process, thread, with_pages};

    /// The program of a thread, that of its partner, the destination, and where the pages go.
    type Summary = (usize, Option<usize>, usize, Option<To>);

    /// The scene of a test: programs with pids from 10 on in steps of ten, their threads on given
    /// CPUs of nodes of two cores. Every node has pages of each program.
    fn scene(machine: &str, cpus: &[&[u32]]) -> (Scene, Memory) {
        let pid = |at: usize| u32::try_from(10 * (at + 1)).unwrap();
        let one = |(at, cpus): (usize, &&[u32])| {
            process(pid(at), cpus.iter().zip(pid(at)..).map(|(cpu, tid)| thread(tid, *cpu, 20.0)).collect())
        };
        let mut seen = observation(machine, cpus.iter().enumerate().map(one).collect());
        let pages = vec![500; seen.machine.nodes().len()];
        (0..cpus.len()).for_each(|at| with_pages(&mut seen, pid(at), &pages));
        let (scene, memory, _) = stage(&seen, 4, &Idle::default());
        (scene, memory)
    }

    /// The ways to bring a program together, step by step.
    fn summaries(scene: &Scene, all: &[Vec<Step>], program: usize) -> Vec<Vec<Summary>> {
        let of = |unit: usize| scene.units[unit].program;
        let one = |step: &Step| (of(step.unit), step.partner.map(of), step.to, step.pages);
        let its = all.iter().filter(|steps| of(steps[0].unit) == program);
        its.map(|steps| steps.iter().map(one).collect()).collect()
    }

    /// Two programs of two threads each, one thread on either node. On either node, one thread
    /// changes places with one of the other program, and all pages come. If the pages do not fit,
    /// there is no way.
    #[test]
    fn a_torn_program_is_brought_together_in_exchange() {
        let (scene, memory) = scene("node:2 core:2", &[&[0, 2], &[1, 3]]);
        let units: Vec<usize> = (0..scene.units.len()).collect();
        let ways = |free: f64| summaries(&scene, &gathers(&scene, &memory, &scene.base, &[free; 2], &units), 0);
        assert_eq!(ways(1e6), [[(0, Some(1), 0, Some(To::Node(0)))], [(0, Some(1), 1, Some(To::Node(1)))]]);
        assert!(ways(100.0).is_empty());
    }

    /// The second program's thread on CPU 1 makes room for the first program, and goes to CPU 2.
    /// Its other thread, on CPU 4, can follow it there and nowhere else, in exchange for the third
    /// program's thread.
    #[test]
    fn the_threads_of_one_that_made_room_follow() {
        let (scene, memory) = scene("node:3 core:2", &[&[0, 2], &[1, 4], &[3]]);
        let units: Vec<usize> = (0..scene.units.len()).collect();
        let free = [1e6; 3];
        let all = gathers(&scene, &memory, &scene.base, &free, &units);
        let first = all
            .iter()
            .find(|steps| summaries(&scene, std::slice::from_ref(steps), 0) == [[(0, Some(1), 0, Some(To::Node(0)))]]);
        let first = first.expect("the first program to node 0, in exchange for the second's thread");
        let mut at = scene.base.clone();
        first.iter().for_each(|step| step.apply(&scene, &memory, &mut at));
        let open: Vec<usize> = units.into_iter().filter(|unit| first[0].units().all(|moved| moved != *unit)).collect();
        let next = gathers(&scene, &memory, &at, &free, &open);
        assert_eq!(summaries(&scene, &next, 1), [[(1, Some(2), 1, Some(To::Node(1)))]]);
    }

    /// Two pairs of threads, one thread of each pair on either node. The exchange that brings the
    /// first pair together makes the second whole, too: only its pages are left to come.
    #[test]
    fn the_pages_of_one_that_became_whole_follow() {
        let (scene, memory) = scene("node:2 core:2", &[&[0, 2], &[1, 3]]);
        let units: Vec<usize> = (0..scene.units.len()).collect();
        let first = gathers(&scene, &memory, &scene.base, &[1e6; 2], &units).remove(0);
        let mut at = scene.base.clone();
        first.iter().for_each(|step| step.apply(&scene, &memory, &mut at));
        let open: Vec<usize> = units.into_iter().filter(|unit| first[0].units().all(|moved| moved != *unit)).collect();
        let next = gathers(&scene, &memory, &at, &[1e6; 2], &open);
        assert_eq!(summaries(&scene, &next, 1), [[(1, None, 1, Some(To::Node(1)))]]);
        next[0].iter().for_each(|step| step.apply(&scene, &memory, &mut at));
        assert!(summaries(&scene, &gathers(&scene, &memory, &at, &[1e6; 2], &open), 1).is_empty(), "once");
    }

    /// The first program runs on three of four nodes: a third of its pages goes to each of these,
    /// unless they do not fit or the kernel migrates pages to threads. The second program runs on
    /// one node.
    #[test]
    fn the_pages_of_a_program_on_several_nodes_may_be_spread_over_them() {
        let (mut scene, memory) = scene("node:4 core:2", &[&[0, 2, 4], &[6]]);
        scene.base.weights[0] = vec![1.0, 0.0, 0.0, 0.0];
        let units: Vec<usize> = (0..scene.units.len()).collect();
        let ways = |scene: &Scene, free: f64| spreads(scene, &memory, &scene.base, &[free; 4], &units);
        let all = ways(&scene, 1e6);
        assert_eq!(summaries(&scene, &all, 0), [[(0, None, 0, Some(To::Spread))]]);
        let mut at = scene.base.clone();
        all[0][0].apply(&scene, &memory, &mut at);
        let third = |part: &f64| (part - 1.0 / 3.0).abs() < 1e-9;
        assert!(at.weights[0][..3].iter().all(third) && at.weights[0][3] == 0.0 && all.len() == 1);
        // Of 2,000 pages, 667 come to each of two nodes.
        assert!((all[0][0].copied(&scene, &memory, &scene.base) - 4000.0 / 3.0).abs() < 1e-6);
        assert!(ways(&scene, 660.0).is_empty() && ways(&scene, 670.0).len() == 1);
        scene.traits[0].brought = true;
        assert!(ways(&scene, 1e6).is_empty());
    }
}
