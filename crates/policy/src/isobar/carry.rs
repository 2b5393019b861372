//! Turns changes into moves of threads to CPUs: which thread gets which seat. A program that
//! changes places takes the CPUs of its partner, and one that moves alone takes idle cores.

use super::idle::{Idle, runs};
use super::scene::Scene;
use super::step::Step;
use crate::kit::domains::{DomainId, Domains};
use isobar_model::{Action, CpuId, CpuSet, Observation, Pid, Tid};
use std::collections::BTreeSet;

/// A thread that goes from one CPU to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Its process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// Where it ran.
    pub from: CpuId,
    /// Where it goes.
    pub to: CpuId,
}

impl Carried {
    /// Whether it goes elsewhere, rather than being bound where it is.
    #[must_use]
    pub fn goes(&self) -> bool {
        self.from != self.to
    }
}

/// The seats of an epoch, which changes take.
#[derive(Debug)]
pub struct Seats<'a> {
    seen: &'a Observation,
    domains: &'a Domains,
    /// CPUs that threads hold, one for each thread.
    held: Vec<(CpuId, Tid)>,
    /// Cores that may be taken.
    free: BTreeSet<usize>,
}

impl<'a> Seats<'a> {
    /// The seats as they are.
    #[must_use]
    pub fn new(seen: &'a Observation, domains: &'a Domains, idle: &Idle, epochs: u32) -> Self {
        let running = seen.threads().filter(|(_, thread)| runs(thread, seen.interval.0));
        let held = running.filter_map(|(_, thread)| Some((thread.cpu?, thread.tid))).collect();
        let free = (0..domains.core_count()).filter(|core| idle.is_free(*core, epochs)).collect();
        Self { seen, domains, held, free }
    }

    /// Takes the seats for a change. `None`, and nothing changes, if there are not enough.
    pub fn take(&mut self, scene: &Scene, step: &Step) -> Option<Vec<Carried>> {
        let process = self.seen.processes.get(scene.units[step.unit].program)?;
        let own = self.threads(scene, step.unit)?;
        let mut carried = Vec::new();
        if let Some(partner) = step.partner {
            let process_there = self.seen.processes.get(scene.units[partner].program)?;
            let others = self.threads(scene, partner)?;
            if own.len() != others.len() {
                return None;
            }
            for ((tid, from), (other, to)) in own.iter().zip(&others) {
                carried.push(Carried { pid: process.pid, tid: *tid, from: *from, to: *to });
                carried.push(Carried { pid: process_there.pid, tid: *other, from: *to, to: *from });
            }
        } else if scene.base.domains[step.unit] != step.to {
            let mut idle = self.idle(DomainId(step.to), true);
            if idle.len() < own.len() {
                idle = self.less_crowded(DomainId(scene.base.domains[step.unit]), DomainId(step.to), own.len())?;
            }
            carried.extend(own.iter().zip(idle).map(|((tid, from), to)| Carried {
                pid: process.pid,
                tid: *tid,
                from: *from,
                to,
            }));
        }
        self.put(&carried);
        Some(carried)
    }

    /// Takes threads back to the domain where they were: to their own seat if it is idle or about
    /// to be left, otherwise to another idle seat there, otherwise to their own seat although it is
    /// held. The kernel may have moved them within the domain that they went to. Those that are in
    /// another domain by now stay.
    pub fn take_back(&mut self, carried: &[Carried]) -> Vec<Carried> {
        let domain = |cpu| self.domains.domain_of(cpu);
        let back: Vec<Carried> = carried
            .iter()
            .filter_map(|one| {
                let (here, _) = self.held.iter().find(|(_, tid)| *tid == one.tid)?;
                let stays = domain(*here) == domain(one.to) && domain(*here) != domain(one.from);
                stays.then_some(Carried { pid: one.pid, tid: one.tid, from: *here, to: one.from })
            })
            .collect();
        let leaving: BTreeSet<Tid> = back.iter().map(|one| one.tid).collect();
        self.held.retain(|(_, tid)| !leaving.contains(tid));
        let mut done = Vec::new();
        for mut one in back {
            if self.held.iter().any(|(cpu, _)| *cpu == one.to) {
                let idle = domain(one.to).and_then(|domain| self.idle(domain, false).first().copied());
                one.to = idle.unwrap_or(one.to);
            }
            self.held.push((one.to, one.tid));
            done.push(one);
        }
        done
    }

