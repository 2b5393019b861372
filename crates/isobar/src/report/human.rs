//! What `manage` tells a person: a header, one line an action with its reason, a status line, tables of the busiest
//! processes, a summary. Every line is escaped as a whole before it is written, whatever went into it.

use super::remarks::Told;
use super::ways::WayMap;
use super::{table, words};
use crate::harness::{Epoch, Reporter, Start, Tally};
use crate::text::{plain, plural, short};
use crate::truth::Truth;
use isobar_model::{ActionOutcome, Observation};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Back to the first column, and clears to the end of the line.
const ERASE: &[u8] = b"\r\x1b[K";

/// Epochs between two status lines where no terminal shows a moving one.
const STATUS_EVERY: u64 = 10;

/// Stands below way maps of a dry run.
const DRY_CLASSES: &str = "(dry run: nobody was isolated to be sampled, so classes that no profile gives are guesses)";

/// The longest table that fits a screen beside the rest.
const ROWS: usize = 10;

/// The longest status line, however wide the terminal.
const STATUS_WIDTH: usize = 100;

/// The reporter of `isobar manage`.
pub struct Human<'a> {
    out: &'a mut dyn Write,
    /// Columns of the terminal, asked anew for each status line since windows change; `None` where it is no terminal.
    columns: Option<fn() -> usize>,
    dry_run: bool,
    /// Whether the moving status line stands on the terminal.
    status_shown: bool,
    errnos_told: BTreeSet<Option<i32>>,
    notes: Vec<String>,
    remarks: Told,
    last: Option<(Observation, Observation)>,
    ways: WayMap,
}

impl<'a> Human<'a> {
    /// A reporter to `out`, with how to learn its columns where it is a terminal.
    pub fn new(out: &'a mut dyn Write, columns: Option<fn() -> usize>) -> Self {
        Self {
            out,
            columns,
            dry_run: false,
            status_shown: false,
            errnos_told: BTreeSet::new(),
            notes: Vec::new(),
            remarks: Told::default(),
            last: None,
            ways: WayMap::default(),
        }
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.erase_status()?;
        writeln!(self.out, "{}", plain(text))
    }

    /// Back to the first column, and clears what the status line left.
    fn erase_status(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.status_shown) { self.out.write_all(ERASE) } else { Ok(()) }
    }

    fn lines(&mut self, lines: impl IntoIterator<Item = String>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.line(&line))
    }

    /// A heading, and below it what was decided and what became of it.
    fn decision(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        let notes = self.fresh_notes(epoch);
        if epoch.plan.actions.is_empty() && notes.is_empty() {
            return Ok(());
        }
        let actions = u64::try_from(epoch.plan.actions.len()).unwrap_or(u64::MAX);
        self.line(&format!("epoch {} at {:.1} s: {}", epoch.number, epoch.seen.time.0, plural(actions, "action")))?;
        self.actions(epoch)?;
        let changed = self.ways.take(epoch.plan, epoch.outcome);
        let drawn = self.ways.draw(&changed, epoch.managed);
        // Policies learn classes from what they set: a dry run shows them a program that does not answer to its ways.
        let guess = (self.dry_run && !drawn.is_empty()).then(|| DRY_CLASSES.to_owned());
        self.lines(drawn.into_iter().chain(guess).map(|line| format!("  {line}")))?;
        self.lines(notes)
    }

    fn actions(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        for (index, action) in epoch.plan.actions.iter().enumerate() {
            let outcome = epoch.outcome.and_then(|outcome| outcome.actions.get(index));
            let what = words::action_in_words(action, epoch.managed);
            let became = words::outcome_in_words(outcome);
            self.line(&format!("  {what}: {} [{became}]", action.reason()))?;
            self.refusal(outcome)?;
        }
        Ok(())
    }

    /// The first refusal of its kind, with its remedy.
    fn refusal(&mut self, outcome: Option<&ActionOutcome>) -> io::Result<()> {
        match outcome {
            Some(ActionOutcome::Refused { errno, why }) if self.errnos_told.insert(*errno) => {
                self.line(&format!("  refused: {why} (told once, counted from here on)"))
            }
            _ => Ok(()),
        }
    }

    /// What the policy notes, where it did not note the same in the epoch before.
    fn fresh_notes(&mut self, epoch: &Epoch<'_>) -> Vec<String> {
        let before = std::mem::replace(&mut self.notes, epoch.plan.notes.clone());
        let fresh = epoch.plan.notes.iter().filter(|note| !before.contains(note));
        fresh.map(|note| format!("  note: {note}")).collect()
    }

    fn status(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        let text = status_line(epoch);
        if let Some(columns) = self.columns {
            // What wraps cannot be erased: one column stays free, on which some terminals wrap already.
            let width = columns().saturating_sub(1).min(STATUS_WIDTH);
            self.status_shown = true;
            self.out.write_all(ERASE)?;
            write!(self.out, "{}", short(&text, width))?;
        } else if epoch.number.is_multiple_of(STATUS_EVERY) {
            writeln!(self.out, "{}", plain(&text))?;
        }
        self.out.flush()
    }

    fn first_table(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        self.lines(words::unmatched(epoch))?;
        self.line("busiest processes:")?;
        self.lines(table::busiest(epoch.seen, epoch.managed, ROWS))
    }
}

