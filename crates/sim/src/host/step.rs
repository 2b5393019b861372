//! Advances time from event to event (the end of a step, a phase, a run, a page copy), with
//! constant rates in between. Rates are computed again only after something changed: a phase only
//! changes a factor; anything else sets up the contention problem again.

use super::SimMachine;
use super::jobs::Progress;
use super::process::{Process, Thread};
use crate::error::SimError;
use crate::program::Program;
use isobar_contention::{Budget, Demand, LINE, NoAnswer, PageCopy, Question};
use isobar_model::{CpuId, num};
use std::collections::BTreeMap;

/// Cycles that each thread of a process loses per moved page and per thread that has to flush its
/// TLB: 11,000 cycles at 16 threads (CAMM, section 4, after Villavieja et al., PACT 2011), taken as
/// linear.
const SHOOTDOWN_CYCLES: f64 = 11_000.0 / 16.0;
/// The least fraction of its time that a thread keeps, however many pages move.
const LEAST_TIME: f64 = 0.1;
/// Events closer than this, in seconds, are taken together.
const INSTANT: f64 = 1e-9;
/// Round robin: threads of one CPU take turns of this many seconds (`sched_min_granularity` of CFS,
/// 0.75 ms, times 1 + log2 of 8 CPUs or more: `kernel/sched/fair.c`, `tunable scaling`).
const SLICE: f64 = 3e-3;
/// Seconds that a switch between them costs without its cold cache (Li, Ding, Shen: Quantifying the
/// cost of context switch, ExpCS 2007: 3.8 us). The model already includes the cold cache
/// afterwards: a waiting thread inserts nothing, and its lines age.
const SWITCH: f64 = 3.8e-6;
/// The fraction of its turns that a thread of a shared CPU loses to switches.
pub(crate) const SWITCHED: f64 = SWITCH / (SLICE + SWITCH);

/// A running thread, and the distance to its next event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runner {
    /// Process and thread by position.
    pub process: usize,
    pub thread: usize,
    /// The fraction of its CPU that it gets.
    pub share: f64,
    /// Instructions to the end of its phase.
    pub phase_left: f64,
    /// LLC lookups per instruction in this phase.
    looks: f64,
}

impl SimMachine {
    /// Advances time to `until`, or until every application has had its runs.
    pub(super) fn advance(&mut self, until: f64) -> Result<(), SimError> {
        while !self.ended() && until - self.now > INSTANT {
            self.step_by(self.workload.run.step_seconds.min(until - self.now))?;
        }
        Ok(())
    }

    /// Advances time to the next event, by at most `seconds`.
    pub(super) fn step_by(&mut self, seconds: f64) -> Result<(), SimError> {
        self.solve().map_err(|source| SimError::NoAnswer { when: format!("at {:.3} s", self.now), source })?;
        let length = self.next_event().clamp(INSTANT, seconds.max(INSTANT));
        self.pass(length);
        self.turn_over();
        Ok(())
    }

    /// Computes the rates again if something changed.
    fn solve(&mut self) -> Result<(), NoAnswer> {
        if self.changed {
            self.compete()?;
        } else if !self.stirred {
            return Ok(());
        }
        let answer = self.solver.settle(Budget::default())?;
        for (runner, held) in self.running.iter().zip(&answer.held) {
            self.processes[runner.process].threads[runner.thread].occupancy = *held;
        }
        (self.changed, self.stirred) = (false, false);
        Ok(())
    }

