//! `isobar doctor`: may NUMA or cache contention matter on this machine now?

use super::Verb;
use super::watch::WatchArgs;
use std::io::Write;

/// Ask whether NUMA or cache contention may matter now: yes, no, or not measurable
#[derive(Debug, clap::Parser)]
#[command(
    name = "doctor",
    after_help = "Example:
  isobar doctor"
)]
pub struct Doctor {
    /// what to watch and how
    #[command(flatten)]
    watch: WatchArgs,
}

impl Verb for Doctor {
    fn run(&self, _: &mut dyn Write) -> anyhow::Result<()> {
        let _ = &self.watch;
        Ok(())
    }
}
