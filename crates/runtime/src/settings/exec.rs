//! The section `[exec]`: how isobar asks programs that decide (`--policy exec:CMD`). This module
//! knows keys, limits and defaults; it starts nothing.

use isobar_model::Sensor;
use serde::Deserialize;

/// The section `[exec]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExecConfig {
    /// Maximum time for a decision, in seconds; unset = half of the interval when isobar acts on a
    /// machine (at most 5 s on this machine), a minute elsewhere.
    pub timeout_seconds: Option<f64>,
    /// Maximum number of restarts of a program that died, unless it made ten good plans in between;
    /// in `manage` only.
    pub restarts: u32,
    /// The sensors without which the program cannot decide.
    pub needs: Vec<Sensor>,
    /// Sensors that are switched on for the program if they work.
    pub uses: Vec<Sensor>,
}

impl Default for ExecConfig {
    fn default() -> Self {
        Self { timeout_seconds: None, restarts: 5, needs: Vec::new(), uses: Vec::new() }
    }
}

/// The longest time-out that is accepted, in seconds: an hour.
const LONGEST: f64 = 3600.0;

impl ExecConfig {
    /// # Errors
    /// Which key has an impossible value, and what is expected.
    pub(super) fn check(&self) -> Result<(), String> {
        let wrong = self.timeout_seconds.filter(|seconds| !(0.001..=LONGEST).contains(seconds));
        wrong.map_or(Ok(()), |seconds| {
            Err(format!("timeout_seconds = {seconds}: expected a number from 0.001 to {LONGEST}"))
        })
    }
}
