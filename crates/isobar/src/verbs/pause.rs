//! `isobar pause`: the daemon goes on watching and decides nothing.

use super::Verb;
use super::talk::Talk;
use isobar_control::Request;
use std::io::Write;

/// Have the daemon decide nothing until `isobar resume`; what is changed stays so
#[derive(Debug, clap::Parser)]
#[command(
    name = "pause",
    after_help = "Example:
  isobar pause

It goes on watching and recording; pages that are under way still arrive. `systemctl stop isobar` puts everything back."
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
