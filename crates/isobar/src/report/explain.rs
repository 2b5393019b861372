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

/// Which decision is explained.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    /// The decision of this epoch.
    Of(u64),
    /// The first decision that would change something, or the last one if the run ends before.
    /// Such a decision is waited for until this epoch.
    FirstUntil(u64),
}

impl Which {
    /// The last epoch that it may be.
    pub const fn latest(self) -> u64 {
        match self {
            Self::Of(epoch) | Self::FirstUntil(epoch) => epoch,
        }
    }

    /// Whether it is the decision of an epoch.
    pub fn is(self, epoch: &Epoch<'_>) -> bool {
        let acts = matches!(self, Self::FirstUntil(_)) && !epoch.plan.actions.is_empty();
        acts || epoch.number >= self.latest()
    }
}

/// The reporter of `isobar explain`: silent until the decision that it explains.
pub struct Explain<'a> {
    out: &'a mut dyn Sink,
    which: Which,
    /// The patterns that matched nothing in the first epoch, in words.
    unmatched: Vec<String>,
    /// The latest decision in words, if only the end of the run shows whether it is the one to
    /// explain.
    latest: Vec<String>,
    explained: bool,
    ways: WayMap,
}

impl<'a> Explain<'a> {
    /// A reporter that explains one decision.
    pub fn new(out: &'a mut dyn Sink, which: Which) -> Self {
        let (unmatched, latest) = (Vec::new(), Vec::new());
        Self { out, which, unmatched, latest, explained: false, ways: WayMap::default() }
    }

    fn explain(&mut self) -> Result<(), BoxError> {
        self.explained = true;
        let lines = std::mem::take(&mut self.latest);
        Ok(self.lines(lines)?)
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
        self.unmatched.extend(words::unmatched(epoch));
        let is_it = self.which.is(epoch);
        if !is_it && matches!(self.which, Which::Of(_)) {
            return Ok(());
        }
        self.latest = self.unmatched.clone();
        self.latest.push("busiest processes:".to_owned());
        self.latest.extend(table::busiest(epoch.seen, epoch.managed, ROWS, None));
        self.latest.extend(decision(epoch));
        self.latest.extend(self.ways.draw_all(epoch.managed));
        if is_it { self.explain() } else { Ok(()) }
    }
}

impl Reporter for Explain<'_> {
    fn end(&mut self, tally: &Tally, _: &Aftermath) -> anyhow::Result<()> {
        if !self.explained && !self.latest.is_empty() {
            self.explain().map_err(anyhow::Error::from_boxed)?;
        } else if !self.explained {
            let line = format!("ended after {} of {}", tally.epochs, plural(self.which.latest(), "epoch"));
            self.lines([line])?;
        }
        Ok(self.out.flush()?)
    }
}
