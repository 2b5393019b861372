//! A policy wrapper that records moves and predictions.

#![allow(clippy::unwrap_used)]

use isobar_model::{Action, Observation, Outcome, Pid, Plan, Policy, Prediction, Sensor, num};
use std::collections::{BTreeMap, BTreeSet};

/// The record of a policy's actions.
#[derive(Default)]
pub struct Noted {
    /// The times at which threads of each process were moved. Binding a thread where it runs is not
    /// a move.
    pub moves: BTreeMap<Pid, Vec<f64>>,
    /// For each trial, the predicted and the measured gain over all programs, in per cent, and the
    /// number of programs that were changed.
    pub trials: Vec<(f64, f64, f64)>,
    /// Number of trials that were taken back.
    pub taken_back: usize,
}

impl Noted {
    /// The largest number of moves of one process within an hour.
    pub fn most_in_an_hour(&self) -> usize {
        let within =
            |times: &Vec<f64>, from: f64| times.iter().filter(|at| (from..from + 3600.0).contains(*at)).count();
        self.moves.values().flat_map(|times| times.iter().map(|from| within(times, *from))).max().unwrap_or(0)
    }

    /// The error of each prediction, in per cent of the speed of a program that was changed;
    /// ascending.
    pub fn errors(&self) -> Vec<f64> {
        let mut errors: Vec<f64> = self.trials.iter().map(|(is, was, programs)| (is - was).abs() / programs).collect();
        errors.sort_by(f64::total_cmp);
        errors
    }
}

/// The policy and its record.
pub struct Watched {
    pub inner: Box<dyn Policy>,
    pub noted: Noted,
    /// Number of programs that each change affects.
    begun: BTreeMap<u64, f64>,
}

impl Watched {
    pub fn new(inner: Box<dyn Policy>) -> Self {
        Self { inner, noted: Noted::default(), begun: BTreeMap::new() }
    }
}

impl Policy for Watched {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn needs(&self) -> &'static [Sensor] {
        self.inner.needs()
    }

    fn uses(&self) -> &'static [Sensor] {
        self.inner.uses()
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let plan = self.inner.decide(seen);
        let moved: BTreeSet<Pid> = plan
            .actions
            .iter()
            .filter_map(|action| match action {
                Action::MoveThread { pid, tid, cpu, .. } => {
                    seen.thread(*pid, *tid).is_none_or(|thread| thread.cpu != Some(*cpu)).then_some(*pid)
                }
                _ => None,
            })
            .collect();
        moved.into_iter().for_each(|pid| self.noted.moves.entry(pid).or_default().push(seen.time.0));
        self.begun.extend(plan.predictions.iter().map(|one| (one.change, num::float_len(changed(&plan, one, seen)))));
        for effect in &plan.effects {
            let programs = self.begun[&effect.change].max(1.0);
            self.noted.trials.push((100.0 * effect.predicted, 100.0 * effect.measured, programs));
            self.noted.taken_back += usize::from(!effect.kept);
        }
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.inner.applied(plan, outcome);
    }
}

/// The number of programs that the actions of a prediction change.
fn changed(plan: &Plan, prediction: &Prediction, seen: &Observation) -> usize {
    let mut pids = BTreeSet::new();
    for action in prediction.actions.iter().map(|index| &plan.actions[*index]) {
        match action {
            Action::MoveThread { pid, .. } | Action::MigratePages { pid, .. } => drop(pids.insert(*pid)),
            Action::SetWays { threads, .. } => {
                let own = seen.threads().filter(|(_, thread)| threads.contains(&thread.tid));
                pids.extend(own.map(|(process, _)| process.pid));
            }
            _ => {}
        }
    }
    pids.len()
}
