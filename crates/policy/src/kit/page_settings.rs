//! The settings of page migration (DINO, section 4), which DI-Migrate and DINO share.

use crate::settings::{ConfigError, Section, at_least, between, settings};
use isobar_model::PageSelection;

settings! {
    /// How pages follow.
    pub struct PageSettings {
        /// K: pages moved around one sampled address (section 4.1: 4096).
        pub pages_per_sample: u64 = 4096,
        /// Sampled addresses in one interval (section 4.2: 100 in 1 s, as the daemon wakes every 10
        /// ms).
        pub samples_per_interval: u64 = 100,
        /// Move the whole resident set instead of pages around samples (section 5.2).
        pub whole_resident_set: bool = false,
        /// Remote pages, in per cent of all pages of a process, below which the rest may stay.
        pub stray_percent: f64 = 5.0,
    }
}

impl Section for PageSettings {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        at_least(section, "pages_per_sample", self.pages_per_sample, 1)?;
        at_least(section, "samples_per_interval", self.samples_per_interval, 1)?;
        between(section, "stray_percent", self.stray_percent, 0.0, 100.0)
    }
}

impl PageSettings {
    /// Which pages a migration takes.
    #[must_use]
    pub const fn selection(&self) -> PageSelection {
        if self.whole_resident_set { PageSelection::ResidentSet } else { PageSelection::AroundSamples }
    }
}
