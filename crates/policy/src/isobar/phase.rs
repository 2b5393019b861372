//! Detects phases: a phase begins when a program starts to do something else, judged by its misses
//! and its cache lookups.

use super::math::ln;
use super::pace::STEADY;
use super::program::Program;
use super::reading::{FEW, Reading, ratio};
use super::turns::Turns;

/// Logarithm of the ratio of miss rates from which on a program does something else: two thirds
/// more or less. Neighbours rarely change the misses by as much.
const OTHER_PHASE: f64 = 0.5;
/// Readings in a row that make a new phase.
const IN_A_ROW: u32 = 2;
/// Readings in a row that make a new phase of a program whose cache lookups are as before.
const IN_A_ROW_OF_THE_SAME: u32 = 4;

impl Program {
    /// Two thirds more or fewer misses, twice in a row, are another phase, unless the program
    /// hardly waits for them in either case. A program that the kernel moves to a cold cache misses
    /// more for a moment, and is the same program. So is a program whose cache lookups are as
    /// before: its misses may be its neighbours' doing, which can change in a moment, and back.
    /// Only if that lasts for four readings is it taken as the program's own doing.
    ///
    /// A program that does two things in turn, each for a few readings at most, is not a new one
    /// each time: its earlier readings stay.
    pub(super) fn watch_phase(&mut self, reading: &Reading, now: f64) {
        let misses = reading.misses;
        let few = misses.max(self.misses) < FEW || self.hardly_waits_in(reading);
        let change = ln(misses.max(1e-9) / self.misses.max(1e-9));
        let before = if self.more == (change > 0.0) { self.unlike } else { 0 };
        self.more = change > 0.0;
        self.unlike = if few || change.abs() < OTHER_PHASE { 0 } else { before + 1 };
        self.turns.read(self.unlike == 0);
        let is_the_same = self.looks_the_same(reading);
        if self.unlike >= if is_the_same { IN_A_ROW_OF_THE_SAME } else { IN_A_ROW } {
            // What neighbours do to it is nothing that it does in turn.
            let before = if is_the_same { Turns::default() } else { self.turns };
            self.turns = before.with_change(self.misses, misses, self.unlike);
            self.unlike = 0;
            self.turned = self.looks_differ(reading) >= OTHER_PHASE;
            self.changes += 1;
            self.phase = now;
            self.misses = misses;
            self.looks = reading.looks;
            self.space = None;
            // A program that finds more or less of what it looks for computes as before.
            if is_the_same {
                self.cpi.doubt_waiting();
            } else {
                self.cpi.doubt();
            }
            if self.turns.are_brief() {
                return;
            }
            self.balance = 0.0;
            self.speeds.clear();
            self.first.clear();
        }
    }

    /// Whether the last reading is the program's own: it misses about as much as before, or makes
    /// as many cache lookups. Any other reading may be the first of another phase, or may come from
    /// a second in which the counts of two programs were mixed.
    #[must_use]
    pub fn is_itself(&self) -> bool {
        self.unlike == 0 || self.last.is_some_and(|last| self.looks_the_same(&last))
    }

    /// Whether the last reading may be the first of another phase, with more or fewer cache
    /// lookups. The next reading decides that. Until then, two different things might be compared.
    #[must_use]
    pub fn may_turn(&self) -> bool {
        self.unlike > 0 && self.last.is_some_and(|last| self.looks_differ(&last) >= OTHER_PHASE)
    }

    /// Whether it has begun to miss far less, and the next readings decide whether that is another
    /// phase. What is known of it is from before, and would move it away from where it does well:
    /// the kernel may just have brought its pages to it, or a neighbour may have left its cache.
    #[must_use]
    pub fn does_better(&self) -> bool {
        self.unlike > 0 && !self.more && !self.turns.are_brief()
    }

    /// Whether a program makes as many cache lookups as in its present phase.
    fn looks_the_same(&self, reading: &Reading) -> bool {
        reading.looks.is_some() && self.looks.is_some() && self.looks_differ(reading) < STEADY
    }

    /// The difference, as a logarithm of the ratio, 0 or more; 0 if lookups are not counted.
    fn looks_differ(&self, reading: &Reading) -> f64 {
        let both = reading.looks.zip(self.looks);
        both.map_or(0.0, |(now, before)| ratio(before.max(1e-9), now.max(1e-9)))
    }
}
