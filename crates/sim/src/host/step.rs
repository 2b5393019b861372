//! Time passes: from event to event (the end of a step, a phase, a run, a page copy) with constant rates in between. Rates are
//! found anew only after something changed, so that a steady machine costs next to nothing.

use super::SimMachine;
use super::process::{Process, Thread};
use crate::contention::{Demand, queue::LINE, solve};
use crate::program::Program;
use isobar_model::num;

/// Cycles that each thread of a process loses for each of its pages that moves, for each thread that has to flush its TLB: 11,000
/// cycles at 16 threads (design, section 6; CAMM, section 4, after Villavieja et al., PACT 2011), taken as linear.
const SHOOTDOWN_CYCLES: f64 = 11_000.0 / 16.0;
/// A thread keeps at least this part of its time, however many pages move.
const LEAST_TIME: f64 = 0.1;
/// Events nearer than this are taken together.
const INSTANT: f64 = 1e-9;

impl SimMachine {
    /// Passes time until `until`, or until every application has had its runs.
    pub(super) fn advance(&mut self, until: f64) {
        while !self.ended() && until - self.now > INSTANT {
            let step = self.workload.run.step_seconds.min(until - self.now);
            self.solve_if_changed();
            let length = self.next_event().clamp(INSTANT, step);
            self.pass(length);
            self.turn_over();
        }
    }

    fn solve_if_changed(&mut self) {
        if !self.changed && self.solution.settled {
            return;
        }
        let load = self.load();
        self.running.clear();
        let mut demands = Vec::new();
        self.state.occupancy.clear();
        for (p, process) in self.processes.iter().enumerate() {
            for (t, thread) in process.threads.iter().enumerate().filter(|(_, thread)| !thread.ended()) {
                let mates = load.get(&thread.cpu).copied().unwrap_or(1);
                demands.push(self.demand(process, t, 1.0 / f64::from(mates)));
                self.running.push((p, t));
                self.state.occupancy.push(thread.occupancy);
            }
        }
        let copy = self.copies.front().map(|copy| (copy.from, copy.to));
        self.solution = solve(&self.workload.machine, &demands, copy, &mut self.state);
        for ((p, t), held) in self.running.iter().zip(&self.state.occupancy) {
            self.processes[*p].threads[*t].occupancy = *held;
        }
        self.changed = false;
    }

    fn demand(&self, process: &Process, t: usize, share: f64) -> Demand {
        let machine = &self.workload.machine;
        let program = &self.workload.apps[process.app].program;
        let thread = &process.threads[t];
        let place = machine.places[&thread.cpu];
        let near = process.threads.iter().filter(|other| machine.places[&other.cpu].llc == place.llc);
        let siblings = num::float_len(near.filter(|other| !other.ended()).count()) - 1.0;
        Demand {
            share,
            place,
            cpi: program.base_cpi,
            curve: program.mpki.clone(),
            factor: program.phase_at(thread.offset + thread.done).0,
            mlp: program.mlp,
            write_back: program.write_back,
            footprint: private_bytes(program, num::float_len(process.threads.len())),
            reach: 1.0 + program.shared * siblings.max(0.0),
            weights: process.memory.weights(t, place.node, machine.pages.len()),
        }
    }

    /// The part of its time that a thread of a process keeps while pages of it move.
    fn kept(&self, process: &Process) -> f64 {
        let moving = self.copies.front().is_some_and(|copy| copy.pid == process.pid);
        if !moving {
            return 1.0;
        }
        let cycles = self.solution.copied * SHOOTDOWN_CYCLES * num::float_len(process.threads.len());
        (1.0 - cycles / self.workload.machine.hertz).max(LEAST_TIME)
    }

