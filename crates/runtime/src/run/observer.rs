//! What a run shows while it goes on: its beginning and every epoch.

use super::journal::Undone;
use super::{Limits, Tally};
use crate::error::BoxError;
use crate::selection::Pattern;
use isobar_model::plan::Plan;
use isobar_model::{ActionId, GroupPolicy, Observation, Outcome, Sample, Seconds, Sensor};

/// What is known before the first epoch.
pub struct Start<'a> {
    /// The first reading: topology and capabilities.
    pub sample: &'a Sample,
    /// The policy's name.
    pub policy: &'a str,
    /// The policies of groups beside it.
    pub groups: Vec<GroupPolicy>,
    /// What it needs and the machine lacks, with the reason.
    pub lacking: Vec<(Sensor, &'a str)>,
    /// How it will run.
    pub limits: Limits,
    /// What an earlier run had left changed and was put back before this one, in words.
    pub recovered: Option<&'a str>,
}

/// One epoch, after it.
pub struct Epoch<'a> {
    /// 1, 2, ...
    pub number: u64,
    /// The policy that decides: a reload may put another in its place.
    pub policy: &'a str,
    /// How often epochs are to come, which a reload may change, too.
    pub interval: Seconds,
    /// The reading at its end.
    pub sample: &'a Sample,
    /// All that was seen.
    pub seen: &'a Observation,
    /// The part that the policy decides on.
    pub managed: &'a Observation,
    /// The decision.
    pub plan: &'a Plan,
    /// What became of it; `None` in a dry run.
    pub outcome: Option<&'a Outcome>,
    /// The number of the plan's first action, the others follow; `None` in a dry run.
    pub first_id: Option<ActionId>,
    /// What was taken back by hand since the epoch before.
    pub undone: &'a [Undone],
    /// What the policy needs and the machine lacks.
    pub lacking: Vec<(Sensor, &'a str)>,
    /// CPU time that the tool itself took since the epoch before.
    pub own_cpu: Option<Seconds>,
    /// Patterns of `--only` that fit no process; looked for in the first epoch only.
    pub unmatched: Option<Vec<&'a Pattern>>,
    /// Counts so far, this epoch included.
    pub tally: &'a Tally,
}

/// Is shown what happens; the run ends in order where it fails. By default it looks at nothing.
pub trait Observer {
    /// Before the first epoch.
    ///
    /// # Errors
    /// Where it cannot go on, say since its output cannot be written.
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        let _ = start;
        Ok(())
    }

    /// After each epoch.
    ///
    /// # Errors
    /// As [`Observer::begin`].
    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        let _ = epoch;
        Ok(())
    }
}

/// Looks at nothing.
impl Observer for () {}
