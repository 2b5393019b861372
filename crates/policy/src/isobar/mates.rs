//! Selects threads that have to stay where a change brings others. They are bound where they are,
//! because the kernel knows nothing of memory and might make room by moving them away.

use super::balance::Occupancy;
use super::carry::Carried;
use super::home::home;
use super::idle::runs;
use super::memory::Memory;
use super::scene::Scene;
use super::step::{Step, To, with};
use crate::kit::domains::{DomainId, Domains};
use isobar_model::{CpuId, Observation, Thread, Tid};
use std::collections::BTreeSet;

/// The threads that are already where a change brings the rest of their program, that is, other
/// threads of it or its pages. They stay on their CPUs, bound like those that come, because the
/// kernel prefers idle caches and would separate them again. Threads that are with their pages
/// where others come are bound as well. If a change leaves another node emptier by two threads, so
/// are the threads at home on each node that is fuller: when the kernel looks for a thread to move,
/// it takes one that is not bound.
#[must_use]
pub fn mates(seen: &Observation, domains: &Domains, scene: &Scene, memory: &Memory, steps: &[Step]) -> Vec<Carried> {
    let goes = |unit: &usize, to: usize| scene.base.domains[*unit] != to;
    let moves = |step: &Step| {
        let back = step.partner.map(|partner| (partner, scene.base.domains[step.unit]));
        std::iter::once((step.unit, step.to)).chain(back)
    };
    let moved: BTreeSet<Tid> = steps.iter().flat_map(Step::units).filter_map(|unit| scene.units[unit].thread).collect();
    let torn = steps.iter().flat_map(moves).filter(|(unit, to)| scene.units[*unit].thread.is_some() && goes(unit, *to));
    let followed = steps.iter().filter(|step| step.pages == Some(To::Node(memory.places[step.to].node)));
    let followed = followed.map(|step| (step.unit, step.to)).filter(|(unit, to)| {
        scene.units[*unit].thread.is_none() && !goes(unit, *to) && !is_crowded(seen, domains, DomainId(*to))
    });
    let hosts =
        hosts(scene, memory, steps).into_iter().flat_map(|to| at_home(scene, memory, to).map(move |unit| (unit, to)));
    let hosts = hosts.filter(|(unit, _)| steps.iter().all(|step| step.units().all(|moved| moved != *unit)));
    let mut mates: Vec<Carried> = Vec::new();
    for (unit, to) in torn.chain(followed).chain(hosts) {
        let Some(process) = seen.processes.get(scene.units[unit].program) else { continue };
        let may = |one: &&Thread| runs(one, seen.interval.0) && one.bound != Some(true) && !one.pinned;
        for thread in process.threads.iter().filter(may) {
            let here =
                thread.cpu.filter(|cpu| domains.domain_of(*cpu) == Some(DomainId(to)) && thread.may_run_on(*cpu));
            let open = !moved.contains(&thread.tid) && mates.iter().all(|mate| mate.tid != thread.tid);
            if let Some(cpu) = here.filter(|_| open) {
                mates.push(Carried { pid: process.pid, tid: thread.tid, from: cpu, to: cpu });
            }
        }
    }
    mates
}

/// The domains from which the kernel would take threads because of some changes: those to which
/// others come, and those whose nodes have two threads more than another node from then on.
fn hosts(scene: &Scene, memory: &Memory, steps: &[Step]) -> BTreeSet<usize> {
    let joined = |step: &Step| std::iter::once(step.to).chain(step.partner.map(|_| scene.base.domains[step.unit]));
    let goes = |step: &&Step| scene.base.domains[step.unit] != step.to;
    let after = with(steps, scene, memory, &scene.base);
    let (before, after) = (Occupancy::of(scene, memory, &scene.base), Occupancy::of(scene, memory, &after));
    let exposed = (0..memory.places.len()).filter(|domain| after.is_exposed(*domain) && !before.is_exposed(*domain));
    steps.iter().filter(goes).flat_map(joined).chain(exposed).collect()
}

