//! What a run shows while it continues: its beginning and every epoch.

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
    /// The policies of groups in addition to it.
    pub groups: Vec<GroupPolicy>,
    /// What the policy needs and the machine lacks, with the reason.
    pub lacking: Vec<(Sensor, &'a str)>,
    /// How it will run.
    pub limits: Limits,
    /// Changes that an earlier run had left and that were put back before this run, in words.
    pub recovered: Option<&'a str>,
}

/// One epoch, after its end.
pub struct Epoch<'a> {
    /// 1, 2, ...
    pub number: u64,
    /// The policy that decides. A reload may replace it.
    pub policy: &'a str,
    /// The intended time between epochs, which a reload may also change.
    pub interval: Seconds,
    /// The reading at its end.
    pub sample: &'a Sample,
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
    /// Actions that were taken back by hand since the epoch before.
    pub undone: &'a [Undone],
    /// What the policy needs and the machine lacks.
    pub lacking: Vec<(Sensor, &'a str)>,
    /// CPU time that the tool itself used since the epoch before.
    pub own_cpu: Option<Seconds>,
    /// Patterns of `--only` that match no process; determined in the first epoch only.
    pub unmatched: Option<Vec<&'a Pattern>>,
    /// Counts so far, this epoch included.
    pub tally: &'a Tally,
}

/// Is shown what happens. If it fails, the run ends in order. By default it ignores everything.
pub trait Observer {
    /// Called before the first epoch.
    ///
    /// # Errors
    /// An error if it cannot continue, for example because its output cannot be written.
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        let _ = start;
        Ok(())
    }

    /// Called after each epoch.
    ///
    /// # Errors
    /// As for [`Observer::begin`].
    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        let _ = epoch;
        Ok(())
    }
}

/// Ignores everything.
impl Observer for () {}