    /// Seconds until the next thread ends its run or phase, or the page copy ends.
    fn next_event(&self) -> f64 {
        let mut next = f64::INFINITY;
        for ((p, t), rate) in self.running.iter().zip(&self.solution.rates) {
            let process = &self.processes[*p];
            let thread = &process.threads[*t];
            let phase = self.workload.apps[process.app].program.phase_at(thread.offset + thread.done).1;
            next = next.min((thread.goal - thread.done).min(phase) / (rate * self.kept(process)));
        }
        match self.copies.front() {
            Some(copy) => next.min(copy.left / self.solution.copied),
            None => next,
        }
    }

    fn pass(&mut self, seconds: f64) {
        let kept: Vec<_> = self.processes.iter().map(|process| self.kept(process)).collect();
        let load = self.load();
        let running = std::mem::take(&mut self.running);
        for (i, (p, t)) in running.iter().enumerate() {
            let (rate, misses) = (self.solution.rates[i] * kept[*p], self.solution.misses[i]);
            let app = self.processes[*p].app;
            let program = &self.workload.apps[app].program;
            let thread = &mut self.processes[*p].threads[*t];
            let share = 1.0 / f64::from(load.get(&thread.cpu).copied().unwrap_or(1).max(1));
            let before = program.phase_at(thread.offset + thread.done).0;
            count(thread, program, rate * seconds, misses, seconds * share, self.workload.machine.hertz);
            let phase_ended = program.phase_at(thread.offset + thread.done).0.total_cmp(&before).is_ne();
            self.changed |= phase_ended || thread.ended();
        }
        self.running = running;
        self.copy_pages(seconds);
        self.now += seconds;
    }

    fn copy_pages(&mut self, seconds: f64) {
        let copied = self.solution.copied * seconds;
        let Some(copy) = self.copies.front_mut() else { return };
        let before = num::round(copy.left.ceil());
        copy.left -= copied;
        // Less than a thousandth of a page is rounding.
        let after = if copy.left < 1e-3 { 0 } else { num::round(copy.left.ceil()) };
        let (pid, thread, select, from, to) = (copy.pid, copy.thread, copy.select, copy.from, copy.to);
        if let Some(process) = self.processes.iter_mut().find(|process| process.pid == pid) {
            let moved = process.memory.migrate(thread, select, from, to, before - after);
            self.totals[process.app].pages_moved += moved;
        }
        if after == 0 {
            self.copies.pop_front();
        }
        self.changed = true;
    }

    /// Ends what has ended, restarts it unless all is over, and touches memory.
    fn turn_over(&mut self) {
        let ended: Vec<_> = (0..self.processes.len()).filter(|p| self.processes[*p].ended()).collect();
        for p in ended {
            let (app, start, pid) = (self.processes[p].app, self.processes[p].start, self.processes[p].pid);
            self.totals[app].completions.push(self.now - start);
            self.copies.retain(|copy| copy.pid != pid);
            if !self.ended() {
                self.restart(p, app);
            }
        }
        let growing = |process: &Process| self.workload.apps[process.app].program.touch_share > process.progress();
        let growing: Vec<_> = (0..self.processes.len()).filter(|p| growing(&self.processes[*p])).collect();
        self.changed |= !growing.is_empty();
        growing.into_iter().for_each(|p| self.touch(p));
        if self.changed {
            self.balance();
        }
    }
}

/// The most that one thread can hold in a cache: what it accesses.
fn private_bytes(program: &Program, threads: f64) -> f64 {
    program.footprint_mib * 1_048_576.0 * (program.shared + (1.0 - program.shared) / threads)
}

fn count(thread: &mut Thread, program: &Program, instructions: f64, misses: f64, cpu_seconds: f64, hertz: f64) {
    let left = thread.goal - thread.done;
    // A run ends at its last instruction: what is left after rounding, less than one in 10^9, is done too.
    thread.done = if left - instructions <= 1e-9 * thread.goal { thread.goal } else { thread.done + instructions };
    thread.misses += instructions * misses;
    thread.bytes += instructions * misses * LINE * (1.0 + program.write_back);
    thread.cycles += cpu_seconds * hertz;
    thread.cpu_seconds += cpu_seconds;
}
