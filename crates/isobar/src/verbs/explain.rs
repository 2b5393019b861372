//! `isobar explain`: one decision in words, and nothing done.

use super::watch::{self, Needed};
use crate::args::ExplainArgs;
use crate::output::{Chunks, Queue};
use crate::report::{Explain, Json};

/// Watches for as many epochs as asked and explains the last decision.
///
/// # Errors
/// As `manage`: a machine that lacks what the policy needs is told in the same words.
pub fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let mut needed = Needed::from_args(&args.watch)?;
    needed.limits.dry_run = true;
    needed.limits.epochs = Some(args.epochs);
    let queue = Queue::to_stdout(watch::notice(args.watch.json))?;
    let done = tell(args, needed, &queue);
    watch::finish(done, queue)
}

fn tell(args: &ExplainArgs, needed: Needed, queue: &Queue) -> anyhow::Result<()> {
    let (mut out, clock) = (Chunks::of(queue), needed.clock());
    if args.watch.json {
        watch::drive(needed, queue, &mut Json::only_epoch(&mut out, clock, args.epochs))
    } else {
        watch::drive(needed, queue, &mut Explain::new(&mut out, args.epochs))
    }
}