    /// Records that threads go. A core that one leaves may be taken by the next, as the search
    /// assumed.
    fn put(&mut self, carried: &[Carried]) {
        for one in carried {
            self.held.iter_mut().filter(|(_, tid)| *tid == one.tid).for_each(|(cpu, _)| *cpu = one.to);
            self.free.extend(self.domains.seat_of(one.from).map(|seat| self.domains.seat(seat).core));
        }
    }

    /// The running threads of a unit, with their CPUs.
    fn threads(&self, scene: &Scene, unit: usize) -> Option<Vec<(Tid, CpuId)>> {
        let unit = &scene.units[unit];
        let process = self.seen.processes.get(unit.program)?;
        let own = |tid: Tid| self.held.iter().find(|(_, held)| *held == tid).map(|(cpu, _)| (tid, *cpu));
        let mut tids = process.threads.iter().map(|thread| thread.tid);
        Some(match unit.thread {
            Some(tid) => tids.find(|other| *other == tid).and_then(own).into_iter().collect(),
            None => tids.filter_map(own).collect(),
        })
    }

    /// The CPUs of a domain with the fewest threads, for threads that leave a larger crowd: see
    /// [`Occupancy::evens`](super::balance::Occupancy::evens). `None` if they would not even it out.
    fn less_crowded(&self, from: DomainId, to: DomainId, count: usize) -> Option<Vec<CpuId>> {
        let on = |cpu: CpuId| self.held.iter().filter(|(held, _)| *held == cpu).count();
        let crowd = |domain: DomainId| {
            let cpus: Vec<(usize, CpuId)> = self.domains.cpus(domain).map(|cpu| (on(cpu), cpu)).collect();
            (cpus.iter().map(|(threads, _)| threads).sum::<usize>(), cpus)
        };
        let ((here, own), (there, mut open)) = (crowd(from), crowd(to));
        let left = here.checked_sub(count).filter(|_| here > own.len() && count <= open.len())?;
        open.sort_unstable();
        let evens = (there + count) * own.len() <= left * open.len();
        evens.then(|| open.into_iter().take(count).map(|(_, cpu)| cpu).collect())
    }

    /// CPUs of idle cores of a domain; with `free`, only of cores that may be taken.
    fn idle(&self, domain: DomainId, free: bool) -> Vec<CpuId> {
        let busy: BTreeSet<usize> = self
            .held
            .iter()
            .filter_map(|(cpu, _)| self.domains.seat_of(*cpu))
            .map(|seat| self.domains.seat(seat).core)
            .collect();
        let domain = self.domains.domain(domain);
        let first = self.domains.seats[domain.seats.clone()].iter().take(domain.cores);
        let open = |core: &usize| !busy.contains(core) && (!free || self.free.contains(core));
        first.filter(|seat| open(&seat.core)).map(|seat| seat.cpu).collect()
    }
}

/// Moves a thread to a CPU. The kernel may balance it among those CPUs of the domain that its owner
/// lets it use.
#[must_use]
pub fn to_domain(seen: &Observation, domains: &Domains, one: &Carried, why: &str) -> Action {
    let Carried { pid, tid, to: cpu, .. } = *one;
    let domain = domains.domain_of(cpu);
    let place = domain.map(|domain| domains.describe(domain)).unwrap_or_default();
    let thread = seen.thread(pid, tid);
    let may = |cpu: &CpuId| thread.is_none_or(|thread| thread.may_run_on(*cpu));
    let cpus = domain.map(|domain| domains.cpus(domain).filter(may).collect::<CpuSet>());
    let cpus = cpus.filter(|cpus| cpus.len() > 1 && cpus.contains(cpu));
    let verb = if one.goes() { "moves to" } else { "stays on" };
    Action::MoveThread { pid, tid, cpu, cpus, reason: format!("{verb} {place}: {why}") }
}