    /// Sets up the contention problem.
    fn compete(&mut self) -> Result<(), NoAnswer> {
        let load = self.load();
        let busy = self.busy(&load);
        let rotation = self.rotation(&load);
        self.strays.possible = self.may_stray(&load);
        self.running.clear();
        let mut demands = Vec::new();
        for (p, process) in self.processes.iter().enumerate() {
            for (t, thread) in process.threads.iter().enumerate().filter(|(_, thread)| !thread.ended()) {
                let mates = load.get(&thread.cpu).copied().unwrap_or(1);
                let program = &self.workload.apps[process.app].program;
                let (factor, phase_left) = program.phase_at(thread.offset + thread.done);
                let share = rotation.share(thread, mates);
                let lost = if share < 1.0 { SWITCHED } else { 0.0 };
                demands.push(self.demand(process, t, (factor, share * (1.0 - lost) * thread.busy()), &busy));
                let looks = program.looks(factor);
                self.running.push(Runner { process: p, thread: t, share, phase_left, looks });
            }
        }
        let copy = self.copies.active().map(|copy| PageCopy { from: copy.from, to: copy.to });
        self.solver.pose(&Question { machine: &self.workload.machine.memory, threads: &demands, copy })
    }

    /// How many CPUs of a CPU's core have something to run, by CPU.
    fn busy(&self, load: &BTreeMap<CpuId, u32>) -> BTreeMap<CpuId, u32> {
        let cpus = self.workload.machine.topology.cpus();
        let mut by_core = BTreeMap::new();
        let runs = |cpu: CpuId| u32::from(load.get(&cpu).is_some_and(|count| *count > 0));
        cpus.iter().for_each(|cpu| *by_core.entry(cpu.core).or_insert(0) += runs(cpu.id));
        cpus.iter().map(|cpu| (cpu.id, by_core.get(&cpu.core).copied().unwrap_or(1))).collect()
    }

    fn demand(&self, process: &Process, t: usize, (factor, share): (f64, f64), busy: &BTreeMap<CpuId, u32>) -> Demand {
        let machine = &self.workload.machine;
        let program = &self.workload.apps[process.app].program;
        let thread = &process.threads[t];
        let place = machine.places[&thread.cpu];
        let near = process.threads.iter().filter(|other| machine.places[&other.cpu].llc == place.llc);
        let siblings = num::float_len(near.filter(|other| !other.ended()).count()) - 1.0;
        let crowding = machine.smt.crowding(busy.get(&thread.cpu).copied().unwrap_or(1));
        let part = self.clusters.part(machine.memory.llcs()[place.llc], place.llc, thread.tid);
        Demand {
            share,
            place,
            mask: part.mask,
            compute: program.base_cpi * crowding / machine.hertz,
            curve: program.mpki.clone(),
            factor,
            mlp: program.mlp,
            prefetch: program.prefetch,
            write_back: program.write_back,
            footprint: private_bytes(program, num::float_len(process.threads.len())),
            reach: 1.0 + program.shared * siblings.max(0.0),
            weights: process.memory.weights(t, place.node, machine.pages.len()),
            delay: isobar_contention::delay(part.percent, machine.memory.latency()[place.node][place.node]),
            held: thread.occupancy,
        }
    }

    /// The fraction of its time that a thread of a process keeps while pages of the process move.
    fn kept(&self, process: &Process) -> f64 {
        let moving = self.copies.active().is_some_and(|copy| copy.pid == process.pid);
        if !moving || !self.workload.run.costs.shootdowns {
            return 1.0;
        }
        let cycles = self.solver.answer().copied * SHOOTDOWN_CYCLES * num::float_len(process.threads.len());
        (1.0 - cycles / self.workload.machine.hertz).max(LEAST_TIME)
    }

    /// Instructions per second of a runner while it works.
    fn pace(&self, i: usize) -> f64 {
        let process = &self.processes[self.running[i].process];
        self.solver.answer().rates[i] * self.kept(process) / process.threads[self.running[i].thread].busy()
    }

    /// Seconds until the next thread ends its run or phase, or the page copy ends.
    fn next_event(&self) -> f64 {
        let mut next = self.next_look().min(self.next_barrier(|i| self.pace(i)));
        for (i, runner) in self.running.iter().enumerate() {
            let thread = &self.processes[runner.process].threads[runner.thread];
            let to_end = thread.to_barrier().map_or(thread.goal - thread.done, |_| f64::INFINITY);
            if !thread.waits() && runner.phase_left.min(to_end) < thread.to_barrier().unwrap_or(f64::INFINITY) {
                next = next.min(runner.phase_left.min(to_end) / self.pace(i));
            }
        }
        match self.copies.active() {
            Some(copy) => next.min(copy.left / self.solver.answer().copied),
            None => next,
        }
    }

