//! `n-mass-regression`: N-MASS that knows no measured NUMA penalties: "instead, we estimate the NUMA penalty based on the MPKI
//! rate" (section 4.5). Penalties in the observation are not looked at.
//!
//! *Properties*: as [`super::n_mass`].
//!
//! *Departures from the paper*: as [`super::n_mass`], but for the last; and the two numbers of the regression
//! ([`super::penalty`]).

use super::penalty::{PAPER, Regression};
use super::scheduler::{How, Scheduler, check_adaptation, check_threshold};
use crate::settings::{ConfigError, PolicyConfig};
use isobar_model::Sensor;
use serde::{Deserialize, Serialize};

/// Canonical name.
pub const NAME: &str = "n-mass-regression";

/// The sensors that it needs.
pub const NEEDS: &[Sensor] = super::scheduler::NEEDS;

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Pressure of an LLC, in MPKI, from which on it takes no remote process: where the interconnect of the machine saturates
    /// (section 3.4: 60 on two Xeon E5520).
    pub threshold_mpki: f64,
    /// Estimated penalty without misses (section 4.5: 1.05).
    pub regression_intercept: f64,
    /// Estimated penalty by MPKI (section 4.5: 0.015).
    pub regression_slope: f64,
    /// Change of a process's MPKI, in per cent, after which the mapping is made anew (section 3.4: 20).
    pub change_percent: f64,
    /// MPKI below which changes do not count (section 4.5: programs below 1 are not memory-bound).
    pub change_floor_mpki: f64,
    /// Pages, in per cent of all, that another node must have more to become the home of a process.
    pub home_margin_percent: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threshold_mpki: 60.0,
            regression_intercept: PAPER.intercept,
            regression_slope: PAPER.slope,
            change_percent: 20.0,
            change_floor_mpki: 1.0,
            home_margin_percent: 10.0,
        }
    }
}

impl PolicyConfig for Config {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        check_threshold(section, self.threshold_mpki)?;
        Regression { intercept: self.regression_intercept, slope: self.regression_slope }.check(section)?;
        check_adaptation(section, self.change_percent, self.change_floor_mpki, self.home_margin_percent)
    }
}

/// N-MASS with estimated penalties, from validated settings.
#[must_use]
pub fn policy(config: &Config) -> Scheduler {
    let how = How {
        penalties: None,
        regression: Regression { intercept: config.regression_intercept, slope: config.regression_slope },
        threshold: Some(config.threshold_mpki),
        change: config.change_percent / 100.0,
        floor: config.change_floor_mpki,
        home_margin: config.home_margin_percent / 100.0,
    };
    Scheduler::new(NAME, how)
}
