//! Settings of the guest's kernel that a check needs to change.

use crate::evidence;
use anyhow::{Context, Result};
use std::fs;

const TRANSPARENT: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const RANDOMIZED: &str = "/proc/sys/kernel/randomize_va_space";

/// A setting's file and its earlier value, which is restored when this value is dropped.
pub struct Setting {
    file: &'static str,
    before: String,
}

impl Setting {
    /// No transparent huge pages, so that pages move one by one.
    pub fn small_pages() -> Result<Self> {
        let text = evidence::text(TRANSPARENT)?;
        let before = text.split(['[', ']']).nth(1).context("no choice")?.to_owned();
        Self::set(TRANSPARENT, before, "never")
    }

    /// Random addresses for every program. `guest/init` turns them off, because emulated code is
    /// translated again for each address.
    pub fn random_addresses() -> Result<Self> {
        let before = evidence::text(RANDOMIZED)?.trim().to_owned();
        Self::set(RANDOMIZED, before, "2")
    }

    fn set(file: &'static str, before: String, value: &str) -> Result<Self> {
        fs::write(file, value)?;
        Ok(Self { file, before })
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = fs::write(self.file, &self.before);
    }
}
