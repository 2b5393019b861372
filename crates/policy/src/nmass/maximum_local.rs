//! `maximum-local`: every process at home, as far as there are cores. It "is similar to N-MASS, except it does not include the
//! cache-aware refinement step" (section 4.3): steps 1 and 2 of algorithm 1, see [`super::max_local`].
//!
//! *Properties*: those of step 2; equal observations move nothing once the first decision is carried out.
//!
//! *Departures from the paper*: those of the folder ([`super`]) and of the steps. A process without a measured penalty is
//! sorted by the estimate of section 4.5; the notes name it.

use super::penalty::{PAPER, Penalties, Profile, Regression};
use super::scheduler::{How, Scheduler, check_adaptation};
use crate::settings::{ConfigError, PolicyConfig};
use isobar_model::Sensor;
use serde::{Deserialize, Serialize};

/// Canonical name.
pub const NAME: &str = "maximum-local";

/// The sensors that it needs.
pub const NEEDS: &[Sensor] = super::scheduler::NEEDS;

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Measured NUMA penalties by the name or pid of a process, as `"soplex=1.3 mcf=1.46"` or a table.
    pub penalties: Penalties,
    /// A file of such penalties, for those that `penalties` lacks.
    pub profile: Profile,
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
            penalties: Penalties::default(),
            profile: Profile::default(),
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
        Regression { intercept: self.regression_intercept, slope: self.regression_slope }.check(section)?;
        check_adaptation(section, self.change_percent, self.change_floor_mpki, self.home_margin_percent)
    }
}

/// N-MASS without its refinement, from validated settings.
#[must_use]
pub fn policy(config: Config) -> Scheduler {
    let how = How {
        penalties: Some(config.penalties.or(&config.profile.0)),
        regression: Regression { intercept: config.regression_intercept, slope: config.regression_slope },
        threshold: None,
        change: config.change_percent / 100.0,
        floor: config.change_floor_mpki,
        home_margin: config.home_margin_percent / 100.0,
    };
    Scheduler::new(NAME, how)
}
