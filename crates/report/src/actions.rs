//! What was decided, predicted and measured, in the order in which it happened.

use crate::data::{Action, Change, Note};
use crate::programs::Key;
use crate::series::brief;
use isobar_model::text::plain;
use isobar_model::{Gain, Pid};
use isobar_view::{Moment, View};
use std::collections::BTreeMap;

/// Maximum number of actions, and of notes, that a page lists.
const MOST: usize = 4000;
/// Maximum number of different notes.
const NOTES: usize = 200;

/// A change, the predicted and measured gains of its processes, and the programs of these
/// processes.
type Judged = (Change, BTreeMap<Pid, (Option<f64>, Option<f64>)>, Vec<Key>);

/// What was decided.
#[derive(Debug, Default)]
pub struct Decided {
    actions: Vec<(Action, Vec<Key>)>,
    changes: BTreeMap<u64, Judged>,
    notes: BTreeMap<String, (u64, u64)>,
    /// Number of actions that were not kept.
    pub left_out: u64,
    /// Number of all actions.
    pub count: u64,
}

impl Decided {
    /// Adds an epoch.
    pub fn take(&mut self, moment: &Moment<'_>, view: &View) {
        let key = |pid: &Pid| view.programs.iter().find(|one| one.pid == *pid).map(crate::programs::key);
        for action in &view.actions {
            self.count += 1;
            if self.actions.len() >= MOST {
                self.left_out += 1;
                continue;
            }
            let (seconds, words, reason) = (brief_time(view), action.words.clone(), action.reason.clone());
            let kept = Action { seconds, words, reason, became: action.became.clone(), programs: Vec::new() };
            self.actions.push((kept, action.programs.iter().filter_map(key).collect()));
        }
        for note in &view.notes {
            if self.notes.len() < NOTES || self.notes.contains_key(note) {
                self.notes.entry(note.clone()).or_insert((view.number, 0)).1 += 1;
            }
        }
        for one in &moment.plan.predictions {
            let (change, gains, keys) = self.changes.entry(one.change).or_default();
            (change.seconds, change.predicted) = (Some(brief_time(view)), Some(brief(one.gain)));
            one.programs.iter().for_each(|Gain { pid, gain }| gains.entry(*pid).or_default().0 = Some(brief(*gain)));
            keys.extend(one.programs.iter().filter_map(|gain| key(&gain.pid)));
        }
        for one in &moment.plan.effects {
            let (change, gains, keys) = self.changes.entry(one.change).or_default();
            change.judged_seconds = Some(brief_time(view));
            (change.measured, change.error) = (Some(brief(one.measured)), Some(brief(one.error)));
            (change.kept, change.disturbed) = (Some(one.kept), Some(one.disturbed));
            one.programs.iter().for_each(|Gain { pid, gain }| gains.entry(*pid).or_default().1 = Some(brief(*gain)));
            keys.extend(one.programs.iter().filter_map(|gain| key(&gain.pid)));
        }
    }

    /// The result, in which programs are referred to by their positions.
    pub fn finish(self, positions: &BTreeMap<Key, usize>) -> (Vec<Action>, Vec<Change>, Vec<Note>) {
        let found = |keys: &[Key]| keys.iter().filter_map(|key| positions.get(key).copied()).collect::<Vec<_>>();
        let actions = self.actions.into_iter().map(|(action, keys)| Action { programs: found(&keys), ..action });
        let change = |(number, (mut change, gains, keys)): (u64, Judged)| {
            change.change = number;
            for (pid, (predicted, measured)) in gains {
                let position = keys.iter().find(|(other, _)| *other == pid).and_then(|key| positions.get(key));
                change.programs.extend(position.map(|position| (*position, predicted, measured)));
            }
            change
        };
        let notes =
            self.notes.into_iter().map(|(text, (epoch, times))| Note { epoch, times, text: plain(&text).into_owned() });
        let mut notes: Vec<Note> = notes.collect();
        notes.sort_by_key(|note| note.epoch);
        (actions.collect(), self.changes.into_iter().map(change).collect(), notes)
    }
}

fn brief_time(view: &View) -> f64 {
    (view.time_seconds * 10.0).round() / 10.0
}
