//! `isobar resume`: lets the daemon decide again.

use super::Verb;
use super::talk::Talk;
use isobar_control::Request;
use std::io::Write;

/// Let a paused daemon decide again
#[derive(Debug, clap::Parser)]
#[command(
    name = "resume",
    after_help = "Example:
  isobar resume"
)]
pub struct Resume {
    /// which daemon
    #[command(flatten)]
    talk: Talk,
}

impl Verb for Resume {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        self.talk.have_done(&Request::Resume {}, out)
    }
}