/// Frees a thread that was bound where it was: it may run wherever its owner lets it.
#[must_use]
pub fn freed(seen: &Observation, one: &Carried, why: &str) -> Option<Action> {
    let Carried { pid, tid, .. } = *one;
    let thread = seen.thread(pid, tid)?;
    let cpus: CpuSet = seen.machine.online().iter().filter(|cpu| thread.may_run_on(*cpu)).collect();
    Some(Action::MoveThread { pid, tid, cpu: thread.cpu?, cpus: Some(cpus), reason: format!("no longer bound: {why}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::stage::stage;
    use crate::test_kit::{observation, process, thread};

    /// Two caches of four CPUs. Three threads went from CPUs 0 to 2 to CPUs 4 to 6. The kernel has
    /// moved the first to CPU 7, and the third home to CPU 3; CPU 1 has another thread. The first
    /// two go back, the second to CPU 2, which is idle.
    #[test]
    fn what_the_kernel_moved_within_its_cache_is_taken_back_all_the_same() {
        let running = [(1, 7), (2, 5), (3, 3), (4, 1)];
        let all = running.iter().map(|(pid, cpu)| process(*pid, vec![thread(*pid, *cpu, 0.0)])).collect();
        let seen = observation("node:2 core:4", all);
        let domains = Domains::of(&seen.machine);
        let went = |pid, from, to| Carried { pid: Pid(pid), tid: Tid(pid), from: CpuId(from), to: CpuId(to) };
        let mut seats = Seats::new(&seen, &domains, &Idle::default(), 5);
        let back = seats.take_back(&[went(1, 0, 4), went(2, 1, 5), went(3, 2, 6)]);
        assert_eq!(back, [went(1, 7, 0), went(2, 5, 2)]);
    }

    /// No core is free, because none was watched for long enough. Of the two cores of the second
    /// cache, the one that a thread has just left may be taken, and the other may not.
    #[test]
    fn a_core_that_a_thread_has_just_left_may_be_taken() {
        let seen = observation("node:2 core:2", vec![process(1, vec![thread(1, 3, 0.0)])]);
        let domains = Domains::of(&seen.machine);
        let mut seats = Seats::new(&seen, &domains, &Idle::default(), 5);
        assert!(seats.idle(DomainId(1), true).is_empty());
        seats.put(&[Carried { pid: Pid(1), tid: Tid(1), from: CpuId(3), to: CpuId(0) }]);
        assert_eq!(seats.idle(DomainId(1), true), [CpuId(3)]);
    }

    /// Six threads on four CPUs, and four on another four, two of them on CPU 7. One of the six
    /// goes to CPU 5, which has none. Then both nodes have five, and no thread goes.
    #[test]
    fn one_of_a_crowd_goes_to_the_smaller_one() {
        let cpus = [0, 0, 1, 1, 2, 3, 4, 6, 7, 7];
        let one = |(pid, cpu): (u32, &u32)| process(pid, vec![thread(pid, *cpu, 20.0)]);
        let seen = observation("node:2 core:4", (1..).zip(&cpus).map(one).collect());
        let (scene, _, _) = stage(&seen, 4, &Idle::default());
        let domains = Domains::of(&seen.machine);
        let mut seats = Seats::new(&seen, &domains, &Idle::default(), 5);
        let step = |unit| Step { unit, to: 1, partner: None, pages: None, partner_pages: None };
        let went = Carried { pid: Pid(1), tid: Tid(1), from: CpuId(0), to: CpuId(5) };
        assert_eq!(seats.take(&scene, &step(0)), Some(vec![went]));
        assert_eq!(seats.take(&scene, &step(1)), None);
    }

    /// Every CPU of the first cache has a thread, so the one that is taken back shares its old CPU.
    #[test]
    fn a_full_cache_takes_back_what_left_it() {
        let mut all: Vec<_> = (0..4).map(|cpu| process(cpu + 1, vec![thread(cpu + 1, cpu, 0.0)])).collect();
        all.push(process(9, vec![thread(9, 6, 0.0)]));
        let seen = observation("node:2 core:4", all);
        let domains = Domains::of(&seen.machine);
        let one = Carried { pid: Pid(9), tid: Tid(9), from: CpuId(0), to: CpuId(6) };
        let back = Seats::new(&seen, &domains, &Idle::default(), 5).take_back(&[one]);
        assert_eq!(back, [Carried { from: CpuId(6), to: CpuId(0), ..one }]);
    }
}
