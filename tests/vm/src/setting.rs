//! Settings of the guest's kernel that a check needs otherwise than they are.

use crate::evidence;
use anyhow::{Context, Result};
use std::fs;

const TRANSPARENT: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const RANDOMIZED: &str = "/proc/sys/kernel/randomize_va_space";

/// A setting's file and what it was before: set again when this is dropped.
pub struct Setting {
    file: &'static str,
    before: String,
}

impl Setting {
    /// No transparent huge pages: pages go one by one.
    pub fn small_pages() -> Result<Self> {
        let text = evidence::text(TRANSPARENT)?;
        let before = text.split(['[', ']']).nth(1).context("no choice")?.to_owned();
        Self::set(TRANSPARENT, before, "never")
    }

    /// Every program at addresses of its own, which `guest/init` turns off: emulated code is
    /// translated once for each address.
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
