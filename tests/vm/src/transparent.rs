//! Transparent huge pages of the guest, off for as long as a check needs pages to go one by one.

use crate::evidence;
use anyhow::{Context, Result};
use std::fs;

const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// What they were before: set again when this is dropped.
pub struct Transparent(String);

impl Transparent {
    /// Turns them off.
    pub fn never() -> Result<Self> {
        let text = evidence::text(FILE)?;
        let now = text.split(['[', ']']).nth(1).context("no choice")?.to_owned();
        fs::write(FILE, "never")?;
        Ok(Self(now))
    }
}

impl Drop for Transparent {
    fn drop(&mut self) {
        let _ = fs::write(FILE, &self.0);
    }
}
