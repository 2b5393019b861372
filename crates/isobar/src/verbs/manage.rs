//! `isobar manage`: the loop over this machine or a simulated one, told to a person or a program.

use super::watch::{self, Needed};
use crate::args::ManageArgs;
use crate::report::{Human, Json, Profiles};
use isobar_model::Seconds;
use std::io::{self, IsTerminal, Write};

/// Watches, decides, applies, and puts everything back.
///
/// # Errors
/// Bad input; a machine that lacks what the policy needs; whatever keeps the machine from being read or put back.
pub fn run(args: &ManageArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut needed = Needed::from_args(&args.watch)?;
    needed.limits.dry_run = args.dry_run;
    needed.limits.duration = args.duration.map(Seconds);
    needed.profiles = args.save_profiles.clone().map(Profiles::to).transpose()?;
    if args.watch.json {
        watch::drive(needed, &mut Json::new(out))
    } else {
        let columns = io::stdout().is_terminal().then_some(columns as fn() -> usize);
        watch::drive(needed, &mut Human::new(out, columns))
    }
}

/// Columns of the terminal; those of a VT100 where it does not say.
fn columns() -> usize {
    terminal_size::terminal_size_of(io::stdout()).map_or(80, |(width, _)| usize::from(width.0))
}
