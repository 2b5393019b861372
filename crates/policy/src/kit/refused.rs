//! What a machine refused, and for how long that is not asked for again. A move is refused in every
//! epoch if only root may move the thread, or if the owner of the process says where its memory
//! goes, and asking in every epoch would only cost time. But reasons pass: a cpuset changes, a
//! class of service becomes free. So a refused action is asked for again, after twice as many
//! epochs with each refusal in a row, up to a bound.
//!
//! Not a refusal: something that has ended meanwhile, pages that stay, and a migration that waits
//! in a queue, is under way or was withdrawn.

use isobar_model::outcome::MOVES_USED_UP;
use isobar_model::{Action, ActionOutcome, LlcId, Observation, Outcome, Pid, Plan, Process, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// The longest wait, in epochs.
const LONGEST: u64 = 256;

/// What is asked for: a kind of action, and its process or thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKey {
    /// That a thread moves.
    Thread(Pid, Tid),
    /// That pages of a process move.
    Pages(Pid),
    /// That new pages of a process go elsewhere.
    Allocation(Pid),
    /// That an LLC's ways are divided.
    Ways(LlcId),
}

impl RequestKey {
    /// What an action asks for; a withdrawal asks for nothing.
    #[must_use]
    pub const fn by(action: &Action) -> Option<Self> {
        match action {
            Action::MoveThread { pid, tid, .. } => Some(Self::Thread(*pid, *tid)),
            Action::MigratePages { pid, .. } => Some(Self::Pages(*pid)),
            Action::SetAllocation { pid, .. } => Some(Self::Allocation(*pid)),
            Action::SetWays { llc, .. } => Some(Self::Ways(*llc)),
            Action::WithdrawPages { .. } => None,
        }
    }

    const fn pid(self) -> Option<Pid> {
        match self {
            Self::Thread(pid, _) | Self::Pages(pid) | Self::Allocation(pid) => Some(pid),
            Self::Ways(_) => None,
        }
    }
}

/// Refusals of earlier epochs.
#[derive(Clone, Debug, Default)]
pub struct Refused {
    epoch: u64,
    list: BTreeMap<RequestKey, Refusals>,
    /// The processes that other policies manage now: nothing is asked for them.
    elsewhere: BTreeSet<Pid>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Refusals {
    in_a_row: u32,
    /// The epoch of the next attempt.
    until: u64,
}

impl Refused {
    /// Begins a new epoch, and forgets processes and threads that are gone. Takes the outcome of
    /// migrations that were still queued when their plan was carried out.
    pub fn next_epoch(&mut self, seen: &Observation) {
        let ended = |wanted: fn(&ActionOutcome) -> bool| -> BTreeSet<RequestKey> {
            let ended = seen.page_moves.iter().filter(|flight| flight.ended && wanted(&flight.outcome));
            ended.map(|flight| RequestKey::Pages(flight.pid)).collect()
        };
        let accepted = ended(|outcome| matches!(outcome, ActionOutcome::Pages { moved, .. } if moved.0 > 0));
        self.take(&ended(|outcome| matches!(outcome, ActionOutcome::Refused { .. })), &accepted);
        self.epoch += 1;
        self.elsewhere.clear();
        self.elsewhere.extend(seen.processes.iter().filter(|process| process.elsewhere).map(|process| process.pid));
        self.list.retain(|asked, _| match (asked, asked.pid()) {
            (RequestKey::Thread(pid, tid), _) => seen
                .process(*pid)
                .is_some_and(|process| process.threads.binary_search_by_key(tid, |thread| thread.tid).is_ok()),
            (_, Some(pid)) => seen.process(pid).is_some(),
            (_, None) => true,
        });
    }

    /// Takes the outcome of a plan. If several actions ask for one thing, a refusal counts.
    pub fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        let refused = refused_of(plan, outcome).filter_map(RequestKey::by).collect();
        let both = plan.actions.iter().zip(&outcome.actions);
        let accepted = both.filter(|(action, outcome)| {
            // That a cluster can be removed does not mean that one can be made.
            let removes = matches!(action, Action::SetWays { threads, .. } if threads.is_empty());
            let moved = matches!(outcome, ActionOutcome::Pages { moved, .. } if moved.0 > 0);
            !removes && (moved || **outcome == ActionOutcome::Done)
        });
        self.take(&refused, &accepted.filter_map(|(action, _)| RequestKey::by(action)).collect());
    }

