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
    /// Explain the decision after this number of epochs, whatever it is [default: the first one
    /// that would change something; without any, that after 10 epochs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    epochs: Option<u64>,
}

/// Number of epochs to wait for a decision that would change something.
const PATIENCE: u64 = 10;

impl Verb for Explain {
    fn run(&self, _: &mut dyn Write) -> anyhow::Result<()> {
        if self.watch.metrics.is_some() {
            return Err(bad_input("--metrics: explain ends after one decision: `isobar manage` serves metrics"));
        }
        let mut needed = Needed::from_args(&self.watch)?;
        needed.metrics = None;
        needed.limits.dry_run = true;
        needed.limits.epochs = Some(self.epochs.unwrap_or(PATIENCE));
        needed.limits.until_action = self.epochs.is_none();
        let queue = Queue::to_stdout(watch::notice(self.watch.json))?;
        let done = show(self, needed, &queue);
        watch::finish(done, queue)
    }
}

fn show(args: &Explain, needed: Needed, queue: &Queue) -> anyhow::Result<()> {
    let (mut out, clock, limits) = (Chunks::of(queue), needed.clock(), needed.limits);
    if args.watch.json {
        watch::drive(needed, queue, &mut Json::only_last(&mut out, clock, limits))
    } else {
        watch::drive(needed, queue, &mut report::Explain::new(&mut out, limits))
    }
}
