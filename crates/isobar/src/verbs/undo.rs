//! `isobar undo`: one action of the daemon is taken back.

use super::Verb;
use super::talk::Talk;
use isobar_control::Request;
use std::io::Write;

/// Have the daemon take one action back, by its number
#[derive(Debug, clap::Parser)]
#[command(
    name = "undo",
    after_help = "Example:
  isobar undo 12

`isobar status` lists the numbers. A thread gets back the CPUs that it had before isobar's first change, if it is still the same
and its owner has not changed it; pages go back that are still where the action put them, as far as there is room; cache ways and
where new pages go are as before. The policy does not do the same again at once: for a minute, and twice as long each time."
)]
pub struct Undo {
    /// The action's number
    #[arg(value_name = "ID")]
    id: u64,
    /// which daemon
    #[command(flatten)]
    talk: Talk,
}

impl Verb for Undo {
    fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        self.talk.have_done(&Request::Undo { id: self.id }, out)
    }
}
