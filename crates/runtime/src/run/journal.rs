//! The actions of a run by number, so that they can be taken back. Pure: it knows what was asked
//! for and the outcome, not how a machine takes an action back.

use isobar_model::{Action, ActionId, ActionOutcome, Outcome, Plan, Seconds, Subject};
use std::collections::VecDeque;

/// Maximum number of actions that are remembered.
const MOST: usize = 4096;

/// An action that was applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// Its number.
    pub id: ActionId,
    /// The epoch in which it was decided.
    pub epoch: u64,
    /// The end of that epoch, by the machine's clock.
    pub time: Seconds,
    /// The policy that decided it.
    pub policy: String,
    /// The action.
    pub action: Action,
    /// Its immediate outcome.
    pub outcome: ActionOutcome,
    /// The outcome of taking it back, if that was done.
    pub undone: Option<ActionOutcome>,
}

impl Applied {
    /// Whether it has an effect that was not taken back and could be.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.outcome.is_effective() && self.undone.is_none() && Subject::of(&self.action).is_some()
    }
}

/// The result of taking an action back.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    /// The action's number.
    pub id: ActionId,
    /// The action.
    pub action: Action,
    /// The outcome: done, or pages on their way back.
    pub outcome: ActionOutcome,
}

/// Why an action is not taken back, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotUndone {
    /// No action has this number.
    #[error("there is no action {0}; {1}")]
    Unknown(ActionId, String),
    /// The action was too long ago and is not remembered.
    #[error("action {0} is too long ago: the last {MOST} are remembered")]
    Forgotten(ActionId),
    /// The action changed nothing.
    #[error("action {0} changed nothing: {1}")]
    CameToNothing(ActionId, String),
    /// A later action on the same thread or cluster holds now.
    #[error("the later action {1} replaced action {0}: take back action {1} instead")]
    Followed(ActionId, ActionId),
    /// The action was already taken back.
    #[error("action {0} was taken back already")]
    Already(ActionId),
    /// The machine leaves the action as it is.
    #[error("action {0} is not taken back: {1}")]
    Left(ActionId, String),
    /// It is a dry run, which changes nothing.
    #[error("nothing is changed in a dry run: there is nothing to take back")]
    DryRun,
}

/// The latest actions, ascending.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    list: VecDeque<Applied>,
    last: u64,
}

impl Journal {
    /// Adds the actions of an epoch with their outcomes; returns the number of the first.
    pub fn take(&mut self, (epoch, time): (u64, Seconds), plan: &Plan, outcome: &Outcome) -> ActionId {
        let first = ActionId(self.last + 1);
        for (index, (action, outcome)) in plan.actions.iter().zip(&outcome.actions).enumerate() {
            self.last += 1;
            self.list.push_back(Applied {
                id: ActionId(self.last),
                epoch,
                time,
                policy: plan.decided_by(index).to_owned(),
                action: action.clone(),
                outcome: outcome.clone(),
                undone: None,
            });
        }
        while self.list.len() > MOST {
            self.list.pop_front();
        }
        first
    }

    /// All remembered actions, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Applied> {
        self.list.iter()
    }

    /// An action that can be taken back.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn undoable(&self, id: ActionId) -> Result<&Applied, NotUndone> {
        let found = self.get(id)?;
        if found.undone.is_some() {
            return Err(NotUndone::Already(id));
        }
        if !found.outcome.is_effective() {
            return Err(NotUndone::CameToNothing(id, in_words(&found.outcome)));
        }
        match self.follower(found) {
            Some(later) => Err(NotUndone::Followed(id, later)),
            None => Ok(found),
        }
    }

    /// Records that an action was taken back.
    pub fn undone(&mut self, id: ActionId, outcome: &ActionOutcome) {
        if let Some(at) = self.position(id) {
            self.list[at].undone = Some(outcome.clone());
        }
    }

    fn get(&self, id: ActionId) -> Result<&Applied, NotUndone> {
        if id.0 == 0 || id.0 > self.last {
            let newest = match self.last {
                0 => "no action was applied yet".to_owned(),
                last => format!("the last one has the number {last}"),
            };
            return Err(NotUndone::Unknown(id, newest));
        }
        self.position(id).map(|at| &self.list[at]).ok_or(NotUndone::Forgotten(id))
    }

    fn position(&self, id: ActionId) -> Option<usize> {
        self.list.binary_search_by_key(&id, |applied| applied.id).ok()
    }

    /// The latest later action that holds in place of this one.
    fn follower(&self, one: &Applied) -> Option<ActionId> {
        let subject = Subject::of(&one.action).filter(Subject::is_replaced)?;
        let later = self.list.iter().rev().take_while(|other| other.id > one.id);
        let mut later = later.filter(|other| other.stands() && Subject::of(&other.action).as_ref() == Some(&subject));
        later.next().map(|other| other.id)
    }
}