fn status_line(epoch: &Epoch<'_>) -> String {
    let threads = |seen: &Observation| u64::try_from(seen.threads().count()).unwrap_or(u64::MAX);
    format!(
        "epoch {} at {:.1} s: {}, {} managed; so far {}, {} moved, {}",
        epoch.number,
        epoch.seen.time.0,
        plural(threads(epoch.seen), "thread"),
        threads(epoch.managed),
        plural(epoch.tally.planned, "action"),
        plural(epoch.tally.moves, "thread"),
        plural(epoch.tally.pages.0, "page")
    )
}

impl Reporter for Human<'_> {
    fn begin(&mut self, start: &Start<'_>) -> anyhow::Result<()> {
        self.dry_run = start.limits.dry_run;
        // The header tells them.
        drop(self.remarks.fresh(&start.sample.capabilities.remarks));
        self.lines(words::header(start))?;
        Ok(self.out.flush()?)
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> anyhow::Result<()> {
        if epoch.number == 1 {
            self.first_table(epoch)?;
        }
        let remarks = self.remarks.fresh(&epoch.sample.capabilities.remarks);
        self.lines(remarks.into_iter().map(|remark| format!("remark: {remark}")))?;
        self.decision(epoch)?;
        self.status(epoch)?;
        self.last = Some((epoch.seen.clone(), epoch.managed.clone()));
        Ok(())
    }

    fn end(&mut self, tally: &Tally, truth: Option<&Truth>) -> anyhow::Result<()> {
        if let Some((seen, managed)) = self.last.take().filter(|_| tally.epochs > 1) {
            self.line("busiest processes at the end:")?;
            self.lines(table::busiest(&seen, &managed, ROWS))?;
            self.lines(self.ways.draw_all(&managed))?;
        }
        let stopped = if tally.interrupted { "stopped by a signal: " } else { "" };
        let mut lines = words::summary(tally, self.dry_run);
        if let Some(first) = lines.first_mut() {
            first.insert_str(0, stopped);
        }
        self.lines(lines)?;
        self.lines(truth.map(table::truth).unwrap_or_default())?;
        Ok(self.out.flush()?)
    }
}

impl Drop for Human<'_> {
    /// A run that failed leaves no status line for the message to be written behind.
    fn drop(&mut self) {
        drop(self.erase_status().and_then(|()| self.out.flush()));
    }
}

#[cfg(test)]
#[path = "human_tests.rs"]
mod tests;
