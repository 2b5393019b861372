//! Counts over a whole run. This module knows plans and outcomes, and prints nothing.

use isobar_model::plan::{Action, Plan};
use isobar_model::{ActionOutcome, Outcome, PageMove, Pages, Seconds};
use std::collections::BTreeMap;

/// What the kernel refused, by error number (`None` = refused before the kernel was asked): how
/// often, and the first explanation with its remedy.
pub type Refusals = BTreeMap<Option<i32>, (u64, String)>;

/// Counts over a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Decisions made.
    pub epochs: u64,
    /// Time of the machine over all epochs.
    pub time: Seconds,
    /// CPU time that the tool itself used meanwhile; `None` if it does not count (a simulated
    /// machine).
    pub own_cpu: Option<Seconds>,
    /// Actions decided.
    pub planned: u64,
    /// Threads moved.
    pub moves: u64,
    /// Pages moved. Pages of a migration under way are counted when it ends.
    pub pages: Pages,
    /// Other actions done.
    pub others: u64,
    /// Actions whose thread, process or page was gone.
    pub vanished: u64,
    /// Actions that were deliberately not carried out, by reason.
    pub left_alone: BTreeMap<String, u64>,
    /// Pages that were to move but stayed, by reason.
    pub stayed: BTreeMap<String, u64>,
    /// Refusals.
    pub refused: Refusals,
    /// The outcome of putting everything back; `None` if nothing was to be changed.
    pub restored: Option<Outcome>,
    /// Whether a signal ended the run.
    pub interrupted: bool,
    /// Whether the workload ended the run.
    pub ended: bool,
}

impl Tally {
    /// Counts one epoch.
    pub fn add(&mut self, plan: &Plan, outcome: Option<&Outcome>) {
        self.epochs += 1;
        self.planned += u64::try_from(plan.actions.len()).unwrap_or(u64::MAX);
        let outcomes = outcome.map_or(&[][..], |outcome| &outcome.actions);
        for (action, outcome) in plan.actions.iter().zip(outcomes) {
            match outcome {
                ActionOutcome::Done if matches!(action, Action::MoveThread { .. }) => self.moves += 1,
                ActionOutcome::Done => self.others += 1,
                _ => self.count(outcome),
            }
        }
    }

    /// Counts the page migrations whose end a sample reports.
    pub fn add_ended(&mut self, page_moves: &[PageMove]) {
        page_moves.iter().filter(|flight| flight.ended).for_each(|flight| self.count(&flight.outcome));
    }

    /// Keeps the outcome of putting back, and counts the pages that were under way.
    pub fn add_restored(&mut self, mut restored: Outcome) {
        let is_pages = |outcome: &mut ActionOutcome| matches!(outcome, ActionOutcome::Pages { .. });
        restored.actions.extract_if(.., is_pages).for_each(|outcome| self.count(&outcome));
        self.restored = Some(restored);
    }

    /// Counts the time of one epoch, and the CPU time that the tool itself used in it.
    pub fn add_time(&mut self, interval: Seconds, own_cpu: Option<Seconds>) {
        self.time.0 += interval.0;
        if let Some(used) = own_cpu {
            self.own_cpu.get_or_insert_default().0 += used.0;
        }
    }

    /// The tool's own CPU time, in per cent of one CPU.
    pub fn own_cpu_percent(&self) -> Option<f64> {
        percent_of_one_cpu(self.own_cpu, self.time)
    }

    fn count(&mut self, outcome: &ActionOutcome) {
        if let ActionOutcome::Pages { stayed, .. } | ActionOutcome::Queued { stayed, .. } = outcome {
            stayed.iter().for_each(|(why, pages)| add(&mut self.stayed, why, pages.0));
        }
        match outcome {
            ActionOutcome::Pages { moved, .. } => self.pages.0 += moved.0,
            ActionOutcome::Done | ActionOutcome::Queued { .. } => {}
            ActionOutcome::Vanished => self.vanished += 1,
            ActionOutcome::LeftAlone { why } => add(&mut self.left_alone, why, 1),
            ActionOutcome::Refused { errno, why } => {
                self.refused.entry(*errno).or_insert_with(|| (0, why.clone())).0 += 1;
            }
        }
    }
}

/// CPU time over an interval, in per cent of one CPU.
pub fn percent_of_one_cpu(used: Option<Seconds>, interval: Seconds) -> Option<f64> {
    used.filter(|_| interval.0 > 0.0).map(|used| 100.0 * used.0 / interval.0)
}

/// Maximum number of reasons that are kept apart: a run may last for months, and a reason may name
/// a thread.
const MOST_REASONS: usize = 32;

fn add(counts: &mut BTreeMap<String, u64>, why: &str, more: u64) {
    let why = if counts.contains_key(why) || counts.len() < MOST_REASONS { why } else { "other reasons" };
    *counts.entry(why.to_owned()).or_default() += more;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_time_is_a_share_of_one_cpu_and_may_be_unknown() {
        let mut tally = Tally::default();
        assert_eq!(tally.own_cpu_percent(), None);
        tally.add_time(Seconds(1.0), None);
        assert_eq!((tally.own_cpu, tally.own_cpu_percent()), (None, None));
        tally.add_time(Seconds(1.0), Some(Seconds(0.0)));
        tally.add_time(Seconds(2.0), Some(Seconds(0.5)));
        assert_eq!(
            (tally.time, tally.own_cpu, tally.own_cpu_percent()),
            (Seconds(4.0), Some(Seconds(0.5)), Some(12.5))
        );
    }

    #[test]
    fn reasons_do_not_grow_without_bound() {
        let mut counts = BTreeMap::new();
        (0..1000).for_each(|thread| add(&mut counts, &format!("thread {thread}"), 1));
        assert_eq!(counts.len(), MOST_REASONS + 1);
        assert_eq!(counts.values().sum::<u64>(), 1000);
        assert_eq!(counts["other reasons"], 1000 - 32);
    }
}