/// Why an action had no effect, in words.
pub fn in_words(outcome: &ActionOutcome) -> String {
    match outcome {
        ActionOutcome::Vanished => "its thread or process has ended".to_owned(),
        ActionOutcome::Refused { why, .. } | ActionOutcome::LeftAlone { why } => why.clone(),
        ActionOutcome::Pages { stayed, .. } | ActionOutcome::Queued { stayed, .. } => {
            let first = stayed.first().map_or("no page moved", |(why, _)| why);
            format!("no page moved: {first}")
        }
        ActionOutcome::Done => "done".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::{CpuId, NodeId, PageSelection, Pages, Pid, Tid};

    fn to(tid: u32, cpu: u32) -> Action {
        Action::MoveThread { pid: Pid(1), tid: Tid(tid), cpu: CpuId(cpu), cpus: None, reason: "because".into() }
    }

    fn pages() -> Action {
        let (from, to, select) = (NodeId(0), NodeId(1), PageSelection::ResidentSet);
        Action::MigratePages { pid: Pid(1), from, to, pages: Pages(1), select, for_thread: None, reason: "x".into() }
    }

    fn took(journal: &mut Journal, actions: Vec<Action>, outcomes: Vec<ActionOutcome>) -> u64 {
        let plan = Plan { actions, ..Plan::nothing("test") };
        journal.take((1, Seconds(1.0)), &plan, &Outcome { actions: outcomes }).0
    }

    fn why(journal: &Journal, id: u64) -> String {
        journal.undoable(ActionId(id)).unwrap_err().to_string()
    }

    #[test]
    fn numbers_go_on_and_what_cannot_be_taken_back_says_why() {
        let mut journal = Journal::default();
        assert_eq!(why(&journal, 1), "there is no action 1; no action was applied yet");
        let left = ActionOutcome::LeftAlone { why: "pinned by its owner".into() };
        assert_eq!(took(&mut journal, vec![to(1, 0), to(2, 0)], vec![ActionOutcome::Done, left]), 1);
        assert_eq!(took(&mut journal, vec![to(1, 3)], vec![ActionOutcome::Done]), 3);
        assert_eq!(why(&journal, 1), "the later action 3 replaced action 1: take back action 3 instead");
        assert_eq!(why(&journal, 2), "action 2 changed nothing: pinned by its owner");
        assert_eq!(why(&journal, 4), "there is no action 4; the last one has the number 3");
        assert_eq!(journal.undoable(ActionId(3)).unwrap().action, to(1, 3));
        journal.undone(ActionId(3), &ActionOutcome::Done);
        assert_eq!(why(&journal, 3), "action 3 was taken back already");
        assert!(journal.undoable(ActionId(1)).is_ok(), "nothing holds instead of it any more");
    }

    #[test]
    fn migrations_do_not_replace_each_other() {
        let mut journal = Journal::default();
        let moved = || ActionOutcome::Pages { moved: Pages(1), stayed: vec![] };
        took(&mut journal, vec![pages(), pages()], vec![moved(), moved()]);
        assert!(journal.undoable(ActionId(1)).is_ok() && journal.undoable(ActionId(2)).is_ok());
    }

    #[test]
    fn the_journal_is_bounded() {
        let mut journal = Journal::default();
        for tid in 0..u32::try_from(MOST).unwrap() + 2 {
            took(&mut journal, vec![to(tid, 0)], vec![ActionOutcome::Done]);
        }
        assert_eq!(journal.iter().count(), MOST);
        assert_eq!(why(&journal, 2), "action 2 is too long ago: the last 4096 are remembered");
        assert!(journal.undoable(ActionId(3)).is_ok());
    }
}
