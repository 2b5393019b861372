//! `isobar manage`: the loop over this machine or a simulated one, told to a person or a program.

use super::watch::{self, Needed};
use crate::args::ManageArgs;
use crate::output::{Chunks, Queue};
use crate::report::{Human, Json, Profiles, Size, Volume};
use isobar_model::Seconds;
use std::io::{self, IsTerminal};

/// Watches, decides, applies, and puts everything back.
///
/// # Errors
/// Bad input; a machine that lacks what the policy needs; whatever keeps the machine from being read or put back.
pub fn run(args: &ManageArgs) -> anyhow::Result<()> {
    let mut needed = Needed::from_args(&args.watch)?;
    needed.limits.dry_run = args.dry_run;
    needed.limits.despite_missing = args.dry_run;
    needed.limits.duration = args.duration.map(Seconds);
    needed.profiles = args.save_profiles.clone().map(Profiles::to).transpose()?;
    let queue = Queue::to_stdout(watch::notice(args.watch.json))?;
    let done = tell(args, needed, &queue);
    watch::finish(done, queue)
}

fn tell(args: &ManageArgs, needed: Needed, queue: &Queue) -> anyhow::Result<()> {
    let (mut out, clock) = (Chunks::of(queue), needed.clock());
    if args.watch.json {
        return watch::drive(needed, queue, &mut Json::new(&mut out, clock));
    }
    let size = io::stdout().is_terminal().then_some(size as fn() -> Size);
    watch::drive(needed, queue, &mut Human::new(&mut out, size, clock, volume(args)))
}

const fn volume(args: &ManageArgs) -> Volume {
    match (args.quiet, args.verbose) {
        (true, _) => Volume::Quiet,
        (_, true) => Volume::Verbose,
        _ => Volume::Normal,
    }
}

/// The size of the terminal; that of a VT100 where it does not say.
fn size() -> Size {
    let known = terminal_size::terminal_size_of(io::stdout());
    known.map_or(Size { columns: 80, rows: 24 }, |(width, height)| Size {
        columns: usize::from(width.0),
        rows: usize::from(height.0),
    })
}
