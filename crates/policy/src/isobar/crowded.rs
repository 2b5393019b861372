//! Frees bound threads where more threads run than there are CPUs while cores elsewhere are idle,
//! because other threads have ended since these were bound. The kernel cannot move bound threads to
//! the idle cores. Once freed, they are treated like any thread that was never bound.

use super::carry::{Carried, freed};
use super::idle::{Idle, runs};
use super::scene::Scene;
use crate::kit::domains::{DomainId, Domains};
use isobar_model::{Action, Observation};

/// Why they are freed.
const WHY: &str = "more threads than CPUs where it was bound, and idle cores elsewhere";

/// The threads that may run anywhere again, as many as there are free cores. On each domain these
/// are the threads that are too many, those that wait least for memory first. `epochs`: for how
/// long a core must be idle to be free.
#[must_use]
pub fn frees(seen: &Observation, domains: &Domains, scene: &Scene, idle: &Idle, epochs: u32) -> Vec<Action> {
    let free = idle.by_domain(domains, epochs);
    let mut left: usize = free.iter().sum();
    let mut actions = Vec::new();
    for (domain, _) in free.iter().enumerate().filter(|(_, free)| **free == 0) {
        let cpus = domains.cpus(DomainId(domain)).count();
        let mut here = Vec::new();
        for (program, process) in seen.processes.iter().enumerate() {
            for thread in process.threads.iter().filter(|thread| runs(thread, seen.interval.0)) {
                let cpu = thread.cpu.filter(|cpu| domains.domain_of(*cpu) == Some(DomainId(domain)));
                here.extend(
                    cpu.map(|cpu| (program, thread, Carried { pid: process.pid, tid: thread.tid, from: cpu, to: cpu })),
                );
            }
        }
        let excess = here.len().saturating_sub(cpus);
        here.retain(|(_, thread, _)| thread.bound == Some(true));
        let waits = |program: usize| scene.traits[program].waits();
        here.sort_by(|a, b| waits(a.0).total_cmp(&waits(b.0)).then(a.2.tid.cmp(&b.2.tid)));
        let going = here.iter().take(excess.min(left)).filter_map(|(_, _, one)| freed(seen, one, WHY));
        let before = actions.len();
        actions.extend(going);
        left -= actions.len() - before;
    }
    actions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::stage::stage;
    use crate::test_kit::{observation, process, thread};
    use isobar_model::Tid;

    /// Three bound threads on two CPUs. They stay while both CPUs of the other node are busy. Once
    /// one of these is free, one thread may go there. With two free, still only the one that is too
    /// many may go.
    #[test]
    fn one_too_many_is_freed_for_an_idle_core() {
        let freed = |others: &[u32]| {
            let cpus = [0, 0, 1].into_iter().chain(others.iter().copied());
            let one = |(pid, cpu): (u32, u32)| process(pid, vec![thread(pid, cpu, 20.0)]);
            let mut seen = observation("node:2 core:2", (1..).zip(cpus).map(one).collect());
            seen.processes.iter_mut().take(3).for_each(|process| process.threads[0].bound = Some(true));
            let domains = Domains::of(&seen.machine);
            let mut idle = Idle::default();
            (0..6).for_each(|_| idle.pass(&seen, &domains));
            let (scene, _, _) = stage(&seen, 4, &idle);
            let tid = |action: &Action| if let Action::MoveThread { tid, .. } = action { Some(*tid) } else { None };
            frees(&seen, &domains, &scene, &idle, 5).iter().filter_map(tid).collect::<Vec<Tid>>()
        };
        assert!(freed(&[2, 3]).is_empty());
        assert_eq!(freed(&[2]).len(), 1);
        assert_eq!(freed(&[]).len(), 1);
    }
}
