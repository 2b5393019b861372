//! The settings of `isobar`, each with its meaning beside it.

use super::named::parse_target;
use crate::settings::{ConfigError, Section, at_least, between, settings};
use isobar_groups::Selector;
use isobar_model::Observation;
use serde::{Deserialize, Serialize};

/// What the policy maximises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The mean speed of all programs.
    Throughput,
    /// The speed of the programs that suffer most.
    Fairness,
}

settings! {
    /// The settings of `isobar`.
    pub struct Config {
        /// Epochs that a core must be idle before it counts as free. Also how long a change should
        /// last so that its effect can be measured; a program expected to end or change sooner
        /// needs a proportionally larger predicted gain.
        pub watch_epochs: u32 = 5,
        /// Smallest predicted gain, in per cent of the speed of each program that is moved.
        /// Readings over a few seconds cannot distinguish smaller gains from chance.
        pub min_gain_percent: f64 = 3.0,
        /// Required margin of a predicted gain, as a multiple of the recent mean shortfall of
        /// predictions: 1 requires a gain above that mean. The larger of this margin and
        /// `min_gain_percent` applies.
        pub error_weight: f64 = 1.0,
        /// Largest predicted loss of one program, in per cent of its speed, unless all programs
        /// together gain five times as much and it loses no more than about a quarter of its speed.
        /// A change is taken back if one program loses twice this, unless the total gain is four
        /// times its loss and it lost no more than about half of its speed.
        pub max_loss_percent: f64 = 5.0,
        /// Names of programs or groups that are protected, such as ["my*", "unit:redis.service"].
        /// No change is made that is predicted to slow them down, a measurable loss of one ends the
        /// trial of a change, and their gains weigh more.
        pub protect: Vec<String> = Vec::new(),
        /// Largest acceptable slowdown of programs or groups, compared with running alone, such as
        /// ["my*=1.5", "unit:redis.service=1.2"]. A program above its target is protected until it
        /// meets the target again, and no change is made that is predicted to push one above its
        /// target. Within its target a program may lose more than `max_loss_percent`.
        pub targets: Vec<String> = Vec::new(),
        /// Weight of the gain of a protected program; other programs have weight 1.
        pub protect_weight: f64 = 4.0,
        /// What is maximised: "throughput" is the mean of the logarithms of all programs' speeds;
        /// "fairness" is the same, with each program weighted by the square of its slowdown.
        pub objective: Objective = Objective::Throughput,
        /// Epochs that are compared before and after a change.
        pub window_epochs: u32 = 3,
        /// Epochs after a change, and after its last page has moved, that are not compared, because
        /// caches fill in that time.
        pub settle_epochs: u32 = 1,
        /// Seconds for which a program is left alone after a change to it that did not help;
        /// doubled each time.
        pub rest_seconds: f64 = 30.0,
        /// Maximum number of times per hour that the threads of one program are moved, counting
        /// moves back. With `guard`, one move is reserved for taking a change back, so 1 means no
        /// moves.
        pub moves_per_hour: u32 = 3,
        /// Whether threads are moved.
        pub threads: bool = true,
        /// Whether pages are moved.
        pub pages: bool = true,
        /// Whether ways of caches are divided.
        pub ways: bool = true,
        /// Whether the memory bandwidth of programs is limited, where ways are divided.
        pub bandwidth: bool = true,
        /// Take back changes that did harm.
        pub guard: bool = true,
        /// Whether the cost of a change is weighed against its gain.
        pub cost: bool = true,
        /// Maximum number of placements evaluated exactly per epoch, for up to 40 threads; fewer
        /// for more threads, so that the time of a decision is bounded.
        pub solutions: u32 = 24,
        /// Memory of a node, in per cent, that stays free.
        pub keep_free_percent: f64 = 2.0,
    }
}

impl Config {
    /// Epochs that a trial takes once everything is in its place: some for caches to warm, and some
    /// to read.
    #[must_use]
    pub const fn trial_epochs(&self) -> u32 {
        self.settle_epochs + self.window_epochs
    }

    /// Seconds from a change to its verdict, if there are no pages to wait for.
    #[must_use]
    pub fn judged_after(&self, seen: &Observation) -> f64 {
        f64::from(self.trial_epochs() + 1) * seen.interval.0
    }
}

impl Section for Config {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        for (key, value) in [
            ("min_gain_percent", self.min_gain_percent),
            ("error_weight", self.error_weight),
            ("rest_seconds", self.rest_seconds),
        ] {
            between(section, key, value, 0.0, 1e6)?;
        }
        for wanted in &self.protect {
            Selector::check(wanted)
                .map_err(|message| ConfigError::Value { key: format!("{section}.protect"), message })?;
        }
        for target in &self.targets {
            parse_target(target)
                .map_err(|message| ConfigError::Value { key: format!("{section}.targets"), message })?;
        }
        between(section, "max_loss_percent", self.max_loss_percent, 0.0, 100.0)?;
        between(section, "protect_weight", self.protect_weight, 1.0, 100.0)?;
        between(section, "keep_free_percent", self.keep_free_percent, 0.0, 100.0)?;
        at_least(section, "window_epochs", self.window_epochs, 2)?;
        at_least(section, "solutions", self.solutions, 2)
    }
}
