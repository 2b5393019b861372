//! The settings of `divide-content`: its own, and those of LFOC+ in the same section.

use super::config::{self, Config as LfocConfig, number};
use crate::settings::{ConfigError, PolicyConfig};
use isobar_partition::balance;
use serde::{Deserialize, Serialize};

/// Settings of the contention balancing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Balancing {
    /// Seconds from one balancing to the next (section VI-A: 1).
    pub balance_seconds: f64,
    /// `min_migration_period`: seconds for which a program that was moved stays (section V.C: 8).
    pub min_migration_seconds: f64,
    /// Seconds for which a group that was balanced is not balanced again (algorithm 3, `recently_balanced`; no figure is given).
    pub group_rest_seconds: f64,
    /// `low_bw_thr`, in per cent of a node's maximum bandwidth (section VI-A: 15).
    pub low_bandwidth_percent: f64,
    /// `bw_load_thr`, in per cent of a node's maximum bandwidth (section VI-A: 35).
    pub bandwidth_gap_percent: f64,
    /// `llc_load_thr`, in per cent of the ways, rounded to whole ways (section VI-A: 5 of 11 ways, 45 %).
    pub llc_gap_percent: f64,
    /// Per cent of a node's maximum bandwidth below which two rates count as equal.
    pub bandwidth_tie_percent: f64,
    /// Per cent of a threshold that a balancing which cannot mend an imbalance must take off it, to be worth its migrations.
    pub least_gain_percent: f64,
    /// Epochs for which two uneven groups hold the same programs before they are balanced (algorithm 2 does not wait); balanced anyway after
    /// ten times as many.
    pub uneven_epochs: u32,
    /// What a node's memory delivers at most, in GB/s; 0: as the machine says, else the most that was seen of a node, at least 10.
    pub max_bandwidth_gb_per_s: f64,
}

impl Default for Balancing {
    fn default() -> Self {
        let thresholds = balance::Settings::default();
        Self {
            balance_seconds: 1.0,
            min_migration_seconds: 8.0,
            group_rest_seconds: 4.0,
            low_bandwidth_percent: thresholds.low_bandwidth_percent,
            bandwidth_gap_percent: thresholds.bandwidth_gap_percent,
            llc_gap_percent: thresholds.llc_gap_percent,
            bandwidth_tie_percent: thresholds.bandwidth_tie_percent,
            least_gain_percent: thresholds.least_gain_percent,
            uneven_epochs: 3,
            max_bandwidth_gb_per_s: 0.0,
        }
    }
}

impl Balancing {
    /// The thresholds, as shares.
    #[must_use]
    pub const fn thresholds(&self) -> balance::Settings {
        balance::Settings {
            llc_gap_percent: self.llc_gap_percent,
            low_bandwidth_percent: self.low_bandwidth_percent,
            bandwidth_gap_percent: self.bandwidth_gap_percent,
            bandwidth_tie_percent: self.bandwidth_tie_percent,
            least_gain_percent: self.least_gain_percent,
        }
    }
}

impl PolicyConfig for Balancing {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        let keys = [
            ("balance_seconds", self.balance_seconds, 86_400.0),
            ("min_migration_seconds", self.min_migration_seconds, 86_400.0),
            ("group_rest_seconds", self.group_rest_seconds, 86_400.0),
            ("low_bandwidth_percent", self.low_bandwidth_percent, 100.0),
            ("bandwidth_gap_percent", self.bandwidth_gap_percent, 100.0),
            ("llc_gap_percent", self.llc_gap_percent, 100.0),
            ("bandwidth_tie_percent", self.bandwidth_tie_percent, 100.0),
            ("least_gain_percent", self.least_gain_percent, 1000.0),
            ("uneven_epochs", f64::from(self.uneven_epochs), 1000.0),
            ("max_bandwidth_gb_per_s", self.max_bandwidth_gb_per_s, 1e6),
        ];
        keys.into_iter().try_for_each(|(key, value, most)| number(section, key, value, 0.0, most))
    }
}

/// All settings of `divide-content`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The contention balancing.
    pub balancing: Balancing,
    /// LFOC+.
    pub lfoc: LfocConfig,
}

impl Config {
    /// All defaults, in one table.
    #[must_use]
    pub fn defaults() -> toml::Table {
        config::merged(Balancing::defaults(), LfocConfig::defaults())
    }

    /// Reads and checks a section.
    ///
    /// # Errors
    /// [`ConfigError::Value`] that names the key.
    pub fn read(section: &str, mut table: toml::Table) -> Result<Self, ConfigError> {
        config::known(section, &table, &Self::defaults())?;
        let own = config::take::<Balancing>(&mut table);
        Ok(Self { balancing: Balancing::read(section, own)?, lfoc: LfocConfig::read(section, table)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_section_holds_both() {
        let read = |text: &str| Config::read("divide-content", text.parse().unwrap());
        let config = read("min_migration_seconds = 4\nways_streaming = 3").unwrap();
        assert_eq!((config.balancing.min_migration_seconds, config.lfoc.ways_streaming), (4.0, 3));
        assert_eq!(read("").unwrap(), Config::default());
        let said = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(
            said("llc_gap_percent = 101"),
            "divide-content.llc_gap_percent: 101 is impossible: expected 0 to 100"
        );
        assert!(
            said("llc_gap = 5").starts_with("divide-content.llc_gap: unknown key: expected one of balance_seconds,")
        );
    }
}
