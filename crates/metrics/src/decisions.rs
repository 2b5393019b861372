//! Decisions of a policy and their outcomes, as counters over the run.

use crate::errno;
use crate::family::{Families, label, named};
use crate::histogram::Histogram;
use isobar_model::{Action, ActionOutcome, Outcome, PageMove, Plan};
use std::collections::BTreeMap;

/// Bounds of the histograms of the speed after a change divided by the speed before: 1 is as fast
/// as before.
const SPEEDUPS: &[f64] = &[0.5, 0.8, 0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0];

/// Counts over a run.
#[derive(Clone, Debug)]
pub struct Decisions {
    actions: BTreeMap<(&'static str, &'static str), u64>,
    refusals: BTreeMap<Option<i32>, u64>,
    threads_moved: u64,
    pages_moved: u64,
    pages_stayed: u64,
    changes: BTreeMap<&'static str, u64>,
    predicted: Histogram,
    measured: Histogram,
}

impl Default for Decisions {
    fn default() -> Self {
        let none = |results: &[&'static str]| results.iter().map(|result| (*result, 0)).collect();
        Self {
            actions: BTreeMap::new(),
            refusals: BTreeMap::new(),
            threads_moved: 0,
            pages_moved: 0,
            pages_stayed: 0,
            changes: none(&["kept", "taken_back"]),
            predicted: Histogram::new(SPEEDUPS),
            measured: Histogram::new(SPEEDUPS),
        }
    }
}

impl Decisions {
    /// Counts a plan and its outcome. In a dry run its actions count as planned only, and measured
    /// effects are ignored.
    pub fn take(&mut self, plan: &Plan, outcome: Option<&Outcome>, page_moves: &[PageMove]) {
        plan.predictions.iter().for_each(|prediction| self.predicted.observe(speedup(prediction.gain)));
        page_moves.iter().filter(|flight| flight.ended).for_each(|flight| self.count_pages(&flight.outcome));
        let Some(outcome) = outcome else {
            plan.actions.iter().for_each(|action| self.count(kind(action), "planned"));
            return;
        };
        for (action, became) in plan.actions.iter().zip(&outcome.actions) {
            self.count(kind(action), result(became));
            self.count_pages(became);
            if matches!((action, became), (Action::MoveThread { .. }, ActionOutcome::Done)) {
                self.threads_moved += 1;
            }
            if let ActionOutcome::Refused { errno, .. } = became {
                *self.refusals.entry(*errno).or_default() += 1;
            }
        }
        for effect in &plan.effects {
            *self.changes.entry(if effect.kept { "kept" } else { "taken_back" }).or_default() += 1;
            self.measured.observe(speedup(effect.measured));
        }
    }

    fn count(&mut self, kind: &'static str, result: &'static str) {
        *self.actions.entry((kind, result)).or_default() += 1;
    }

    fn count_pages(&mut self, outcome: &ActionOutcome) {
        let (moved, stayed) = match outcome {
            ActionOutcome::Pages { moved, stayed } => (moved.0, stayed),
            ActionOutcome::Queued { stayed, .. } => (0, stayed),
            _ => return,
        };
        self.pages_moved += moved;
        self.pages_stayed += stayed.iter().map(|(_, pages)| pages.0).sum::<u64>();
    }

    /// Adds the families of these counters.
    pub fn families(&self, all: &mut Families) {
        let actions = self
            .actions
            .iter()
            .map(|((kind, result), count)| (vec![label("kind", kind), label("result", result)], *count));
        all.counter(named("actions", "", "Actions by kind and by result"), actions);
        let refusals = self.refusals.iter().map(|(errno, count)| (vec![label("errno", errno::name(*errno))], *count));
        let help = "Actions that were refused, by the kernel's error; \"none\" if isobar did not ask the kernel";
        all.counter(named("action_refusals", "", help), refusals);
        let mut count = |named, count| all.counter(named, [(Vec::new(), count)]);
        count(named("threads_moved", "", "Threads that were moved"), self.threads_moved);
        count(named("pages_moved", "", "Pages that were migrated"), self.pages_moved);
        count(named("pages_stayed", "", "Pages that should have been migrated but stayed"), self.pages_stayed);
        count(named("changes_predicted", "", "Changes whose gain was predicted"), self.predicted.count());
        let changes = self.changes.iter().map(|(result, count)| (vec![label("result", result)], *count));
        all.counter(named("changes_measured", "", "Changes whose gain was measured: kept, or taken back"), changes);
        let help = "Predicted speed after a change divided by speed before, summed over all programs: 1 + gain";
        all.histogram(named("change_predicted_speedup", "ratio", help), &self.predicted);
        let help = "Measured speed after a change divided by speed before, summed over all programs: 1 + gain";
        all.histogram(named("change_measured_speedup", "ratio", help), &self.measured);
    }
}

/// Speeds are not negative, so the histogram's sum is a counter.
fn speedup(gain: f64) -> f64 {
    (1.0 + gain).max(0.0)
}

const fn kind(action: &Action) -> &'static str {
    match action {
        Action::MoveThread { .. } => "move_thread",
        Action::MigratePages { .. } => "migrate_pages",
        Action::WithdrawPages { .. } => "withdraw_pages",
        Action::SetWays { .. } => "set_ways",
        Action::SetAllocation { .. } => "set_allocation",
    }
}

fn result(outcome: &ActionOutcome) -> &'static str {
    match outcome {
        ActionOutcome::Done => "done",
        ActionOutcome::Pages { stayed, .. } if stayed.is_empty() => "done",
        ActionOutcome::Pages { .. } => "partly_done",
        ActionOutcome::Queued { .. } => "under_way",
        ActionOutcome::Vanished => "vanished",
        ActionOutcome::Refused { .. } => "refused",
        ActionOutcome::LeftAlone { .. } => "left_alone",
    }
}