    fn take(&mut self, refused: &BTreeSet<RequestKey>, accepted: &BTreeSet<RequestKey>) {
        self.list.retain(|asked, _| refused.contains(asked) || !accepted.contains(asked));
        for asked in refused {
            let refusals = self.list.entry(*asked).or_default();
            if self.epoch < refusals.until {
                continue; // another answer to the same attempt
            }
            refusals.in_a_row = refusals.in_a_row.saturating_add(1);
            let wait = 1u64.checked_shl(refusals.in_a_row).map_or(LONGEST, |wait| wait.min(LONGEST));
            refusals.until = self.epoch + wait;
        }
    }

    /// Whether something was refused so recently that it is not asked for now, or another policy
    /// decides about it.
    #[must_use]
    pub fn waits(&self, asked: RequestKey) -> bool {
        self.is_elsewhere(asked) || self.list.get(&asked).is_some_and(|refusals| self.epoch < refusals.until)
    }

    /// Whether something was refused when it was last asked for.
    #[must_use]
    pub fn doubts(&self, asked: RequestKey) -> bool {
        self.list.contains_key(&asked)
    }

    /// The processes whose pages may be asked for now, in their order.
    pub fn with_movable_pages<'a>(&self, seen: &'a Observation) -> impl Iterator<Item = &'a Process> {
        seen.processes.iter().filter(|process| !self.waits(RequestKey::Pages(process.pid)))
    }

    fn is_elsewhere(&self, asked: RequestKey) -> bool {
        asked.pid().is_some_and(|pid| self.elsewhere.contains(&pid))
    }

    /// Removes actions from a plan that are not asked for now, and notes how many.
    pub fn hold_back(&self, plan: &mut Plan) {
        if !self.elsewhere.is_empty() {
            plan.retain_actions(|action| RequestKey::by(action).is_none_or(|asked| !self.is_elsewhere(asked)));
        }
        if self.list.is_empty() {
            return;
        }
        let all = plan.actions.len();
        plan.retain_actions(|action| RequestKey::by(action).is_none_or(|asked| !self.waits(asked)));
        let held = all - plan.actions.len();
        if held > 0 {
            plan.notes.push(format!("the machine refused {held} of {all} actions earlier: they are tried again later"));
        }
    }
}

/// The actions of a plan that were refused, in its order.
pub fn refused_of<'a>(plan: &'a Plan, outcome: &'a Outcome) -> impl Iterator<Item = &'a Action> {
    let both = plan.actions.iter().zip(&outcome.actions);
    both.filter(|(action, outcome)| is_refused(action, outcome)).map(|(action, _)| action)
}

