//! A run that repeats another one from its recording.

use isobar_model::{Action, Outcome, Pid, Plan, Tid};
use std::collections::BTreeSet;

/// What was chosen and done in the epoch that is decided now, when it was recorded.
pub trait Repeated {
    /// The threads that were managed.
    fn managed(&self) -> BTreeSet<(Pid, Tid)>;

    /// What became of this plan, where it is the one that was carried out; `None` where it is
    /// another one, or nothing was carried out: then it is as in a dry run.
    fn outcome(&self, plan: &Plan) -> Option<Outcome>;

    /// The actions that a person had taken back since the epoch before.
    fn undone(&self) -> Vec<Action> {
        Vec::new()
    }

    /// Whether decisions were paused, so that the policy was not asked.
    fn is_paused(&self) -> bool {
        false
    }
}
