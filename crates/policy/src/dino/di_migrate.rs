//! `di-migrate`: Distributed Intensity with memory (DINO paper, section 3.2): the threads of [`super::di_plain`], and their pages
//! go with them as in section 4.
//!
//! *Properties*: as `di-plain`; and no page is asked to move to the node where it is, nor more pages than there are.
//!
//! *Departures from the paper*: those of `di-plain`, and the reading of the migration daemon in [`crate::kit::pages`]. There is
//! no ping-pong detection: that is DINO's.

use super::di_plain;
use crate::kit::domains::CachedDomains;
use crate::kit::pages::{Follow, Follower, Place};
use crate::settings::{ConfigError, PolicyConfig};
use isobar_model::{Observation, PageSelection, Plan, Policy, Sensor};
use serde::{Deserialize, Serialize};

/// Canonical name.
pub const NAME: &str = "di-migrate";

/// The sensors that it needs.
pub const NEEDS: &[Sensor] =
    &[Sensor::Instructions, Sensor::LlcMisses, Sensor::SeveralDomains, Sensor::PagesByNode, Sensor::SeveralNodes];

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// K: pages moved around one sampled address (section 4.1: 4096).
    pub pages_per_sample: u64,
    /// Samples in one interval (section 4.2: the daemon wakes every 10 ms).
    pub samples_per_interval: u64,
    /// Move the whole resident set instead of pages around samples (section 5.2).
    pub whole_resident_set: bool,
    /// Remote pages, in per cent of all, below which the rest may stay.
    pub stray_percent: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { pages_per_sample: 4096, samples_per_interval: 100, whole_resident_set: false, stray_percent: 5.0 }
    }
}

impl PolicyConfig for Config {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        check_pages(section, self.pages_per_sample, self.samples_per_interval, self.stray_percent)
    }
}

/// The checks of the settings that DI-Migrate and DINO share.
pub(super) fn check_pages(section: &str, pages: u64, samples: u64, stray: f64) -> Result<(), ConfigError> {
    if pages == 0 {
        return Err(ConfigError::impossible(section, "pages_per_sample", pages, "at least 1"));
    }
    if samples == 0 {
        return Err(ConfigError::impossible(section, "samples_per_interval", samples, "at least 1"));
    }
    if !(0.0..=100.0).contains(&stray) {
        return Err(ConfigError::impossible(section, "stray_percent", stray, "0 to 100"));
    }
    Ok(())
}

/// Which pages a migration takes.
pub(super) fn selection(whole_resident_set: bool) -> PageSelection {
    if whole_resident_set { PageSelection::ResidentSet } else { PageSelection::AroundSamples }
}

/// Distributed Intensity with memory migration.
#[derive(Debug)]
pub struct DiMigrate {
    domains: CachedDomains,
    follower: Follower,
    interval: u64,
}

impl DiMigrate {
    /// With validated settings.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let how = Follow {
            pages_per_sample: config.pages_per_sample,
            samples_per_interval: config.samples_per_interval,
            select: selection(config.whole_resident_set),
            stray_percent: config.stray_percent,
            ping_pong: None,
        };
        Self { domains: CachedDomains::default(), follower: Follower::new(how), interval: 0 }
    }
}

impl Policy for DiMigrate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn needs(&self) -> &'static [Sensor] {
        NEEDS
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        self.interval += 1;
        let domains = self.domains.of(&seen.machine);
        let groups = di_plain::groups(seen, domains);
        let placed = di_plain::place(domains, &groups);
        let places: Vec<_> = placed.iter().map(|placed| Place::of(domains, &placed.member, placed.seat)).collect();
        let asked = self.follower.follow(seen, &places, self.interval);
        let mut plan =
            Plan { actions: di_plain::moves(domains, &placed), notes: groups.notes(), ..Plan::nothing(NAME) };
        plan.actions.extend(asked.actions);
        plan.notes.extend(asked.notes);
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dino::test_kit::{cpus_after, example, with_pages};
    use isobar_model::{Action, NodeId, Pages, Pid};

    #[test]
    fn pages_go_with_the_thread() {
        let mut seen = example("node:2 core:1", &[(1, 1, 50.0), (2, 0, 1.0)]);
        with_pages(&mut seen, 1, &[100, 5000]);
        with_pages(&mut seen, 2, &[0, 300]);
        let plan = DiMigrate::new(&Config { samples_per_interval: 1, ..Config::default() }).decide(&seen);
        assert_eq!(cpus_after(&seen, &plan), [0, 1]);
        let Action::MigratePages { pid, from, to, pages, .. } = &plan.actions[2] else { panic!("{plan:?}") };
        assert_eq!((*pid, *from, *to, *pages), (Pid(1), NodeId(1), NodeId(0), Pages(4096)));
        assert_eq!(plan.actions.len(), 3, "process 2's pages are where it goes");
        assert_eq!(plan.validate(&seen), Ok(()));
    }
}
