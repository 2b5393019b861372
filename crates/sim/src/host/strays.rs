//! Threads that the stock scheduler leads astray. Its load balancer, which knows nothing of memory,
//! occasionally moves a thread to another node although every CPU has one. Something short (a
//! kernel thread) loads a node for a moment, and a CPU of another node pulls a thread from it.
//! Afterwards the first node takes a thread back: either the same thread, or another, so that two
//! have changed places. Only threads that no plan has bound and no owner pinned stray; nothing
//! brings them home.
//!
//! The rate is an estimate of the machine (`[linux] strays_per_s`), derived from the rules of its
//! kernel in `docs/design/simulator.md`, for a machine whose CPUs all have a thread that can be
//! moved away. If only some of the threads can be moved, the rate falls in proportion: the kernel
//! thread comes to any CPU, and has no effect if the thread there is bound or if the node has an
//! idle CPU, which is closer. Chance comes from a separate random stream, so that a rate of 0
//! leaves every run as it was.
//!
//! Departure: the rate is the same if other nodes have idle CPUs, which look more often.

use super::SimMachine;
use super::linux::pick;
use crate::machine::CHECK;
use isobar_model::{CpuId, num};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};

/// The load balancer's looks: how many there were, and their random numbers.
#[derive(Clone, Debug)]
pub(super) struct Strays {
    rng: ChaCha8Rng,
    /// Number of looks so far.
    looks: u64,
    /// Whether there was a thread that a look can move away when rates were last computed.
    pub possible: bool,
}

/// A running thread.
#[derive(Clone, Copy, Debug)]
struct Running {
    process: usize,
    thread: usize,
    cpu: CpuId,
    node: usize,
    /// Whether a plan or its owner has bound the thread.
    bound: bool,
}

impl Strays {
    pub fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(2);
        Self { rng, looks: 0, possible: false }
    }

    fn next(&self) -> f64 {
        CHECK * (num::float(self.looks) + 1.0)
    }
}

impl SimMachine {
    /// Seconds until the load balancer looks again; infinite if there is nothing to move away.
    pub(super) fn next_look(&self) -> f64 {
        if self.strays.possible { self.strays.next() - self.now } else { f64::INFINITY }
    }

    /// Whether there is a thread that the load balancer can move away.
    pub(super) fn may_stray(&self, load: &BTreeMap<CpuId, u32>) -> bool {
        let leads = || {
            let (loose, _) = self.loose(load, &self.running_threads());
            loose.iter().any(|stray| load.keys().any(|cpu| self.workload.machine.places[cpu].node != stray.node))
        };
        self.workload.machine.linux.chance() > 0.0 && leads()
    }

    /// Makes the load balancer look as often as it should have by now.
    pub(super) fn stray(&mut self) {
        if !self.strays.possible {
            self.strays.looks = num::floor(self.now / CHECK);
            return;
        }
        // A look is an event, which the simulated time reaches up to rounding.
        while self.strays.next() - self.now <= 1e-9 {
            self.strays.looks += 1;
            self.look();
        }
    }

    /// One look. Its chance is scaled by the probability that the thread beside the kernel thread
    /// can be moved away.
    fn look(&mut self) {
        let load = self.load();
        let running = self.running_threads();
        let (loose, idle) = self.loose(&load, &running);
        let part = num::float_len(loose.len()) / num::float_len(running.len().max(load.len()));
        let chance = self.workload.machine.linux.chance() * part;
        if f64::from(self.strays.rng.next_u32()) < chance * 4_294_967_296.0 {
            self.lead_astray(&load, &running, &loose, &idle);
        }
    }

    /// Moves a thread of a full node to another node: to an idle CPU there, or to the CPU of a
    /// thread that takes its place. If that thread is bound, nothing changes, because the stray
    /// thread itself returns.
    fn lead_astray(&mut self, load: &BTreeMap<CpuId, u32>, running: &[Running], loose: &[Running], idle: &[CpuId]) {
        let Some(stray) = pick(&mut self.strays.rng, loose) else { return };
        let places = &self.workload.machine.places;
        let others: BTreeSet<_> = load.keys().map(|cpu| places[cpu].node).filter(|node| *node != stray.node).collect();
        let Some(node) = pick(&mut self.strays.rng, &others.into_iter().collect::<Vec<_>>()) else { return };
        let there: Vec<_> = idle.iter().copied().filter(|cpu| places[cpu].node == node).collect();
        let partners: Vec<_> = running.iter().copied().filter(|thread| thread.node == node).collect();
        if let Some(cpu) = pick(&mut self.strays.rng, &there) {
            self.carry(stray, cpu);
        } else if let Some(partner) = pick(&mut self.strays.rng, &partners).filter(|partner| !partner.bound) {
            self.carry(stray, partner.cpu);
            self.carry(partner, stray.cpu);
        }
    }

    /// The threads that can be moved away, which are not bound and on nodes without an idle CPU;
    /// and all idle CPUs.
    fn loose(&self, load: &BTreeMap<CpuId, u32>, running: &[Running]) -> (Vec<Running>, Vec<CpuId>) {
        let idle: Vec<_> = load.iter().filter(|(_, count)| **count == 0).map(|(cpu, _)| *cpu).collect();
        let roomy: BTreeSet<_> = idle.iter().map(|cpu| self.workload.machine.places[cpu].node).collect();
        let is_loose = |thread: &&Running| !thread.bound && !roomy.contains(&thread.node);
        (running.iter().filter(is_loose).copied().collect(), idle)
    }

    fn running_threads(&self) -> Vec<Running> {
        let mut all = Vec::new();
        for (p, process) in self.processes.iter().enumerate() {
            let running = process.threads.iter().enumerate().filter(|(_, thread)| !thread.ended());
            all.extend(running.map(|(t, thread)| {
                let node = self.workload.machine.places[&thread.cpu].node;
                Running {
                    process: p,
                    thread: t,
                    cpu: thread.cpu,
                    node,
                    bound: thread.is_bound() || thread.pinned.is_some(),
                }
            }));
        }
        all
    }

    fn carry(&mut self, thread: Running, to: CpuId) {
        self.processes[thread.process].threads[thread.thread].cpu = to;
        self.chill(thread.process, thread.thread);
        self.changed = true;
    }
}

#[cfg(test)]
mod tests;