    fn pass(&mut self, seconds: f64) {
        let mut running = std::mem::take(&mut self.running);
        for (i, runner) in running.iter_mut().enumerate() {
            let pace = self.solver.answer().rates[i] * self.kept(&self.processes[runner.process]);
            let process = &mut self.processes[runner.process];
            let program = &self.workload.apps[process.app].program;
            let thread = &mut process.threads[runner.thread];
            let working = thread.pay(seconds);
            let hertz = self.workload.machine.hertz * runner.share;
            let Progress { instructions, spun } = thread.work(working, pace / thread.busy(), hertz);
            thread.spun += spun;
            let each = (self.solver.answer().misses[i], runner.looks);
            count(thread, program, instructions, each, (seconds * runner.share, self.workload.machine.hertz));
            self.changed |= thread.ended();
            runner.phase_left -= instructions;
            // As near to the end of the phase as rounding allows.
            let at = thread.offset + thread.done;
            if runner.phase_left <= 1e-12 * at {
                let (factor, left) = program.phase_at(at);
                (runner.phase_left, runner.looks) = (left, program.looks(factor));
                self.solver.set_factor(i, factor);
                self.stirred = true;
            }
        }
        self.running = running;
        self.copy_pages(seconds);
        self.now += seconds;
        self.balance_memory(seconds);
    }

    /// Ends runs that are complete, restarts them unless all is over, and touches memory.
    fn turn_over(&mut self) {
        self.open_barriers();
        self.stray();
        for p in 0..self.processes.len() {
            if self.processes[p].gone {
                continue;
            }
            if self.processes[p].ended() {
                self.end(p);
            }
            let process = &self.processes[p];
            let touching = self.workload.apps[process.app].program.touch_share;
            if touching > 0.0 && touching > process.progress() {
                self.changed = true;
                self.touch(p);
            }
        }
        if self.changed {
            self.balance();
        }
    }

    fn end(&mut self, p: usize) {
        let process = &self.processes[p];
        let (app, pid) = (process.app, process.pid);
        self.totals[app].completions.push(self.now - process.start);
        self.copies.forget(pid);
        self.clusters.forget(|tid| process.threads.iter().any(|thread| thread.tid == tid));
        let enough = self.totals[app].completions.len() >= num::index(self.workload.run.runs);
        if enough && !self.workload.run.restart {
            self.processes[p].gone = true;
            self.processes[p].memory.free();
            self.changed = true;
        } else if !self.ended() {
            self.restart(p, app);
        }
    }
}

/// The most bytes that one thread can hold in a cache: the memory that it accesses.
pub(crate) fn private_bytes(program: &Program, threads: f64) -> f64 {
    program.footprint_mib * 1_048_576.0 * (program.shared + (1.0 - program.shared) / threads)
}

/// Counts instructions that executed on a CPU for some seconds, with the LLC misses and lookups of
/// each.
fn count(
    thread: &mut Thread,
    program: &Program,
    instructions: f64,
    (misses, looks): (f64, f64),
    (cpu_seconds, hertz): (f64, f64),
) {
    let left = thread.goal - thread.done;
    // A run ends at its last instruction: what is left after rounding, less than one in 10^9,
    // counts as done.
    thread.done = if left - instructions <= 1e-9 * thread.goal { thread.goal } else { thread.done + instructions };
    thread.misses += instructions * misses;
    thread.looks += instructions * looks.max(misses);
    thread.bytes += instructions * misses * LINE * program.lines_per_miss();
    thread.cycles += cpu_seconds * hertz;
    thread.cpu_seconds += cpu_seconds;
}
