//! The settings of LFOC+, and settings that are made of those of several policies.

use crate::settings::{ConfigError, PolicyConfig};
use isobar_partition::class::ClassLimits;
use isobar_partition::heuristics::lfoc_plus;
use serde::{Deserialize, Serialize};

/// Settings of LFOC+. An epoch is one decision (the paper partitions twice a second).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `max_str_parts`: streaming programs that one streaming partition is meant for (algorithm 1: 5).
    pub max_streaming_parts: u32,
    /// `gaps_per_str`: light-sharing programs that the room of one streaming program holds (algorithm 1: 3).
    pub gaps_per_streaming: u32,
    /// `ways_str`: ways of a streaming partition (algorithm 1: 2).
    pub ways_streaming: u32,
    /// Per cent of the memory bandwidth that threads of streaming clusters may take, 10 to 100; 0 leaves it as it is.
    pub streaming_bandwidth_percent: u32,
    /// Seconds for which a program runs before it is sampled (section II.B: "after a warm-up period").
    pub warm_up_seconds: f64,
    /// Epochs that a program is measured with each number of ways.
    pub probe_epochs: u32,
    /// LLC misses per 1000 cycles with the fewest ways below which a program shares lightly, whatever its curve.
    pub light_llcmpkc: f64,
    /// LLC misses per 1000 cycles from which a program streams, if ways do not matter to it. Less than in a static study (14): what is measured
    /// beside others is less than what a program misses alone, since it waits for memory longer.
    pub streaming_llcmpkc: f64,
    /// A streaming program has a number of ways with at most this slowdown ...
    pub streaming_slowdown: f64,
    /// ... and none, from `ways_streaming` on, with this slowdown or more. More than in a static study (1.06), since the traffic of others changes
    /// from reading to reading.
    pub streaming_never: f64,
    /// A program is sensitive if two ways or more leave it this slowdown or more; the critical point is the first number of ways below
    /// (section II.B: 5 %).
    pub sensitive_slowdown: f64,
    /// Change, in per cent, of a program's misses per instruction against its curve that does not match its class.
    pub transition_percent: f64,
    /// Epochs in a row that it takes for a class transition.
    pub transition_epochs: u32,
    /// Epochs after a sampling in which the program is not sampled again; twice as many each time that its profile soon is wrong again.
    pub rest_epochs: u32,
    /// The longest such rest.
    pub longest_rest_epochs: u32,
    /// Programs whose profiles are remembered by name for their next run; 0: none.
    pub remembered_programs: u32,
}

impl Default for Config {
    fn default() -> Self {
        let classes = ClassLimits::default();
        Self {
            max_streaming_parts: 5,
            gaps_per_streaming: 3,
            ways_streaming: 2,
            streaming_bandwidth_percent: 0,
            warm_up_seconds: 2.0,
            probe_epochs: 1,
            light_llcmpkc: 0.5,
            streaming_llcmpkc: 10.0,
            streaming_slowdown: classes.streaming_slowdown,
            streaming_never: 1.1,
            sensitive_slowdown: classes.sensitive_slowdown,
            transition_percent: 50.0,
            transition_epochs: 3,
            rest_epochs: 10,
            longest_rest_epochs: 320,
            remembered_programs: 256,
        }
    }
}

impl Config {
    /// Where the classes end.
    #[must_use]
    pub const fn classes(&self) -> ClassLimits {
        ClassLimits {
            streaming_slowdown: self.streaming_slowdown,
            streaming_llcmpkc: self.streaming_llcmpkc,
            streaming_never: self.streaming_never,
            sensitive_slowdown: self.sensitive_slowdown,
        }
    }

    /// Algorithm 1's parameters on an LLC with so many classes of service and such least partitions.
    #[must_use]
    pub fn algorithm(&self, clusters: usize, min_ways: usize) -> lfoc_plus::Settings {
        let index = isobar_model::num::index;
        lfoc_plus::Settings {
            max_streaming_parts: index(self.max_streaming_parts),
            gaps_per_streaming: index(self.gaps_per_streaming),
            ways_streaming: index(self.ways_streaming),
            max_clusters: Some(clusters),
            min_ways,
        }
    }
}