/// Whether an action was refused. Actions that wait for the budget of an epoch were not: pages that
/// are left alone, and threads beyond the moves of an epoch.
#[must_use]
fn is_refused(action: &Action, outcome: &ActionOutcome) -> bool {
    match outcome {
        ActionOutcome::Refused { .. } => true,
        ActionOutcome::LeftAlone { why } => {
            !matches!(action, Action::MigratePages { .. }) && !why.starts_with(MOVES_USED_UP)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{in_flight, observation, process, thread};
    use isobar_model::{CpuId, NodeId, PageSelection, Pages};

    fn to_cpu(tid: u32) -> Action {
        Action::MoveThread { pid: Pid(1), tid: Tid(tid), cpu: CpuId(1), cpus: None, reason: "because".to_owned() }
    }

    fn pages() -> Action {
        let (pid, from, to) = (Pid(1), NodeId(0), NodeId(1));
        let select = PageSelection::ResidentSet;
        Action::MigratePages { pid, from, to, pages: Pages(1), select, for_thread: None, reason: "because".to_owned() }
    }

    fn seen() -> Observation {
        observation("node:2 core:2", vec![process(1, vec![thread(1, 0, 1.0), thread(2, 0, 1.0)])])
    }

    fn no() -> ActionOutcome {
        ActionOutcome::Refused { errno: Some(1), why: "no".to_owned() }
    }

    /// Whether an action is asked for in each epoch, given its outcomes: `!` asked, `.` held back.
    fn timeline(epochs: usize, action: &Action, outcome: impl Fn(usize) -> ActionOutcome) -> String {
        let mut refused = Refused::default();
        let epoch = |now| {
            refused.next_epoch(&seen());
            let mut plan = Plan { actions: vec![action.clone()], ..Plan::nothing("test") };
            refused.hold_back(&mut plan);
            let outcomes = plan.actions.iter().map(|_| outcome(now)).collect();
            refused.applied(&plan, &Outcome { actions: outcomes });
            if plan.actions.is_empty() { '.' } else { '!' }
        };
        (0..epochs).map(epoch).collect()
    }

    #[test]
    fn patience_doubles_with_each_refusal_and_ends_with_success() {
        assert_eq!(timeline(31, &to_cpu(1), |_| no()), "!.!...!.......!...............!");
        let third_time = |now| if now == 6 { ActionOutcome::Done } else { no() };
        assert_eq!(timeline(12, &to_cpu(1), third_time), "!.!...!!.!..");
        let asked = timeline(2000, &to_cpu(1), |_| no()).matches('!').count();
        assert_eq!(asked, 8 + 6, "0, 2, 6, 14, 30, 62, 126, 254, and then every 256: 510 to 1790");
    }

    #[test]
    fn what_ended_what_stays_and_what_waits_was_not_refused() {
        let left = |_| ActionOutcome::LeftAlone { why: "its owner bound it".to_owned() };
        let stayed = |_| ActionOutcome::Pages { moved: Pages(0), stayed: vec![("busy".to_owned(), Pages(1))] };
        assert_eq!(timeline(3, &to_cpu(1), |_| ActionOutcome::Vanished), "!!!");
        assert_eq!(timeline(3, &pages(), stayed), "!!!");
        assert_eq!(timeline(3, &pages(), left), "!!!", "the budget of this epoch");
        assert_eq!(timeline(3, &to_cpu(1), left), "!.!");
        let later = |_| ActionOutcome::LeftAlone { why: format!("{MOVES_USED_UP} (256)") };
        assert_eq!(timeline(3, &to_cpu(1), later), "!!!", "the moves of this epoch");
        assert_eq!(timeline(3, &pages(), |_| no()), "!.!");
    }

    #[test]
    fn a_queued_migration_is_refused_when_it_ends_so() {
        let mut refused = Refused::default();
        let mut plan = Plan { actions: vec![pages()], ..Plan::nothing("test") };
        refused.next_epoch(&seen());
        refused.applied(
            &plan,
            &Outcome { actions: vec![ActionOutcome::Queued { number: 0, pages: Pages(1), stayed: vec![] }] },
        );
        let mut later = seen();
        in_flight(&mut later, 1, (0, 1), 1);
        refused.next_epoch(&later);
        assert!(!refused.doubts(RequestKey::Pages(Pid(1))), "it is under way");
        later.page_moves[0].ended = true;
        later.page_moves[0].outcome = no();
        refused.next_epoch(&later);
        assert!(refused.waits(RequestKey::Pages(Pid(1))));
        refused.hold_back(&mut plan);
        assert!(plan.actions.is_empty());
        later.page_moves[0].outcome = ActionOutcome::Pages { moved: Pages(1), stayed: vec![] };
        refused.next_epoch(&later);
        assert!(!refused.doubts(RequestKey::Pages(Pid(1))));
    }

    #[test]
    fn each_is_refused_by_itself_and_the_gone_are_forgotten() {
        let mut refused = Refused::default();
        refused.next_epoch(&seen());
        let mut plan = Plan { actions: vec![to_cpu(1), to_cpu(2), pages()], ..Plan::nothing("test") };
        refused.applied(&plan, &Outcome { actions: vec![no(), ActionOutcome::Done, ActionOutcome::Done] });
        refused.hold_back(&mut plan);
        assert_eq!(plan.actions, [to_cpu(2), pages()]);
        assert_eq!(plan.notes, ["the machine refused 1 of 3 actions earlier: they are tried again later"]);
        refused.next_epoch(&observation("node:2 core:2", vec![process(1, vec![thread(2, 0, 1.0)])]));
        assert!(!refused.doubts(RequestKey::Thread(Pid(1), Tid(1))), "another thread may have its id now");
    }
}
