//! `isobar explain`: explains one decision in words, and changes nothing.

use super::Verb;
use super::watch::{self, Needed, WatchArgs};
use crate::failure::bad_input;
use crate::output::{Chunks, Queue};
use crate::report::{self, Json};
use std::io::Write;

/// Make one decision, change nothing, and say why
#[derive(Debug, clap::Parser)]
#[command(
    name = "explain",
    mut_arg("metrics", |metrics| metrics.hide(true)), // refused: explain ends after one decision
    after_help = "Example:
  isobar explain --policy dino --epochs 3
  isobar explain --policy dino --machine sim:examples/workloads/dino-spec.toml"
)]
pub struct Explain {
    /// what to watch and how
    #[command(flatten)]
    watch: WatchArgs,
    /// Epochs to watch before the decision that is explained; policies with a history need more
    /// than one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    epochs: u64,
}

impl Verb for Explain {
    fn run(&self, _: &mut dyn Write) -> anyhow::Result<()> {
        if self.watch.metrics.is_some() {
            return Err(bad_input("--metrics: explain ends after one decision: `isobar manage` serves metrics"));
        }
        let mut needed = Needed::from_args(&self.watch)?;
        needed.metrics = None;
        needed.limits.dry_run = true;
        needed.limits.epochs = Some(self.epochs);
        let queue = Queue::to_stdout(watch::notice(self.watch.json))?;
        let done = show(self, needed, &queue);
        watch::finish(done, queue)
    }
}

fn show(args: &Explain, needed: Needed, queue: &Queue) -> anyhow::Result<()> {
    let (mut out, clock) = (Chunks::of(queue), needed.clock());
    if args.watch.json {
        watch::drive(needed, queue, &mut Json::only_epoch(&mut out, clock, args.epochs))
    } else {
        watch::drive(needed, queue, &mut report::Explain::new(&mut out, args.epochs))
    }
}
