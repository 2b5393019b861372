//! Options that several verbs share, and the parsers of their values.

use crate::failure::bad_input;
use isobar_runtime::settings::Config;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::thread;

/// Settings of policies, for verbs that manage nothing.
#[derive(Debug, clap::Args)]
pub struct Sets {
    /// A setting of a policy, such as dino.stray_percent=10; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Sets {
    /// The configuration with these settings.
    ///
    /// # Errors
    /// Bad input, including settings of `manage`.
    pub fn config(&self) -> anyhow::Result<Config> {
        Config::of_policies(&self.set).map_err(bad_input)
    }
}

/// How many runs are computed at the same time.
#[derive(Debug, clap::Args)]
pub struct Jobs {
    /// Number of runs computed at the same time, which changes no result [default: one for each
    /// CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl Jobs {
    /// The number of runs.
    pub fn count(&self) -> usize {
        jobs(self.jobs)
    }
}

/// The number that was asked for, otherwise one for each CPU.
pub fn jobs(asked: Option<u16>) -> usize {
    asked.map_or_else(|| thread::available_parallelism().map_or(1, NonZero::get), usize::from)
}

/// Parses how many seconds of a simulated machine pass in one second.
///
/// # Errors
/// What a valid value would be.
pub fn speed(text: &str) -> Result<f64, String> {
    within(text, 0.01..=10_000.0, "a factor from 0.01 to 10000, such as 1 or 20")
}

/// Parses a seed.
///
/// # Errors
/// What a valid value would be.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// Parses a positive number of seconds.
///
/// # Errors
/// As [`seed`].
pub fn positive_seconds(text: &str) -> Result<f64, String> {
    within(text, f64::MIN_POSITIVE..=f64::MAX, "seconds above 0, such as 0.5 or 10")
}

/// Parses a number within a range.
///
/// # Errors
/// What a valid value would be.
pub fn within(text: &str, range: RangeInclusive<f64>, expected: &str) -> Result<f64, String> {
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| format!("expected {expected}"))
}
