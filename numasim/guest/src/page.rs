//! The modelled machine as the guest sees it: when modelling begins, and what was counted.

use anyhow::{Context, bail};
use numasim_guest::counters::Counters;
use std::process::Command;

/// The machine.
pub struct Machine {
    modelled: bool,
}

impl Machine {
    /// Modelling begins, where it was asked for.
    pub fn begin(modelled: bool) -> anyhow::Result<Self> {
        let machine = Self { modelled };
        machine.control("start")?;
        Ok(machine)
    }

    /// All counters now; `None`: nothing is modelled.
    pub fn counters(&mut self) -> anyhow::Result<Option<Counters>> {
        self.control("publish")?;
        Ok(None)
    }

    /// Empties all caches: a run begins with nothing of the one before.
    pub fn empty(&self) -> anyhow::Result<()> {
        self.control("empty")
    }

    fn control(&self, word: &str) -> anyhow::Result<()> {
        if !self.modelled {
            return Ok(());
        }
        let status = Command::new("numasim-ctl").arg(word).status().context("numasim-ctl")?;
        if status.success() { Ok(()) } else { bail!("numasim-ctl {word}: {status}") }
    }
}
