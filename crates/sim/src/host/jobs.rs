//! Jobs whose processes wait for each other. Every thread of every process of a job executes its
//! instructions up to the next barrier, and waits there, on its CPU, until the last thread has
//! arrived. MPI and OpenMP wait in this way unless configured otherwise: they spin. A job ends at
//! its last barrier, with all of its processes. No thread passes a barrier before all have arrived.
//!
//! **What waiting costs.** A waiting thread burns its CPU and executes the instructions of a spin
//! loop, which counters count, and misses no cache.
//!
//! **What waiting spares the others.** A waiting thread requests nothing from caches and memory.
//! Barriers are close together, mostly closer than a step, so the contention problem is not set up
//! again at each arrival. Instead a thread competes with the fraction of its time in which it
//! works. The fraction is measured between the last two barriers. It is averaged with the fraction
//! used before, so that it settles, and it stays unchanged if it would differ by at most a
//! hundredth. While a thread works, it is as fast as the solution with these fractions allows.
//! Arrivals themselves are exact.

use super::SimMachine;
use super::gate::Gate;
use super::process::{Process, Thread};
use crate::workload::Workload;
use isobar_model::num;
use std::collections::BTreeMap;

/// A change of the working fraction up to this is not worth a new fixed point.
const SETTLED: f64 = 0.01;
/// The least fraction of its time with which a thread competes.
const LEAST: f64 = 0.01;
/// Instructions per cycle of a spin loop: load, compare, branch and a pause (estimate).
const SPIN_IPC: f64 = 1.0;
/// The most barriers of one run; more make no difference.
const MOST_BARRIERS: f64 = 1e6;
/// A barrier counts as reached when this fraction of the distance is left, because of rounding.
const REACHED: f64 = 1e-9;

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Job {
    /// Its processes, by position.
    members: Vec<usize>,
    /// Number of barriers of each process, including the end.
    barriers: u32,
    /// When all threads last passed a barrier.
    since: f64,
}

/// What a thread executed in some seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Progress {
    pub instructions: f64,
    /// Instructions executed while waiting.
    pub spun: f64,
}

/// The jobs of a workload.
pub(super) fn jobs(workload: &Workload) -> Vec<Job> {
    let mut jobs: BTreeMap<&str, Job> = BTreeMap::new();
    for (position, app) in workload.apps.iter().enumerate() {
        let Some(job) = &app.job else { continue };
        let of_thread = app.program.instructions_billion * workload.run.instructions_factor / f64::from(app.threads);
        let barriers = num::round((of_thread / job.barrier_billion).clamp(1.0, MOST_BARRIERS));
        let entry = jobs.entry(&job.name).or_insert(Job { members: Vec::new(), barriers: 1, since: 0.0 });
        entry.members.push(position);
        entry.barriers = entry.barriers.max(u32::try_from(barriers).unwrap_or(u32::MAX));
    }
    jobs.into_values().collect()
}

impl Thread {
    /// Instructions to the next barrier; `None` if it waits for no other thread.
    pub fn to_barrier(&self) -> Option<f64> {
        self.gate.map(|gate| (gate.at(self.goal) - self.done).max(0.0))
    }

    /// Whether it has reached a barrier at which others have not arrived.
    pub fn waits(&self) -> bool {
        let way = |gate: Gate| self.goal * REACHED / f64::from(gate.last);
        self.gate.zip(self.to_barrier()).is_some_and(|(gate, left)| left <= way(gate))
    }

    /// The fraction of its time in which it competes with others.
    pub fn busy(&self) -> f64 {
        self.gate.map_or(1.0, |gate| gate.busy)
    }

    /// Works for some seconds at `rate` instructions per second, as far as the next barrier, and
    /// spins for the rest of the time at `hertz` cycles per second.
    pub fn work(&mut self, seconds: f64, rate: f64, hertz: f64) -> Progress {
        let waits = self.waits();
        let Some((left, gate)) = self.to_barrier().zip(self.gate.as_mut()) else {
            return Progress { instructions: rate * seconds, spun: 0.0 };
        };
        let wanted = rate * seconds;
        let instructions = if waits { 0.0 } else { wanted.min(left) };
        let working = if wanted > 0.0 { seconds * instructions / wanted } else { 0.0 };
        gate.worked += working;
        Progress { instructions, spun: (seconds - working).max(0.0) * hertz * SPIN_IPC }
    }
}

impl Process {
    /// Puts its threads before the first barrier of their job.
    pub fn join(&mut self, job: &Job) {
        let gate = Gate { number: 1, last: job.barriers, busy: 1.0, worked: 0.0 };
        self.threads.iter_mut().for_each(|thread| thread.gate = Some(gate));
    }
}

impl SimMachine {
    /// The job of the process at a position.
    pub(super) fn job_of(&self, process: usize) -> Option<usize> {
        self.jobs.iter().position(|job| job.members.contains(&process))
    }

    /// Seconds until every thread of some job has reached its barrier, given the instructions per
    /// second of each runner. A thread that has another event first is left out.
    pub(super) fn next_barrier(&self, rate: impl Fn(usize) -> f64) -> f64 {
        let mut last = vec![0.0_f64; self.jobs.len()];
        for (i, runner) in self.running.iter().enumerate() {
            let thread = &self.processes[runner.process].threads[runner.thread];
            let (Some(job), Some(left)) = (self.job_of(runner.process), thread.to_barrier()) else { continue };
            if !thread.waits() && left <= runner.phase_left {
                last[job] = last[job].max(left / rate(i));
            }
        }
        last.into_iter().filter(|seconds| *seconds > 0.0).fold(f64::INFINITY, f64::min)
    }

    /// Lets every job continue whose threads have all reached their barrier. At the last barrier
    /// its threads have ended.
    pub(super) fn open_barriers(&mut self) {
        let mut jobs = std::mem::take(&mut self.jobs);
        for job in &mut jobs {
            let threads = |p: &usize| self.processes[*p].threads.iter();
            let there = job.members.iter().flat_map(threads).filter(|thread| thread.gate.is_some());
            let all = there.clone().count() > 0 && there.clone().all(Thread::waits);
            if !all {
                continue;
            }
            let seconds = self.now - std::mem::replace(&mut job.since, self.now);
            for p in &job.members {
                for thread in &mut self.processes[*p].threads {
                    self.changed |= go_on(thread, seconds);
                }
            }
        }
        self.jobs = jobs;
    }
}

/// Lets a thread pass its barrier, `seconds` after the one before. Returns whether the thread
/// competes differently from now on.
fn go_on(thread: &mut Thread, seconds: f64) -> bool {
    let Some(gate) = &mut thread.gate else { return false };
    if gate.number >= gate.last {
        thread.gate = None;
        return true;
    }
    gate.number += 1;
    let worked = std::mem::take(&mut gate.worked);
    let part = if seconds > 0.0 { (worked / seconds).clamp(LEAST, 1.0) } else { 1.0 };
    let change = (part - gate.busy).abs() > SETTLED;
    if change {
        gate.busy = f64::midpoint(part, gate.busy);
    }
    change
}

#[cfg(test)]
mod tests;
