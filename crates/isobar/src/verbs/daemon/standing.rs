//! The status of a daemon, as `isobar status` shows it: converts the loop's state to the words of
//! the protocol.

use crate::report::{action_in_words, outcome_in_words};
use isobar_control::{ActionLine, GroupLine, Status};
use isobar_model::{GroupPolicy, Machine, Observation, Subject};
use isobar_runtime::{Applied, Loop};

/// Maximum number of actions in a status.
const RECENT: usize = 50;

/// Fills in what the loop knows; the rest comes from `about`.
pub fn status<M: Machine>(run: &Loop<'_, M>, about: Status) -> Status {
    let (tally, latest) = (run.tally(), run.latest());
    let count = |seen: Option<&Observation>| seen.map_or(0, |seen| u64::try_from(seen.threads().count()).unwrap_or(0));
    let seen = latest.as_ref().map(|epoch| epoch.seen);
    let line = |applied: &Applied| line(applied, run.now().0, seen);
    let mut remarks = latest.as_ref().map(|epoch| epoch.sample.capabilities.remarks.clone()).unwrap_or_default();
    remarks.extend(about.remarks);
    Status {
        policy: run.policy().name().to_owned(),
        groups: run.policy().groups().into_iter().map(group).collect(),
        paused: run.is_paused(),
        epochs: tally.epochs,
        interval_seconds: run.interval().0,
        seconds: tally.time.0,
        threads: count(seen),
        managed_threads: count(latest.as_ref().map(|epoch| epoch.managed)),
        actions: tally.planned,
        threads_moved: tally.moves,
        pages_moved: tally.pages.0,
        own_cpu_percent: tally.own_cpu_percent(),
        remarks,
        recent: run.applied().rev().take(RECENT).map(line).collect(),
        ..about
    }
}

fn group(of: GroupPolicy) -> GroupLine {
    GroupLine { group: of.group, policy: of.policy.to_owned() }
}

fn line(applied: &Applied, now: f64, seen: Option<&Observation>) -> ActionLine {
    let Applied { id, epoch, time, policy, action, outcome, undone } = applied;
    let words = seen.map_or_else(String::new, |seen| action_in_words(action, seen));
    let became = match undone {
        Some(outcome) => format!("taken back: {}", outcome_in_words(Some(outcome))),
        None => outcome_in_words(Some(outcome)),
    };
    ActionLine {
        id: id.0,
        epoch: *epoch,
        seconds_ago: (now - time.0).max(0.0),
        policy: policy.clone(),
        pid: Subject::of(action).and_then(|subject| subject.pid()).map(|pid| pid.0),
        words,
        reason: action.reason().to_owned(),
        became,
        stands: applied.stands(),
    }
}
