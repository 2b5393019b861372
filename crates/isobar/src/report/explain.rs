//! The output of `isobar explain`: the machine, what was seen, the one decision in words, and what
//! the decision is based on.

use super::ways::WayMap;
use super::{AfterRun, Reporter, changes, table, words};
use crate::output::Sink;
use crate::text::{plain, plural};
use isobar_model::Action;
use isobar_runtime::{BoxError, Epoch, Limits, Observer, Start, Tally};
use std::io;

/// Maximum number of processes in the table. It is large because the output of `explain` is read
/// once, at leisure.
const ROWS: usize = 40;

/// The reporter of `isobar explain`: explains the last decision of the run, at its end.
pub struct Explain<'a> {
    out: &'a mut dyn Sink,
    limits: Limits,
    /// The patterns that matched nothing in the first epoch, in words.
    unmatched: Vec<String>,
    /// The latest decision that may be the last one, in words.
    latest: Vec<String>,
    ways: WayMap,
}

impl<'a> Explain<'a> {
    /// A reporter for a run within these limits.
    pub fn new(out: &'a mut dyn Sink, limits: Limits) -> Self {
        Self { out, limits, unmatched: Vec::new(), latest: Vec::new(), ways: WayMap::default() }
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
    let reason = |each: &Action| format!("    reason: {}", each.reason());
    lines.extend(epoch.plan.actions.iter().flat_map(|each| [action(each), reason(each)]));
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
        self.unmatched.extend(words::unmatched(epoch));
        if !self.limits.may_end_after(epoch.number) {
            return Ok(());
        }
        self.latest = self.unmatched.clone();
        self.latest.push("busiest processes:".to_owned());
        self.latest.extend(table::busiest(epoch.seen, epoch.managed, ROWS, None));
        self.latest.extend(decision(epoch));
        self.latest.extend(self.ways.draw_all(epoch.managed));
        Ok(())
    }
}

impl Reporter for Explain<'_> {
    fn end(&mut self, tally: &Tally, _: &AfterRun) -> anyhow::Result<()> {
        let mut lines = std::mem::take(&mut self.latest);
        if lines.is_empty() {
            let most = self.limits.epochs.unwrap_or(tally.epochs);
            lines.push(format!("ended after {} of {}", tally.epochs, plural(most, "epoch")));
        }
        self.lines(lines)?;
        Ok(self.out.flush()?)
    }
}
