//! What `manage` tells a person: a header, one line an action with its reason, a status line, tables of the busiest
//! processes, a summary. Every line is escaped as a whole before it is written, whatever went into it.

use super::{table, words};
use crate::harness::{Epoch, Reporter, Start, Tally};
use crate::text::{plain, plural, short};
use isobar_model::{ActionOutcome, Observation};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Epochs between two status lines where no terminal shows a moving one.
const STATUS_EVERY: u64 = 10;

/// A longer status line would wrap on a narrow terminal, and what wraps cannot be overwritten.
const STATUS_WIDTH: usize = 79;

/// The reporter of `isobar manage`.
pub struct Human<'a> {
    out: &'a mut dyn Write,
    terminal: bool,
    dry_run: bool,
    /// Whether the moving status line stands on the terminal.
    status_shown: bool,
    errnos_told: BTreeSet<Option<i32>>,
    notes: Vec<String>,
    last: Option<(Observation, Observation)>,
}

impl<'a> Human<'a> {
    /// A reporter to `out`, which is a terminal or not.
    pub fn new(out: &'a mut dyn Write, terminal: bool) -> Self {
        Self {
            out,
            terminal,
            dry_run: false,
            status_shown: false,
            errnos_told: BTreeSet::new(),
            notes: Vec::new(),
            last: None,
        }
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        if std::mem::take(&mut self.status_shown) {
            // Back to the first column, and clear what the status line left.
            self.out.write_all(b"\r\x1b[K")?;
        }
        writeln!(self.out, "{}", plain(text))
    }

    fn lines(&mut self, lines: impl IntoIterator<Item = String>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.line(&line))
    }

    fn actions(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        for (index, action) in epoch.plan.actions.iter().enumerate() {
            let outcome = epoch.outcome.and_then(|outcome| outcome.actions.get(index));
            let what = words::action_in_words(action, epoch.managed);
            let became = words::outcome_in_words(outcome);
            self.line(&format!("epoch {}: {what}: {} [{became}]", epoch.number, action.reason()))?;
            self.refusal(outcome)?;
        }
        Ok(())
    }

    /// The first refusal of its kind, with its remedy.
    fn refusal(&mut self, outcome: Option<&ActionOutcome>) -> io::Result<()> {
        match outcome {
            Some(ActionOutcome::Refused { errno, why }) if self.errnos_told.insert(*errno) => {
                self.line(&format!("refused: {why} (told once, counted from here on)"))
            }
            _ => Ok(()),
        }
    }

    /// What the policy notes, where it did not note the same in the epoch before.
    fn notes(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        let before = std::mem::replace(&mut self.notes, epoch.plan.notes.clone());
        let fresh = epoch.plan.notes.iter().filter(|note| !before.contains(note));
        let lines: Vec<String> = fresh.map(|note| format!("epoch {}: {note}", epoch.number)).collect();
        self.lines(lines)
    }

    fn status(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        let text = short(&status_line(epoch), STATUS_WIDTH);
        if self.terminal {
            self.status_shown = true;
            write!(self.out, "\r\x1b[K{text}")?;
        } else if epoch.number.is_multiple_of(STATUS_EVERY) {
            writeln!(self.out, "{text}")?;
        }
        self.out.flush()
    }

    fn first_table(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        self.lines(words::unmatched(epoch))?;
        self.line("busiest processes:")?;
        self.lines(table::busiest(epoch.seen, epoch.managed))
    }
}

fn status_line(epoch: &Epoch<'_>) -> String {
    let threads = |seen: &Observation| u64::try_from(seen.threads().count()).unwrap_or(u64::MAX);
    format!(
        "epoch {} at {:.1} s: {}, {} managed; {} decided, {} moved, {}",
        epoch.number,
        epoch.seen.time.0,
        plural(threads(epoch.seen), "thread"),
        threads(epoch.managed),
        plural(epoch.tally.planned, "action"),
        epoch.tally.moves,
        plural(epoch.tally.pages.0, "page")
    )
}

impl Reporter for Human<'_> {
    fn begin(&mut self, start: &Start<'_>) -> anyhow::Result<()> {
        self.dry_run = start.limits.dry_run;
        self.lines(words::header(start))?;
        Ok(self.out.flush()?)
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> anyhow::Result<()> {
        if epoch.number == 1 {
            self.first_table(epoch)?;
        }
        self.actions(epoch)?;
        self.notes(epoch)?;
        self.status(epoch)?;
        self.last = Some((epoch.seen.clone(), epoch.managed.clone()));
        Ok(())
    }

    fn end(&mut self, tally: &Tally) -> anyhow::Result<()> {
        if let Some((seen, managed)) = self.last.take().filter(|_| tally.epochs > 1) {
            self.line("busiest processes at the end:")?;
            self.lines(table::busiest(&seen, &managed))?;
        }
        let stopped = if tally.interrupted { "stopped by a signal: " } else { "" };
        let mut lines = words::summary(tally, self.dry_run);
        if let Some(first) = lines.first_mut() {
            first.insert_str(0, stopped);
        }
        self.lines(lines)?;
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
#[path = "human_tests.rs"]
mod tests;
