//! `isobar pause`: makes the daemon stop deciding while it goes on watching.

use super::Verb;
use super::talk::Talk;
use isobar_control::Request;
use std::io::Write;

/// Make the daemon stop deciding until `isobar resume`; what is changed stays changed
#[derive(Debug, clap::Parser)]
#[command(
    name = "pause",
    after_help = "Example:
  isobar pause

The daemon goes on watching and recording, and page migrations under way still complete. `systemctl stop isobar`
restores affinities and cache ways."
)]
pub struct Pause {
    /// which daemon
    #[command(flatten)]
    talk: Talk,
}

impl Verb for Pause {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        self.talk.have_done(&Request::Pause {}, out)
    }
}
