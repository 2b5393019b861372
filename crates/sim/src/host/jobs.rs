//! Jobs whose processes wait for each other: every thread of every process of a job executes its
//! instructions up to the next barrier, and waits there, on its CPU, until the last has come. MPI
//! and OpenMP wait so unless set otherwise: they spin. A job ends at its last barrier, with all of
//! its processes; none passes a barrier before all are there.
//!
//! **What waiting costs.** Who waits burns its CPU and executes the instructions of a spin loop,
//! which counters count, and misses no cache.
//!
//! **What waiting spares the others.** Who waits asks nothing of caches and memory. Barriers are
//! near each other, mostly nearer than a step, so the competition is not set up again at each
//! arrival: a thread competes with the part of its time in which it worked between the last two
//! barriers. That part is halfway between the last one and the one before, so that it settles, and
//! where it changes by less than a hundredth it stays. While a thread works it is as fast as the
//! competition so found lets it be. Arrivals themselves are exact.

use super::SimMachine;
use super::gate::Gate;
use super::process::{Process, Thread};
use crate::workload::Workload;
use isobar_model::num;
use std::collections::BTreeMap;

/// Changes of the part in which a thread works that are not worth a new fixed point.
const SETTLED: f64 = 0.01;
/// The least part of its time in which a thread competes.
const LEAST: f64 = 0.01;
/// Instructions a cycle of a loop that waits: load, compare, branch and a pause (estimate).
const SPIN_IPC: f64 = 1.0;
/// More barriers of one run than this make no difference.
const MOST_BARRIERS: f64 = 1e6;
/// A barrier is reached when this part of the way to it is left: rounding.
const REACHED: f64 = 1e-9;

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Job {
    /// Its processes, by position.
    members: Vec<usize>,
    /// Barriers of each process, the end included.
    barriers: u32,
    /// When all last went on.
    since: f64,
}

/// What a thread did in some seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Progress {
    pub instructions: f64,
    /// Those of waiting.
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
    /// Instructions to the next barrier; `None` where it waits for no other.
    pub fn to_barrier(&self) -> Option<f64> {
        self.gate.map(|gate| (gate.at(self.goal) - self.done).max(0.0))
    }

    /// Whether it has come to a barrier, and others have not.
    pub fn waits(&self) -> bool {
        let way = |gate: Gate| self.goal * REACHED / f64::from(gate.last);
        self.gate.zip(self.to_barrier()).is_some_and(|(gate, left)| left <= way(gate))
    }

    /// The part of its time in which it competes with others.
    pub fn busy(&self) -> f64 {
        self.gate.map_or(1.0, |gate| gate.busy)
    }

    /// Works for some seconds at a number of instructions a second, as far as the next barrier, and
    /// spins for the rest, at a number of cycles a second.
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

    /// Seconds until every thread of some job has come to its barrier, at the given instructions a
    /// second of each runner; a thread that has another event first is left out.
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

    /// Lets every job go on whose threads have all come to their barrier; at the last one its
    /// threads have ended.
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

/// Lets a thread pass its barrier, `seconds` after the one before; whether it competes otherwise
/// than until now.
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
