//! `isobar undo`: makes the daemon take one action back.

use super::Verb;
use super::talk::Talk;
use isobar_control::Request;
use std::io::Write;

/// Make the daemon take one action back, by its number
#[derive(Debug, clap::Parser)]
#[command(
    name = "undo",
    after_help = "Example:
  isobar undo 12

`isobar status` lists the numbers. A thread gets back the CPUs that it had before isobar's first change, if it is still the same
thread and its owner has not changed them. Pages that are still where the action put them go back, as far as there is room. Cache
ways and the place of new pages become what they were before. The policy does not repeat the action at once: it is held off for a
minute, and for twice as long after each further undo, up to a day."
)]
pub struct Undo {
    /// The number of the action
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
