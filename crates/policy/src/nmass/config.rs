//! The settings of the three policies, and what follows from them for a process: its NUMA penalty,
//! and whether its pressure changed. A setting of a step that a policy lacks is `None`.

use super::penalty::{PAPER, Penalties, Penalty, Profile, Regression};
use crate::settings::{ConfigError, Section, between, check, settings};
use isobar_model::{Mpki, Process, num};

settings! {
    /// Settings.
    pub struct Config {
        /// Measured NUMA penalties (CPI remote / CPI local, 1 or more) by the name or pid of a
        /// process, as "soplex=1.3 mcf=1.46" or {soplex = 1.3}; for other processes the regression
        /// estimates it.
        pub penalties: Option<Penalties> = Some(Penalties::default()),
        /// A TOML file of such penalties, for processes that `penalties` lacks; the path is
        /// relative to the configuration file. It has a table `[numa_penalty]` with lines such as
        /// soplex = 1.3.
        pub profile: Option<Profile> = Some(Profile::default()),
        /// Pressure of an LLC, in MPKI (LLC misses per 1000 instructions, summed over its threads),
        /// from which on it takes no remote process: where the interconnect of the machine
        /// saturates (section 3.4: 60 on two Xeon E5520).
        pub threshold_mpki: Option<f64> = Some(60.0),
        /// Estimated NUMA penalty without misses (section 4.5: 1.05).
        pub regression_intercept: f64 = PAPER.intercept,
        /// Growth of the estimated NUMA penalty with each MPKI (section 4.5: 0.015).
        pub regression_slope: f64 = PAPER.slope,
        /// Change of a process's MPKI, in per cent, after which the mapping is made anew (section
        /// 3.4: 20).
        pub change_percent: f64 = 20.0,
        /// MPKI below which changes do not count (section 4.5: programs below 1 are not
        /// memory-bound).
        pub change_floor_mpki: f64 = 1.0,
        /// Home is the node with more than half of a process's pages. Pages, in per cent of all, by
        /// which another node must exceed an old home, or this one lack half, before it is no
        /// longer home.
        pub home_margin_percent: f64 = 10.0,
    }
}

impl Section for Config {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        let threshold = self.threshold_mpki.unwrap_or(1.0);
        let above_0 = threshold.is_finite() && threshold > 0.0;
        check(above_0, section, "threshold_mpki", threshold, "a pressure above 0")?;
        let at_least_0 = |key, value: f64, what| check(value.is_finite() && value >= 0.0, section, key, value, what);
        at_least_0("regression_intercept", self.regression_intercept, "a number of 0 or more")?;
        at_least_0("regression_slope", self.regression_slope, "a number of 0 or more")?;
        at_least_0("change_percent", self.change_percent, "a percentage of 0 or more")?;
        at_least_0("change_floor_mpki", self.change_floor_mpki, "a miss rate of 0 or more")?;
        between(section, "home_margin_percent", self.home_margin_percent, 0.0, 100.0)
    }
}

impl Config {
    /// Merges the penalties of the profile into those that are set.
    #[must_use]
    pub fn merged(mut self) -> Self {
        let file = self.profile.take().unwrap_or_default().0;
        self.penalties = self.penalties.map(|penalties| penalties.or(&file));
        self
    }

    /// The NUMA penalty of a process whose threads have these miss rates. An estimate is made from
    /// their mean.
    #[must_use]
    pub fn penalty(&self, process: &Process, rates: &[f64]) -> Penalty {
        let mean = rates.iter().sum::<f64>() / num::float_len(rates.len().max(1));
        let estimate = Regression { intercept: self.regression_intercept, slope: self.regression_slope };
        let measured = self.penalties.as_ref().and_then(|penalties| penalties.of(process));
        measured.unwrap_or_else(|| estimate.of(Mpki(mean)))
    }

    /// Whether a process's pressure has changed so much that a decision no longer holds.
    #[must_use]
    pub fn is_change(&self, old: f64, new: f64) -> bool {
        old.max(new) >= self.change_floor_mpki && (new - old).abs() > self.change_percent / 100.0 * old
    }
}
