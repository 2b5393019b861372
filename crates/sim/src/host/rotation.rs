//! Rotation on crowded CPUs. Threads of one CPU share it evenly. If a cache has more threads than
//! CPUs, some CPUs have one thread more than others, and the kernel's load balancer moves threads
//! from the fuller to the emptier ones. A busy CPU looks every 64 ms (`SD_MC_INIT` and
//! `SD_CPU_INIT` of Linux 2.6.29: `min_interval` 1 ms, `busy_factor` 64), and `fix_small_imbalance`
//! moves one thread although the difference is less than one. After each move the roles are
//! exchanged, so the threads rotate, and each gets the same fraction of the CPUs.
//!
//! 64 ms are less than any interval at which a policy decides, so the turns are not simulated one
//! by one: each thread gets its mean fraction. A thread that a plan has bound to its CPU, or to
//! fewer CPUs than its cache has, stays and does not rotate. CPUs that such threads fill are left
//! to them.
//!
//! **Small differences do not rotate**: up to a difference of 25 % (`imbalance_pct`) the kernel
//! considers loads balanced, so that with five threads on one CPU and four on the next none moves.
//! Across caches and nodes, the same 25 % of the mean over all CPUs of each keeps threads where
//! they are.
//!
//! Departure: the lines that a thread leaves in its core's private caches at each turn are not
//! charged.

use super::SimMachine;
use super::process::Thread;
use isobar_model::{CpuId, num};
use std::collections::BTreeMap;

/// `imbalance_pct`.
const IMBALANCE: f64 = 1.25;

/// The threads of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Queue {
    cpu: CpuId,
    threads: u32,
    /// The number of threads that stay there.
    bound: u32,
}

/// The fractions of a CPU that its free and its bound threads get.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    free: f64,
    bound: f64,
}

/// The fractions of CPUs that threads get, if they rotate.
#[derive(Clone, Debug, Default)]
pub(super) struct Rotation {
    by_cpu: BTreeMap<CpuId, Part>,
}

impl Rotation {
    /// The fraction of a CPU that a thread gets, on a CPU with `mates` threads including itself.
    pub fn share(&self, thread: &Thread, mates: u32) -> f64 {
        match self.by_cpu.get(&thread.cpu) {
            Some(part) if thread.stays() => part.bound,
            Some(part) => part.free,
            None => 1.0 / f64::from(mates.max(1)),
        }
    }
}

impl SimMachine {
    /// The fractions that threads get on each CPU whose threads rotate.
    pub(super) fn rotation(&self, load: &BTreeMap<CpuId, u32>) -> Rotation {
        let mut rotation = Rotation::default();
        if !self.workload.machine.linux.rotates || load.values().all(|count| *count <= 1) {
            return rotation;
        }
        let bound = self.bound();
        let mut caches: BTreeMap<usize, Vec<Queue>> = BTreeMap::new();
        for (cpu, threads) in load {
            let queue = Queue { cpu: *cpu, threads: *threads, bound: bound.get(cpu).copied().unwrap_or(0) };
            caches.entry(self.workload.machine.places[cpu].llc).or_default().push(queue);
        }
        rotation.by_cpu = caches.values().flat_map(|queues| turns(queues)).collect();
        rotation
    }

    /// Number of running threads that stay on their CPU, by CPU.
    fn bound(&self) -> BTreeMap<CpuId, u32> {
        let mut bound = BTreeMap::new();
        let running = self.processes.iter().flat_map(|process| &process.threads);
        running
            .filter(|thread| thread.stays() && !thread.ended())
            .for_each(|thread| *bound.entry(thread.cpu).or_default() += 1);
        bound
    }
}

/// The fractions that threads get on the CPUs of a cache; empty if none rotates.
fn turns(queues: &[Queue]) -> Vec<(CpuId, Part)> {
    // A CPU whose threads are all bound gives no thread away, however full it is.
    let giving = queues.iter().filter(|queue| queue.threads > queue.bound).map(|queue| queue.threads).max();
    let least = queues.iter().map(|queue| queue.threads).min();
    let moves = |(most, least): (u32, u32)| most > 1 && f64::from(most) > IMBALANCE * f64::from(least);
    if !giving.zip(least).is_some_and(moves) {
        return Vec::new();
    }
    let level = level(queues);
    let free = 1.0 / level.max(1.0);
    let part = |queue: &Queue| {
        let filled = f64::from(queue.bound) > level;
        (queue.cpu, Part { free, bound: if filled { 1.0 / f64::from(queue.bound) } else { free } })
    };
    queues.iter().map(part).collect()
}

/// Threads per CPU when the free threads make all CPUs as even as possible. CPUs with more bound
/// threads than that get no free threads.
fn level(queues: &[Queue]) -> f64 {
    let free: u32 = queues.iter().map(|queue| queue.threads - queue.bound).sum();
    let mut bound: Vec<u32> = queues.iter().map(|queue| queue.bound).collect();
    bound.sort_unstable();
    loop {
        let level = f64::from(free + bound.iter().sum::<u32>()) / num::float_len(bound.len());
        match bound.last() {
            Some(most) if f64::from(*most) > level => bound.truncate(bound.len() - 1),
            _ => return level,
        }
    }
}

#[cfg(test)]
mod tests;
