//! Moves pages back to where they were before mappings were applied, for one process, or for all
//! processes for `isobar restore`.

use crate::failure::bad_input;
use crate::machines::linux;
use crate::signals::StopFlag;
use crate::text::json_line;
use isobar_linux::actuators::origins::{self, RestoreOptions, RestoredPages};
use isobar_linux::actuators::pages::PageOptions;
use isobar_model::Pid;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What to undo.
pub struct Undo {
    /// The process.
    pub pid: Pid,
    /// The state file beside which the record is.
    pub state: PathBuf,
    /// Maximum number of pages moved per second.
    pub rate: u64,
    /// Whether to print one JSON document.
    pub json: bool,
}

/// Moves the pages of one process back.
///
/// # Errors
/// If nothing is recorded of the process, the record cannot be read, or the run was interrupted.
pub fn run(undo: &Undo, stop: &StopFlag, out: &mut dyn Write) -> anyhow::Result<()> {
    let _manager = linux::only_manager()?;
    let options = PageOptions::default();
    let manner = RestoreOptions { options: &options, pages_per_second: undo.rate, stop: &|| stop.is_raised() };
    let done = origins::put_back(&undo.state, Some(undo.pid), &manner)?.and_then(|mut all| all.pop());
    let Some(done) = done else {
        let record = origins::path(&undo.state);
        return Err(bad_input(format!("{}: nothing is recorded for process {}", record.display(), undo.pid)));
    };
    if undo.json {
        writeln!(out, "{}", json_line(&document(&done)))?;
    } else {
        writeln!(out, "{}", in_words(&done))?;
    }
    left(&[done]).map_or(Ok(()), |left| Err(anyhow::anyhow!(left)))
}

/// Moves all pages back that are recorded beside a state file, for `isobar restore`; `None` if
/// nothing is recorded. The caller must be the [`linux::only_manager`].
///
/// # Errors
/// If the record cannot be read.
pub fn restore(state: &Path) -> anyhow::Result<Option<Vec<RestoredPages>>> {
    let options = PageOptions::default();
    let stop = || false;
    let manner = RestoreOptions { options: &options, pages_per_second: 65_536, stop: &stop };
    Ok(origins::put_back(state, None, &manner)?)
}

/// How many pages are still recorded because they could not be moved back; `None` if there are
/// none.
pub fn left(all: &[RestoredPages]) -> Option<String> {
    let stayed = |one: &RestoredPages| one.placed.left + one.placed.stayed.values().sum::<u64>();
    let pages: u64 = all.iter().map(stayed).sum();
    (pages > 0).then(|| format!("{pages} pages are not back where they were and stay recorded: run it again"))
}

/// The result in one line for people.
pub fn in_words(done: &RestoredPages) -> String {
    let pid = done.pid;
    if !done.lives {
        return format!("process {pid} has ended: none of its pages are left to put back");
    }
    let mut line = format!("process {pid}: {} pages put back", done.placed.moved);
    let others =
        [(done.in_place, "had not been moved"), (done.vanished, "no longer resident"), (done.placed.left, "not tried")];
    for (pages, what) in others.iter().filter(|(pages, _)| *pages > 0) {
        let _ = write!(line, ", {pages} {what}");
    }
    for (why, pages) in &done.placed.stayed {
        let _ = write!(line, ", {pages} stayed ({why})");
    }
    line
}

/// The result as JSON.
pub fn document(done: &RestoredPages) -> Value {
    json!({
        "pid": done.pid,
        "lives": done.lives,
        "pages_moved": done.placed.moved,
        "in_place": done.in_place,
        "not_resident": done.vanished,
        "stayed": done.placed.stayed,
        "left": done.placed.left,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_linux::actuators::pages::place::Placed;

    #[test]
    fn what_went_back_and_what_did_not_is_said_in_one_line() {
        let placed = Placed { moved: 7, stayed: [("busy", 2)].into(), left: 1 };
        let done = RestoredPages { pid: Pid(9), lives: true, in_place: 3, vanished: 4, placed };
        assert_eq!(
            in_words(&done),
            "process 9: 7 pages put back, 3 had not been moved, 4 no longer resident, 1 not tried, 2 stayed (busy)"
        );
        assert!(left(std::slice::from_ref(&done)).unwrap().starts_with("3 pages"));
        let ended = RestoredPages { lives: false, placed: Placed::default(), ..done };
        assert!(in_words(&ended).contains("has ended"));
        assert_eq!(left(&[ended]), None);
    }
}
