//! What must be true of the recording after an end: SQLite finds it intact, it contains every epoch
//! that isobar reported (after a kill -9 all but the last), and the policy decides on it as it did
//! in the run.

use crate::family::Family;
use crate::manage;
use crate::setup::Setup;
use anyhow::Result;
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;
use std::path::Path;

/// A recording, and the output of isobar while it was made.
pub struct Recording<'a> {
    pub setup: &'a Setup,
    pub family: &'a mut Family,
    pub file: &'a Path,
    pub said: &'a str,
    /// Whether isobar had no chance to finish it.
    pub killed: bool,
}

/// What isobar prints when it gives up only the recording, because the disk is full.
const GIVEN_UP: &str = "recording to ";

/// What SQLite finds.
struct Found {
    /// The result of its integrity check: `ok` if the file is intact.
    integrity: String,
    /// The number of the last epoch, and the number of epochs including the reading before the
    /// first.
    epochs: Option<(u64, u64)>,
    /// Whether isobar finished the recording.
    complete: bool,
}

impl Recording<'_> {
    /// Everything that is wrong, in words.
    pub fn problems(&mut self) -> Result<Vec<String>> {
        let told = last_told(self.said);
        if !self.file.exists() {
            return Ok(told.map(|epoch| format!("there is none, though epoch {epoch} was over")).into_iter().collect());
        }
        let found = match look(self.file) {
            Ok(found) => found,
            // It was killed while it created the tables.
            Err(_) if self.killed && told.is_none() => return Ok(Vec::new()),
            Err(error) => return Ok(vec![format!("it does not open: {error}")]),
        };
        let mut problems = found.problems(told, self.killed, self.was_given_up());
        problems.extend(found.epochs.map(|_| self.replayed()).transpose()?.flatten());
        Ok(problems)
    }

    /// Whether isobar reported that it gave the recording up, during the run or at its end.
    fn was_given_up(&self) -> bool {
        let named = format!("{}: ", self.file.display());
        self.said.contains(GIVEN_UP) || self.said.contains(&named)
    }

    /// Lets isobar repeat the decisions of all epochs.
    fn replayed(&mut self) -> Result<Option<String>> {
        let words = ["replay".as_ref(), "--json".as_ref(), self.file.as_os_str()];
        let said = manage::run(self.setup, self.family, &words)?;
        let last = said.words.lines().rfind(|line| line.starts_with('{')).unwrap_or_default();
        let summary = serde_json::from_str::<Value>(last).unwrap_or_default()["summary"].take();
        let same = summary["epochs"].is_u64() && summary["epochs"] == summary["same_epochs"];
        let fine = said.code == Some(0) && same && summary["missing_epochs"] == 0;
        Ok((!fine).then(|| format!("replay ({}): {summary} {}", said.end, if same { "" } else { &said.words })))
    }
}

impl Found {
    fn problems(&self, told: Option<u64>, killed: bool, given_up: bool) -> Vec<String> {
        let mut problems = Vec::new();
        if self.integrity != "ok" {
            problems.push(format!("PRAGMA integrity_check: {}", self.integrity));
        }
        let may_lack = u64::from(killed);
        let (last, count) = self.epochs.unwrap_or((0, 1));
        if !given_up && told.is_some_and(|told| last + may_lack < told) {
            problems.push(format!("its last epoch is {last}, though epoch {} was over", told.unwrap_or(0)));
        }
        if last + 1 != count {
            problems.push(format!("{count} epochs with the one before the first, though the last is {last}"));
        }
        if !killed && !given_up && !self.complete {
            problems.push("isobar ended in order and did not finish it".to_owned());
        }
        problems
    }
}

fn look(file: &Path) -> rusqlite::Result<Found> {
    let database = Connection::open(file)?;
    let integrity = database.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    let epochs = database.query_row("SELECT max(number), count(*) FROM epoch", [], |row| {
        Ok(row.get::<_, Option<u64>>(0)?.zip(row.get::<_, Option<u64>>(1)?))
    })?;
    let complete = "SELECT value FROM about WHERE key = 'complete'";
    let complete: Option<String> = database.query_row(complete, [], |row| row.get(0)).optional()?;
    Ok(Found { integrity, epochs, complete: complete.as_deref() == Some("true") })
}

/// The last epoch that isobar reported with --json, if there is one.
fn last_told(said: &str) -> Option<u64> {
    let number = |line: &str| {
        let (number, _) = line.split_once("{\"epoch\":")?.1.split_once(',')?;
        number.parse().ok()
    };
    said.lines().filter_map(number).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_number_of_an_epoch_counts() {
        assert_eq!(last_told("x\n{\"epoch\":9,\"time\":1}\n{\"epoch\":10,\"time\":2}\n{\"epoch\":1"), Some(10));
        assert_eq!(last_told("epoch 7"), None);
    }

    fn found(last: u64, count: u64) -> Found {
        Found { integrity: "ok".to_owned(), epochs: Some((last, count)), complete: false }
    }

    #[test]
    fn a_killed_recorder_may_lack_the_last_epoch_and_no_other() {
        assert!(found(6, 7).problems(Some(7), true, false).is_empty());
        assert_eq!(found(5, 6).problems(Some(7), true, false).len(), 1, "two are missing");
        assert_eq!(found(7, 7).problems(Some(7), true, false).len(), 1, "a gap");
        assert_eq!(found(6, 7).problems(Some(7), false, false).len(), 2, "ended in order");
    }

    #[test]
    fn a_file_that_is_no_database_does_not_open() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "no database, and longer than a header of SQLite would be: so many words").unwrap();
        assert!(look(file.path()).is_err());
    }
}
