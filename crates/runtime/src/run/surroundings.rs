//! How long a loop runs, whether it acts, and what it asks of its surroundings.

use super::Repeated;
use crate::selection::CgroupsOf;
use isobar_model::Seconds;

/// How long to run, and whether to act.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From decision to decision.
    pub interval: Seconds,
    /// Stop after this time of the machine.
    pub duration: Option<Seconds>,
    /// Stop after this number of epochs.
    pub epochs: Option<u64>,
    /// Decide, but change nothing.
    pub dry_run: bool,
    /// Run also where the machine lacks what the policy needs; else [`crate::RunError::Refused`].
    pub despite_missing: bool,
}

impl Limits {
    /// A decision every `interval`, carried out, without end.
    #[must_use]
    pub const fn every(interval: Seconds) -> Self {
        Self { interval, duration: None, epochs: None, dry_run: false, despite_missing: false }
    }
}

/// What the loop asks of its surroundings. By default it asks nothing.
pub struct Surroundings<'a> {
    /// From a pid to its cgroups.
    pub cgroups: &'a CgroupsOf<'a>,
    /// Whether the user or the system asked to stop.
    pub stop: &'a dyn Fn() -> bool,
    /// CPU time that the tool itself has taken so far; `None` where it is not the cost of watching
    /// (a simulated machine).
    pub own_cpu: Option<&'a dyn Fn() -> Seconds>,
    /// What an earlier run had left changed and was put back before this one, in words.
    pub recovered: Option<String>,
    /// What was chosen and done in the run that this one repeats, where it repeats one.
    pub repeated: Option<&'a dyn Repeated>,
}

impl Default for Surroundings<'_> {
    fn default() -> Self {
        Self { cgroups: &|_| None, stop: &|| false, own_cpu: None, recovered: None, repeated: None }
    }
}
