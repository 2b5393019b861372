//! One epoch, as supplied by the code that ran or recorded it.

use isobar_model::{ActionId, Capabilities, Observation, Outcome, Plan};

/// One epoch.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// 1, 2, ...
    pub number: u64,
    /// What can be measured, and why the rest cannot.
    pub capabilities: &'a Capabilities,
    /// Everything that was seen.
    pub seen: &'a Observation,
    /// The part that the policy decides on.
    pub managed: &'a Observation,
    /// The decision.
    pub plan: &'a Plan,
    /// The outcome of the plan; `None` in a dry run.
    pub outcome: Option<&'a Outcome>,
    /// The number of the plan's first action; the others follow. `None` in a dry run.
    pub first_id: Option<ActionId>,
    /// The actions that were taken back by hand since the epoch before.
    pub undone: &'a [ActionId],
}
