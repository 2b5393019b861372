//! The settings of page migration (DINO, section 4), which DI-Migrate and DINO share.

use crate::settings::{ConfigError, Section, at_least, between, settings};
use isobar_model::{PageSelection, Seconds, num};

settings! {
    /// How pages follow.
    pub struct PageSettings {
        /// K: pages moved around one sampled address (section 4.1: 4096).
        pub pages_per_sample: u64 = 4096,
        /// Sampled addresses in a second (section 4.2: 100, as the daemon wakes every 10 ms); an
        /// interval has as many as its length allows.
        pub samples_per_second: u64 = 100,
        /// Move the whole resident set instead of pages around samples (section 5.2).
        pub whole_resident_set: bool = false,
        /// Remote pages, in per cent of all pages of a process, below which the rest may stay.
        pub stray_percent: f64 = 5.0,
    }
}

impl Section for PageSettings {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        at_least(section, "pages_per_sample", self.pages_per_sample, 1)?;
        at_least(section, "samples_per_second", self.samples_per_second, 1)?;
        between(section, "stray_percent", self.stray_percent, 0.0, 100.0)
    }
}

impl PageSettings {
    /// The most pages that are asked for between two nodes in an interval: K per sample.
    #[must_use]
    pub fn pages_in(&self, interval: Seconds) -> u64 {
        let samples = num::round(num::float(self.samples_per_second) * interval.0).max(1);
        self.pages_per_sample.saturating_mul(samples)
    }

    /// Which pages a migration takes.
    #[must_use]
    pub const fn selection(&self) -> PageSelection {
        if self.whole_resident_set { PageSelection::ResidentSet } else { PageSelection::AroundSamples }
    }
}
