//! The decisions of a recorded run, for a run that repeats it.

use isobar_model::{Action, Outcome, Pid, Plan, Tid};
use std::collections::BTreeSet;

/// What was chosen and done in the epoch that is being decided, at the time of the recording.
pub trait Repeated {
    /// The threads that were managed.
    fn managed(&self) -> BTreeSet<(Pid, Tid)>;

    /// The outcome of this plan, if its actions are those that were carried out. `None` if they are
    /// others, or if nothing was carried out; the epoch is then as in a dry run.
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
