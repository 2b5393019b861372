//! The output of `manage` for a person: a header, one line for each action with its reason (or one
//! line for many actions of a kind), a table of the busiest processes (live on a terminal,
//! otherwise at both ends of the run), and a summary.
//!
//! Lines have levels. Errors go to stderr when the run ends. Warnings report what is missing, what
//! was refused, and what `--only` does not find; warnings and the summary are all that `--quiet`
//! leaves. `--verbose` adds the debug lines: every action and every note, however many there are.
//! Everything else is information.

use super::clock::WallClock;
use super::lines::Lines;
use super::live::Size;
use super::missing::Missing;
use super::notes::Notes;
use super::rate::{Kind, Rate};
use super::remarks::Printed;
use super::ways::WayMap;
use super::{AfterRun, Reporter, changes, sums, table, words};
use crate::output::Sink;
use crate::text::plural;
use isobar_model::{ActionOutcome, Observation, Seconds};
use isobar_runtime::{BoxError, Epoch, Observer, Start, Tally};
use std::collections::BTreeSet;
use std::io;

/// Epochs between two status lines if no terminal shows a live one.
const STATUS_EVERY: u64 = 10;

/// A line below way maps in a dry run.
const DRY_CLASSES: &str = "(dry run: no program was isolated for sampling, so classes without a profile are guesses)";

/// Maximum number of processes in a table that scrolls past.
const ROWS: usize = 10;

/// Maximum number of processes in the live table of a tall terminal.
const LIVE_ROWS: usize = 20;

/// How much is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volume {
    /// warnings and the summary
    Quiet,
    /// what a person wants to read, with limits
    #[default]
    Normal,
    /// every action and note
    Verbose,
}

/// The reporter of `isobar manage`.
pub struct TextReporter<'a> {
    lines: Lines<'a>,
    volume: Volume,
    dry_run: bool,
    explained: BTreeSet<Option<i32>>,
    notes: Notes,
    /// The notes of the epoch before, for verbose output, which prints every new note.
    noted: Vec<String>,
    rate: Rate,
    remarks: Printed,
    missing: Missing,
    last: Option<(Observation, Observation)>,
    ways: WayMap,
}

impl<'a> TextReporter<'a> {
    /// A reporter that writes to `out`. If `out` is a terminal, `size` returns its current size.
    pub fn new(out: &'a mut dyn Sink, size: Option<fn() -> Size>, clock: WallClock, volume: Volume) -> Self {
        Self {
            lines: Lines::new(out, clock, size),
            volume,
            dry_run: false,
            explained: BTreeSet::new(),
            notes: Notes::default(),
            noted: Vec::new(),
            rate: Rate::default(),
            remarks: Printed::default(),
            missing: Missing::default(),
            last: None,
            ways: WayMap::default(),
        }
    }

    fn is_quiet(&self) -> bool {
        self.volume == Volume::Quiet
    }

    /// Whether a line of a kind may be written now.
    fn admits(&mut self, kind: Kind, now: Seconds) -> bool {
        match self.volume {
            Volume::Quiet => false,
            Volume::Normal => self.rate.admits(kind, now),
            Volume::Verbose => true,
        }
    }

