//! From changes to threads on CPUs: who gets which seat. A program that exchanges places takes the
//! CPUs of its partner, one that goes alone idle cores.

use super::idle::{Idle, runs};
use super::scene::Scene;
use super::step::Step;
use crate::kit::domains::{DomainId, Domains};
use isobar_model::{CpuId, Observation, Pid, Tid};
use std::collections::BTreeSet;

/// A thread that goes from a CPU to another.
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

/// The seats of an epoch, as changes take them.
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
    /// As they are.
    #[must_use]
    pub fn new(seen: &'a Observation, domains: &'a Domains, idle: &Idle, epochs: u32) -> Self {
        let running = seen.threads().filter(|(_, thread)| runs(thread, seen.interval.0));
        let held = running.filter_map(|(_, thread)| Some((thread.cpu?, thread.tid))).collect();
        let free = (0..domains.core_count()).filter(|core| idle.is_free(*core, epochs)).collect();
        Self { seen, domains, held, free }
    }

    /// Takes the seats for a change; `None`, and nothing changes, where there are not enough.
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
            let idle = self.idle(DomainId(step.to), true);
            if idle.len() < own.len() {
                return None;
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

    /// Takes threads back to where they were, as far as there is a seat: their own where it is idle
    /// or about to be left, else another of its domain.
    pub fn take_back(&mut self, carried: &[Carried]) -> Vec<Carried> {
        let here = |one: &&Carried| self.held.iter().any(|(cpu, tid)| *tid == one.tid && *cpu == one.to);
        let back: Vec<Carried> = carried
            .iter()
            .filter(here)
            .map(|one| Carried { pid: one.pid, tid: one.tid, from: one.to, to: one.from })
            .collect();
        let leaving: BTreeSet<Tid> = back.iter().map(|one| one.tid).collect();
        self.held.retain(|(_, tid)| !leaving.contains(tid));
        let mut done = Vec::new();
        for mut one in back {
            if self.held.iter().any(|(cpu, _)| *cpu == one.to) {
                let domain = self.domains.seat_of(one.to).map(|seat| self.domains.seat(seat).domain);
                one.to = domain.and_then(|domain| self.idle(domain, false).first().copied()).unwrap_or(one.from);
            }
            self.held.push((one.to, one.tid));
            done.extend((one.to != one.from).then_some(one));
        }
        done
    }

    fn put(&mut self, carried: &[Carried]) {
        for one in carried {
            self.held.iter_mut().filter(|(_, tid)| *tid == one.tid).for_each(|(cpu, _)| *cpu = one.to);
        }
    }

    /// Running threads of a unit with their CPUs.
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

    /// CPUs of idle cores of a domain; `free`: of those only that may be taken.
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
