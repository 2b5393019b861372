//! The settings of `divide-content`: its own and those of LFOC+, in one section.

use super::config::Config as LfocConfig;
use crate::settings::{ConfigError, Section, between, settings};
use isobar_partition::balance;

settings! {
    /// Settings of the contention balancing. A group is the CPUs of one LLC.
    pub struct Balancing {
        /// Seconds from one balancing to the next (section VI-A: 1).
        pub balance_seconds: f64 = 1.0,
        /// `min_migration_period`: seconds for which a program that was moved stays (section V.C:
        /// 8).
        pub min_migration_seconds: f64 = 8.0,
        /// Seconds for which a group that was balanced is not balanced again (algorithm 3,
        /// `recently_balanced`; no figure is given).
        pub group_rest_seconds: f64 = 4.0,
        /// `low_bw_thr`, in per cent of a node's maximum bandwidth: up to here bandwidth does not
        /// matter (section VI-A: 15).
        pub low_bandwidth_percent: f64 = balance::Settings::default().low_bandwidth_percent,
        /// `bw_load_thr`, in per cent of a node's maximum bandwidth: two nodes must differ by more
        /// (section VI-A: 35).
        pub bandwidth_gap_percent: f64 = balance::Settings::default().bandwidth_gap_percent,
        /// `llc_load_thr`, in per cent of the ways, rounded to whole ways: the loads of two LLCs
        /// must differ by more (section VI-A: 5 of 11 ways, 45 %).
        pub llc_gap_percent: f64 = balance::Settings::default().llc_gap_percent,
        /// Per cent of a node's maximum bandwidth below which two rates count as equal.
        pub bandwidth_tie_percent: f64 = balance::Settings::default().bandwidth_tie_percent,
        /// Per cent of a threshold by which a balancing that cannot remove an imbalance must reduce
        /// it, to be worth its migrations.
        pub least_gain_percent: f64 = balance::Settings::default().least_gain_percent,
        /// Epochs for which two uneven groups hold the same programs before they are balanced
        /// (algorithm 2 does not wait); they are balanced anyway after ten times as many.
        pub uneven_epochs: u32 = 3,
        /// Maximum bandwidth of a node's memory, in GB/s; 0: as the machine says, else the most
        /// that was seen of a node, at least 10.
        pub max_bandwidth_gb_per_s: f64 = 0.0,
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

impl Section for Balancing {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        between(section, "balance_seconds", self.balance_seconds, 0.0, 86_400.0)?;
        between(section, "min_migration_seconds", self.min_migration_seconds, 0.0, 86_400.0)?;
        between(section, "group_rest_seconds", self.group_rest_seconds, 0.0, 86_400.0)?;
        between(section, "low_bandwidth_percent", self.low_bandwidth_percent, 0.0, 100.0)?;
        between(section, "bandwidth_gap_percent", self.bandwidth_gap_percent, 0.0, 100.0)?;
        between(section, "llc_gap_percent", self.llc_gap_percent, 0.0, 100.0)?;
        between(section, "bandwidth_tie_percent", self.bandwidth_tie_percent, 0.0, 100.0)?;
        between(section, "least_gain_percent", self.least_gain_percent, 0.0, 1000.0)?;
        between(section, "uneven_epochs", f64::from(self.uneven_epochs), 0.0, 1000.0)?;
        between(section, "max_bandwidth_gb_per_s", self.max_bandwidth_gb_per_s, 0.0, 1e6)
    }
}

/// All settings of `divide-content`: the contention balancing and LFOC+.
pub type Config = (Balancing, LfocConfig);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::PolicyConfig;

    #[test]
    fn one_section_holds_both() {
        let read = |text: &str| Config::default().with("divide-content", text.parse().unwrap());
        let (balancing, lfoc) = read("min_migration_seconds = 4\nways_streaming = 3").unwrap();
        assert_eq!((balancing.min_migration_seconds, lfoc.ways_streaming), (4.0, 3));
        assert_eq!(read("").unwrap(), Config::default());
    }
}