    /// Writes lines of a kind, up to the limit of the kind.
    fn limited(&mut self, kind: Kind, now: Seconds, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| if self.admits(kind, now) { self.lines.line(line) } else { Ok(()) })
    }

    /// Writes a heading, and below it the decisions and their results.
    fn decision(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        let now = epoch.seen.time;
        let notes = self.fresh_notes(epoch);
        let changes: Vec<String> =
            changes::lines(epoch.plan, epoch.managed).into_iter().map(|line| format!("  {line}")).collect();
        let changed = self.ways.take(epoch.plan, epoch.outcome);
        let actions = epoch.plan.actions.len();
        if (actions == 0 && notes.is_empty() && changes.is_empty()) || self.is_quiet() {
            return Ok(());
        }
        let lines = sums::lines(epoch, self.volume == Volume::Verbose);
        if !self.admits(Kind::Decision, now) {
            // Without their heading, these lines would seem to belong to the decision before.
            lines.iter().for_each(|(kind, _)| self.rate.swallow(*kind, now));
            changes.iter().for_each(|_| self.rate.swallow(Kind::Change, now));
            notes.iter().for_each(|_| self.rate.swallow(Kind::Note, now));
            return Ok(());
        }
        self.lines.line(&format!("epoch {} at {:.1} s: {}", epoch.number, now.0, plural(actions, "action")))?;
        for (kind, line) in lines {
            self.limited(kind, now, &[line])?;
        }
        self.way_maps(epoch, &changed)?;
        self.limited(Kind::Change, now, &changes)?;
        self.limited(Kind::Note, now, &notes)
    }

    /// Writes which page migrations have ended since the epoch before, and which are still under
    /// way.
    fn pages_under_way(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        let ended = epoch.seen.page_moves.iter().filter(|flight| flight.ended);
        let mut lines: Vec<String> = ended.map(|flight| words::arrival(flight, epoch.seen)).collect();
        lines.extend(words::under_way(epoch.seen));
        self.limited(Kind::Pages, epoch.seen.time, &lines)
    }

    fn way_maps(&mut self, epoch: &Epoch<'_>, changed: &BTreeSet<isobar_model::LlcId>) -> io::Result<()> {
        let drawn = self.ways.draw(changed, epoch.managed);
        if drawn.is_empty() || !self.admits(Kind::Map, epoch.seen.time) {
            return Ok(());
        }
        // Policies learn classes from the effect of the ways that they set. In a dry run they see
        // programs that do not respond to their ways.
        let guess = self.dry_run.then(|| DRY_CLASSES.to_owned());
        self.lines.all(drawn.into_iter().chain(guess).map(|line| format!("  {line}")))
    }

    /// Writes the first refusal of each kind, with its remedy.
    fn refusals(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        let ended = epoch.seen.page_moves.iter().filter(|flight| flight.ended).map(|flight| &flight.outcome);
        for outcome in epoch.outcome.iter().flat_map(|outcome| &outcome.actions).chain(ended) {
            if let ActionOutcome::Refused { errno, why } = outcome
                && self.explained.insert(*errno)
            {
                self.lines
                    .line(&format!("warning: refused: {why} (further refusals of this kind are only counted)"))?;
            }
        }
        Ok(())
    }

    /// The notes of the policy that are new.
    fn fresh_notes(&mut self, epoch: &Epoch<'_>) -> Vec<String> {
        let notes = if self.volume == Volume::Verbose {
            let before = std::mem::replace(&mut self.noted, epoch.plan.notes.clone());
            let fresh = epoch.plan.notes.iter().filter(|note| !before.contains(note));
            fresh.map(|note| format!("note: {note}")).collect()
        } else {
            self.notes.take(&epoch.plan.notes, epoch.seen.time)
        };
        notes.into_iter().map(|note| format!("  {note}")).collect()
    }

    /// Draws the live block on a terminal; elsewhere writes a status line now and then.
    fn status(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        if self.is_quiet() {
            return self.lines.flush();
        }
        let status = status_line(epoch);
        if self.lines.size().is_none() && epoch.number.is_multiple_of(STATUS_EVERY) {
            self.limited(Kind::Status, epoch.seen.time, std::slice::from_ref(&status))?;
        }
        self.lines.show(|size| block(status, epoch, size))
    }

    fn first_epoch(&mut self, epoch: &Epoch<'_>) -> io::Result<()> {
        self.lines.all(words::unmatched(epoch))?;
        if self.is_quiet() || self.lines.size().is_some() {
            return Ok(());
        }
        self.lines.line("busiest processes:")?;
        self.lines.table(table::busiest(epoch.seen, epoch.managed, ROWS, None))
    }

    fn last_table(&mut self) -> io::Result<()> {
        let Some((seen, managed)) = self.last.take() else { return Ok(()) };
        let columns = self.lines.size().map(Size::usable);
        self.lines.line("busiest processes at the end:")?;
        self.lines.table(table::busiest(&seen, &managed, ROWS, columns))?;
        self.lines.all(self.ways.draw_all(&managed))
    }

    /// Writes the sums of what the limits suppressed and no line has reported yet.
    fn rest(&mut self, now: Seconds) -> io::Result<()> {
        let rest: Vec<String> = self.notes.rest(now).into_iter().chain(self.rate.rest(now)).collect();
        self.lines.all(rest)
    }
}

/// The status line, and below it as many of the busiest processes as fit.
fn block(status: String, epoch: &Epoch<'_>, size: Size) -> Vec<String> {
    let rows = size.block();
    // One line each for the status, the heading, and the number of processes that are not shown.
    let rows = rows.saturating_sub(3).min(LIVE_ROWS);
    let table =
        if rows == 0 { Vec::new() } else { table::busiest(epoch.seen, epoch.managed, rows, Some(size.usable())) };
    std::iter::once(status).chain(table).collect()
}

fn status_line(epoch: &Epoch<'_>) -> String {
    let threads = |seen: &Observation| seen.threads().count();
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

impl Observer for TextReporter<'_> {
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        self.dry_run = start.limits.dry_run;
        // The header shows them.
        drop(self.remarks.fresh(&start.sample.capabilities.remarks));
        drop(self.missing.news(&start.sample.capabilities));
        if !self.is_quiet() {
            self.lines.all(words::facts(start))?;
        }
        self.lines.all(words::concerns(start))?;
        Ok(self.lines.flush()?)
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        let now = epoch.seen.time;
        if epoch.number == 1 {
            self.first_epoch(epoch)?;
        }
        let swallowed = self.rate.ended(now);
        self.lines.all(swallowed)?;
        for remark in self.remarks.fresh(&epoch.sample.capabilities.remarks) {
            self.lines.line(&format!("remark: {remark}"))?;
        }
        self.lines.all(self.missing.news(&epoch.sample.capabilities))?;
        self.pages_under_way(epoch)?;
        self.lines.all(epoch.undone.iter().map(|one| words::undone(one, epoch.managed)))?;
        self.decision(epoch)?;
        self.refusals(epoch)?;
        self.status(epoch)?;
        self.last = Some((epoch.seen.clone(), epoch.managed.clone()));
        Ok(())
    }
}

impl Reporter for TextReporter<'_> {
    fn end(&mut self, tally: &Tally, after: &AfterRun) -> anyhow::Result<()> {
        self.lines.keep_the_rest();
        let now = self.last.as_ref().map_or(Seconds(0.0), |(seen, _)| seen.time);
        if !self.is_quiet() {
            self.rest(now)?;
        }
        let table = !self.is_quiet() && (tally.epochs > 1 || self.lines.size().is_some());
        if table {
            self.last_table()?;
        }
        let stopped = if tally.interrupted { "stopped by a signal: " } else { "" };
        let mut lines = words::summary(tally, self.dry_run);
        if let Some(first) = lines.first_mut() {
            first.insert_str(0, stopped);
        }
        lines.extend(after.remarks.iter().map(|remark| format!("remark: {remark}")));
        self.lines.all(lines)?;
        self.lines.all(after.truth.as_ref().map(table::truth).unwrap_or_default())?;
        Ok(self.lines.flush()?)
    }
}

#[cfg(test)]
#[path = "text_reporter_tests.rs"]
mod tests;