impl PolicyConfig for Config {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        let counts = [
            ("max_streaming_parts", self.max_streaming_parts),
            ("ways_streaming", self.ways_streaming),
            ("probe_epochs", self.probe_epochs),
            ("transition_epochs", self.transition_epochs),
        ];
        counts.into_iter().try_for_each(|(key, value)| at_least(section, key, value, 1))?;
        at_least(section, "longest_rest_epochs", self.longest_rest_epochs, self.rest_epochs)?;
        let slowdowns = [
            ("streaming_slowdown", self.streaming_slowdown),
            ("streaming_never", self.streaming_never),
            ("sensitive_slowdown", self.sensitive_slowdown),
        ];
        slowdowns.into_iter().try_for_each(|(key, value)| number(section, key, value, 1.0, 100.0))?;
        number(section, "warm_up_seconds", self.warm_up_seconds, 0.0, 86_400.0)?;
        number(section, "light_llcmpkc", self.light_llcmpkc, 0.0, 1000.0)?;
        number(section, "streaming_llcmpkc", self.streaming_llcmpkc, 0.0, 1000.0)?;
        number(section, "transition_percent", self.transition_percent, 1.0, 1e6)?;
        match self.streaming_bandwidth_percent {
            0 | 10..=100 => Ok(()),
            other => {
                Err(ConfigError::impossible(section, "streaming_bandwidth_percent", other, "10 to 100, or 0 for none"))
            }
        }
    }
}

fn at_least(section: &str, key: &str, value: u32, least: u32) -> Result<(), ConfigError> {
    let expected = || ConfigError::impossible(section, key, value, &format!("at least {least}"));
    if value >= least { Ok(()) } else { Err(expected()) }
}

/// A setting between two bounds.
///
/// # Errors
/// [`ConfigError::Value`] with both.
pub(super) fn number(section: &str, key: &str, value: f64, least: f64, most: f64) -> Result<(), ConfigError> {
    let expected = || ConfigError::impossible(section, key, value, &format!("{least} to {most}"));
    if (least..=most).contains(&value) { Ok(()) } else { Err(expected()) }
}

/// The defaults of two settings together.
#[must_use]
pub(super) fn merged(mut first: toml::Table, second: toml::Table) -> toml::Table {
    first.extend(second);
    first
}

/// Checks that every key is one of the defaults'.
///
/// # Errors
/// [`ConfigError::Value`] that names the first other one.
pub(super) fn known(section: &str, table: &toml::Table, defaults: &toml::Table) -> Result<(), ConfigError> {
    let Some(key) = table.keys().find(|key| !defaults.contains_key(*key)) else { return Ok(()) };
    let names: Vec<_> = defaults.keys().map(String::as_str).collect();
    let message = format!("unknown key: expected one of {}", names.join(", "));
    Err(ConfigError::Value { key: format!("{section}.{}", key.escape_default()), message })
}

/// Takes the keys of one set of settings out of a table.
pub(super) fn take<C: PolicyConfig>(table: &mut toml::Table) -> toml::Table {
    let known = C::defaults();
    let (own, rest) = std::mem::take(table).into_iter().partition(|(key, _)| known.contains_key(key));
    *table = rest;
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_impossible_is_named() {
        let said = |key: &str, value: toml::Value| {
            let table = toml::Table::from_iter([(key.to_owned(), value)]);
            Config::read("lfoc+", table).unwrap_err().to_string()
        };
        assert_eq!(said("ways_streaming", 0.into()), "lfoc+.ways_streaming: 0 is impossible: expected at least 1");
        assert_eq!(
            said("sensitive_slowdown", 0.5.into()),
            "lfoc+.sensitive_slowdown: 0.5 is impossible: expected 1 to 100"
        );
        assert!(said("streaming_bandwidth_percent", 5.into()).ends_with("expected 10 to 100, or 0 for none"));
        assert!(said("longest_rest_epochs", 1.into()).ends_with("expected at least 10"));
    }
}
