//! The output of `isobar explain`: the machine, what was seen, the one decision in words, and what
//! the decision is based on.

use super::ways::WayMap;
use super::{Aftermath, Reporter, changes, table, words};
use crate::output::Sink;
use crate::text::{plain, plural};
use isobar_runtime::{BoxError, Epoch, Observer, Start, Tally};
use std::io;

/// Maximum number of processes in the table. It is large because the output of `explain` is read
/// once, at leisure.
const ROWS: usize = 40;

/// The reporter of `isobar explain`: silent until the last epoch.
pub struct Explain<'a> {
    out: &'a mut dyn Sink,
    last_epoch: u64,
    ways: WayMap,
}

impl<'a> Explain<'a> {
    /// A reporter that explains the decision of epoch `last_epoch`.
    pub fn new(out: &'a mut dyn Sink, last_epoch: u64) -> Self {
        Self { out, last_epoch, ways: WayMap::default() }
    }

    fn lines(&mut self, lines: impl IntoIterator<Item = String>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| writeln!(self.out, "{}", plain(&line)))
    }
}

fn decision(epoch: &Epoch<'_>) -> Vec<String> {
    let actions = epoch.plan.actions.len();
    let mut lines = vec![if actions == 0 {
        format!("{} would do nothing after epoch {}", epoch.plan.policy, epoch.number)
    } else {
        format!("{} would take {} after epoch {}:", epoch.plan.policy, plural(actions, "action"), epoch.number)
    }];
    let action = |action| format!("  {}", words::action_in_words(action, epoch.managed));
    let because = |reason: &str| format!("    because {reason}");
    lines.extend(epoch.plan.actions.iter().flat_map(|each| [action(each), because(each.reason())]));
    lines.extend(changes::lines(epoch.plan, epoch.managed));
    lines.extend(epoch.plan.notes.iter().map(|note| format!("note: {note}")));
    lines
}

impl Observer for Explain<'_> {
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        self.lines(words::facts(start))?;
        self.lines(words::concerns(start))?;
        Ok(self.out.flush()?)
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        self.ways.take(epoch.plan, epoch.outcome);
        if epoch.number < self.last_epoch {
            return Ok(());
        }
        self.lines(words::unmatched(epoch))?;
        self.lines(["busiest processes:".to_owned()])?;
        self.lines(table::busiest(epoch.seen, epoch.managed, ROWS, None))?;
        self.lines(decision(epoch))?;
        Ok(self.lines(self.ways.draw_all(epoch.managed))?)
    }
}

impl Reporter for Explain<'_> {
    fn end(&mut self, tally: &Tally, _: &Aftermath) -> anyhow::Result<()> {
        if tally.epochs < self.last_epoch {
            let line = format!("ended after {} of {}", tally.epochs, plural(self.last_epoch, "epoch"));
            self.lines([line])?;
        }
        Ok(self.out.flush()?)
    }
}
