//! How long a loop runs, whether it acts, and what it needs from its surroundings.

use super::Repeated;
use crate::selection::Lookups;
use isobar_model::Seconds;

/// How long to run, and whether to act.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time between decisions.
    pub interval: Seconds,
    /// Stop after this time on the machine's clock.
    pub duration: Option<Seconds>,
    /// Stop after this number of epochs.
    pub epochs: Option<u64>,
    /// Stop after the first epoch in which the policy would act.
    pub until_action: bool,
    /// Decide, but change nothing.
    pub dry_run: bool,
    /// Run even if the machine lacks what the policy needs; otherwise the run ends with
    /// [`crate::RunError::Refused`].
    pub despite_missing: bool,
}

impl Limits {
    /// A decision every `interval`, carried out, without a limit.
    #[must_use]
    pub const fn every(interval: Seconds) -> Self {
        Self { interval, duration: None, epochs: None, until_action: false, dry_run: false, despite_missing: false }
    }

    /// Whether the run may end after an epoch by the number of epochs, or by what is decided.
    #[must_use]
    pub fn may_end_after(&self, epoch: u64) -> bool {
        self.until_action || self.epochs.is_none_or(|most| epoch >= most)
    }
}

/// What the loop needs from its surroundings. By default it needs nothing.
pub struct Surroundings<'a> {
    /// Look-ups of processes, to choose those that are managed.
    pub lookups: Lookups<'a>,
    /// Whether the user or the system asked to stop.
    pub stop: &'a dyn Fn() -> bool,
    /// CPU time that the tool itself has used so far; `None` if that is not the cost of watching (a
    /// simulated machine).
    pub own_cpu: Option<&'a dyn Fn() -> Seconds>,
    /// Changes that an earlier run had left and that were put back before this run, in words.
    pub recovered: Option<String>,
    /// The choices and outcomes of the run that this one repeats, if it repeats one.
    pub repeated: Option<&'a dyn Repeated>,
}

impl Default for Surroundings<'_> {
    fn default() -> Self {
        Self { lookups: Lookups::default(), stop: &|| false, own_cpu: None, recovered: None, repeated: None }
    }
}
