//! The content of a recording for one epoch.

use crate::frame::Managed;
use isobar_model::{Action, ActionId, ActionOutcome, Outcome, Plan, Sample, Seconds};

/// One epoch: the reading at its end, and what was decided.
#[derive(Clone, Debug)]
pub struct Moment {
    /// 1, 2, ...; 0 is the reading before the first.
    pub number: u64,
    /// Seconds since 1970; `None` on a simulated machine.
    pub wall_time: Option<f64>,
    /// The reading.
    pub sample: Sample,
    /// The threads that the policy managed.
    pub managed: Managed,
    /// The decision; `None` for the first reading.
    pub decision: Option<Decision>,
}

/// What was decided in an epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The plan.
    pub plan: Plan,
    /// The outcome of the plan; `None` in a dry run.
    pub outcome: Option<Outcome>,
    /// CPU time that isobar itself used in the epoch.
    pub own_cpu: Option<Seconds>,
    /// The number of the plan's first action; the others follow. `None` in a dry run.
    pub first_id: Option<ActionId>,
    /// Actions that were taken back by hand since the epoch before.
    pub undone: Vec<TakenBack>,
}

/// An action that was taken back by hand.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenBack {
    /// Its number.
    pub id: ActionId,
    /// The action.
    pub action: Action,
    /// The outcome of taking it back.
    pub outcome: ActionOutcome,
}
