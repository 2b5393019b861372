//! Decides which notes of a policy are news. A policy notes in each epoch what it left alone. A
//! repeated note that differs only in its figures is counted, and a sum is printed once a minute of
//! the machine's time.

use super::kind::kind;
use crate::text::plural;
use isobar_model::Seconds;
use std::collections::BTreeMap;

/// Seconds between two sums of a note. A note that was absent for longer is news again.
const MINUTE: f64 = 60.0;

/// Maximum number of notes that are remembered. There must be a limit, because a note may name a
/// process and a run may last for months.
const MOST: usize = 256;

#[derive(Debug)]
struct Known {
    text: String,
    seen: Seconds,
    summed: Seconds,
    changes: u64,
}

/// The notes of a run, by their texts without figures.
#[derive(Debug, Default)]
pub struct Notes(BTreeMap<String, Known>);

impl Notes {
    /// The lines to print for the notes of an epoch.
    pub fn take(&mut self, notes: &[String], now: Seconds) -> Vec<String> {
        let fresh: Vec<&String> = notes.iter().filter(|note| self.is_fresh(note, now)).collect();
        let mut lines: Vec<String> = fresh.into_iter().map(|note| format!("note: {note}")).collect();
        let due = |known: &&mut Known| now.0 - known.summed.0 >= MINUTE || now.0 - known.seen.0 >= MINUTE;
        lines.extend(self.0.values_mut().filter(due).filter_map(|known| known.sum(now)));
        self.0.retain(|_, known| now.0 - known.seen.0 < MINUTE);
        lines
    }

    /// The sums that are not yet due, at the end of a run.
    pub fn rest(&mut self, now: Seconds) -> Vec<String> {
        std::mem::take(&mut self.0).values_mut().filter_map(|known| known.sum(now)).collect()
    }

    fn is_fresh(&mut self, note: &str, now: Seconds) -> bool {
        let kind = kind(note);
        let full = self.0.len() >= MOST;
        match self.0.get_mut(&kind) {
            Some(known) => {
                known.seen_again(note, now);
                false
            }
            None => {
                let known = Known { text: note.to_owned(), seen: now, summed: now, changes: 0 };
                drop((!full).then(|| self.0.insert(kind, known)));
                true
            }
        }
    }
}

impl Known {
    fn seen_again(&mut self, note: &str, now: Seconds) {
        self.seen = now;
        if self.text != note {
            note.clone_into(&mut self.text);
            self.changes += 1;
        }
    }

    fn sum(&mut self, now: Seconds) -> Option<String> {
        let (changes, since) = (std::mem::take(&mut self.changes), std::mem::replace(&mut self.summed, now));
        let again = plural(changes, "time");
        (changes > 0)
            .then(|| format!("note: {} ({again} with other figures in the last {:.0} s)", self.text, now.0 - since.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(notes: &mut Notes, text: &str, now: f64) -> Vec<String> {
        notes.take(&[text.to_owned()], Seconds(now))
    }

    #[test]
    fn a_note_in_other_figures_is_printed_once_and_summed_up() {
        let mut notes = Notes::default();
        assert_eq!(take(&mut notes, "1 thread left alone", 1.0), ["note: 1 thread left alone"]);
        for second in 2..61u8 {
            assert_eq!(take(&mut notes, &format!("{second} threads left alone"), second.into()), [""; 0]);
        }
        let sum = "note: 61 threads left alone (60 times with other figures in the last 60 s)";
        assert_eq!(take(&mut notes, "61 threads left alone", 61.0), [sum]);
        assert_eq!(take(&mut notes, "7 threads left alone", 62.0), [""; 0]);
        assert_eq!(
            notes.rest(Seconds(64.0)),
            ["note: 7 threads left alone (1 time with other figures in the last 3 s)"]
        );
    }

    #[test]
    fn a_standing_note_is_printed_once_and_one_that_comes_back_after_a_while_again() {
        let mut notes = Notes::default();
        assert_eq!(take(&mut notes, "steady", 1.0), ["note: steady"]);
        (2..500u16).for_each(|second| assert_eq!(take(&mut notes, "steady", second.into()), [""; 0]));
        assert_eq!(notes.take(&[], Seconds(600.0)), [""; 0]);
        assert_eq!(take(&mut notes, "steady", 601.0), ["note: steady"]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut notes = Notes::default();
        let many: Vec<String> =
            (0..1000u32).map(|n| format!("{} waits", "x".repeat(usize::try_from(n).unwrap()))).collect();
        assert_eq!(notes.take(&many, Seconds(1.0)).len(), 1000);
        assert_eq!(notes.0.len(), MOST);
    }
}
