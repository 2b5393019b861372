//! The settings of `isobar`. None was tuned to a workload: each has its reason beside it.

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
        /// Epochs for which a core whose thread has ended or sleeps is idle before it counts as
        /// free, and for which what a change brings should last, so that it can be checked: where a
        /// program is not expected to go on for as long, since it is young or about to end, more
        /// must be gained, in proportion.
        pub watch_epochs: u32 = 5,
        /// The least predicted gain, in per cent of the speed of each program that is moved: below
        /// it, readings of some seconds cannot tell a gain from chance.
        pub min_gain_percent: f64 = 3.0,
        /// By how much of what changes fell short of their predictions lately a predicted gain must
        /// exceed nothing: 1 is the mean of it.
        pub error_weight: f64 = 1.0,
        /// The most, in per cent of its speed, that a program may be predicted to lose so that
        /// others gain, unless all together gain five times as much. A change by which one loses
        /// twice that is taken back, unless all together gained four times its loss and it lost no
        /// more than half of its speed.
        pub max_loss_percent: f64 = 5.0,
        /// Names of programs, or groups, that are protected, such as ["my*", "unit:redis.service"]:
        /// none is predicted to lose by a change, one that measurably loses ends its trial, and its
        /// gain weighs more.
        pub protect: Vec<String> = Vec::new(),
        /// How many times as long as alone programs, or groups, may take, such as ["my*=1.5",
        /// "unit:redis.service=1.2"]: one that is slower is protected until it is not, and none is
        /// predicted to become slower than that, whatever all together gain. Within its target one
        /// may lose more than `max_loss_percent`.
        pub targets: Vec<String> = Vec::new(),
        /// How much the gain of a protected program weighs, where that of another weighs 1.
        pub protect_weight: f64 = 4.0,
        /// What is to be greatest: "throughput", the mean speed of all (of its logarithm), or
        /// "fairness", where a program weighs by the square of its slowdown.
        pub objective: Objective = Objective::Throughput,
        /// Epochs that are compared before and after a change.
        pub window_epochs: u32 = 3,
        /// Epochs after a change, and after its last page has moved, that are not compared: caches
        /// fill within one.
        pub settle_epochs: u32 = 1,
        /// Seconds for which a program is left alone after a change to it that did not help;
        /// doubled each time.
        pub rest_seconds: f64 = 30.0,
        /// The most times in an hour that the threads of a program are moved, those included that
        /// take it back. While `guard` is on, it is moved only where taking it back would still be
        /// within that, so that 1 is none.
        pub moves_per_hour: u32 = 3,
        /// Whether threads are moved.
        pub threads: bool = true,
        /// Whether pages are moved.
        pub pages: bool = true,
        /// Whether ways of caches are divided.
        pub ways: bool = true,
        /// Whether the memory bandwidth of programs is limited, where ways are divided.
        pub bandwidth: bool = true,
        /// Whether what did not help is taken back.
        pub guard: bool = true,
        /// Whether the cost of a change is weighed against its gain.
        pub cost: bool = true,
        /// The most placements that are solved exactly in an epoch, for 40 threads or fewer; fewer
        /// for more threads, so that a decision has a bounded time.
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