/// The whole programs on a domain that have their pages on its node. They stay, known or not.
fn at_home<'a>(scene: &'a Scene, memory: &'a Memory, domain: usize) -> impl Iterator<Item = usize> + 'a {
    let node = memory.places[domain].node;
    (0..scene.units.len()).filter(move |unit| {
        let of = &scene.units[*unit];
        let is_here = scene.base.domains[*unit] == domain && of.thread.is_none();
        is_here && home(scene, &scene.base, *unit) == Some(node)
    })
}

/// Whether more threads run on a domain than it has cores.
fn is_crowded(seen: &Observation, domains: &Domains, domain: DomainId) -> bool {
    let here = |cpu: Option<CpuId>| cpu.and_then(|cpu| domains.domain_of(cpu)) == Some(domain);
    let running = seen.threads().filter(|(_, one)| runs(one, seen.interval.0) && here(one.cpu));
    running.count() > domains.domain(domain).cores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::test_kit::{observation, process, thread, with_pages};
    use isobar_model::Pid;

    /// One program comes to the second node, to an idle core or in exchange for another. It finds a
    /// program there that has its pages there and was read once. That program is bound where it is,
    /// unless its owner pinned it, because the kernel may make room there.
    #[test]
    fn who_is_at_home_stays_there_where_others_come() {
        let bound = |pinned: bool, partner: Option<usize>| {
            let at = |(pid, cpu): (u32, u32)| process(pid, vec![thread(pid, cpu, 20.0)]);
            let mut seen = observation("node:2 core:4", [(1, 0), (2, 4), (3, 5)].map(at).into());
            (1..3).for_each(|pid| with_pages(&mut seen, pid, &[0, 500]));
            with_pages(&mut seen, 3, &[500, 0]);
            seen.processes[1].threads[0].pinned = pinned;
            let (scene, memory, _) = stage(&seen, 1, &Idle::default());
            assert!(!scene.traits[1].movable);
            let step = Step { unit: 0, to: 1, partner, pages: None, partner_pages: None };
            mates(&seen, &Domains::of(&seen.machine), &scene, &memory, &[step])
        };
        for partner in [None, Some(2)] {
            let stays = Carried { pid: Pid(2), tid: Tid(2), from: CpuId(4), to: CpuId(4) };
            assert_eq!(bound(false, partner), [stays]);
            assert!(bound(true, partner).is_empty());
        }
    }

    /// Two, two and three programs at home on three nodes. One of the first node goes to the
    /// second, where the two programs are bound. The first node then has one program, so the kernel
    /// would take from the third node as well. If the third node has two, the kernel would not.
    #[test]
    fn who_is_at_home_stays_where_another_node_is_left_emptier_by_two() {
        let bound = |cpus: &[u32]| {
            let at = |(pid, cpu): (u32, &u32)| process(pid, vec![thread(pid, *cpu, 20.0)]);
            let mut seen = observation("node:3 core:4", (1..).zip(cpus).map(at).collect());
            for (pid, cpu) in (1..).zip(cpus) {
                let mut pages = [0; 3];
                pages[(cpu / 4) as usize] = 500;
                with_pages(&mut seen, pid, &pages);
            }
            let (scene, memory, _) = stage(&seen, 1, &Idle::default());
            let step = Step { unit: 0, to: 1, partner: None, pages: None, partner_pages: None };
            let mates = mates(&seen, &Domains::of(&seen.machine), &scene, &memory, &[step]);
            mates.iter().map(|one| one.from.0).collect::<Vec<_>>()
        };
        assert_eq!(bound(&[0, 1, 4, 5, 8, 9, 10]), [4, 5, 8, 9, 10]);
        assert_eq!(bound(&[0, 1, 4, 5, 8, 9]), [4, 5]);
    }
}
