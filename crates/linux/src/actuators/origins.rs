//! Records where pages were before a mapping was applied to their process, so that the commands
//! `isobar pages apply --undo` and `isobar restore` can put them back. The record is a file beside
//! the state file, because it stays when the command ends: a manager that starts later has nothing
//! to do with it.
//!
//! It is written before the first page moves. The first record of a page stands: a page that is
//! moved twice goes back to where it was before the first move.

use super::error::{ActuatorError, boot_id};
use super::pages::PageOptions;
use super::pages::place::{PageOn, Placed, Process};
use super::state_file::StateFile;
use crate::kernel::identity;
use isobar_model::{NodeId, Pid, Tid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Why pages of a process stayed if it could not be read.
const UNREADABLE: &str = "the kernel does not say where they are";

/// The version of the format; a file of another version is refused.
const VERSION: u32 = 1;

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origins {
    version: u32,
    /// The boot in which start times were taken.
    boot_id: String,
    /// The records, by process.
    processes: BTreeMap<Pid, Origin>,
}

/// Where pages of a process were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Origin {
    /// When the process started, in ticks since boot.
    start: u64,
    /// Its executable: another program started in the process by exec has other pages. Empty if it
    /// could not be read.
    program: PathBuf,
    /// Pages that were on one node, ascending.
    runs: Vec<Run>,
}

/// Pages with consecutive numbers that were on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    first: u64,
    pages: u64,
    node: NodeId,
}

/// What became of the pages of a process that were to go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredPages {
    /// The process.
    pub pid: Pid,
    /// False if it has certainly ended, or become another program: then its record is dropped.
    pub lives: bool,
    /// Pages that were already where they had been.
    pub in_place: u64,
    /// Pages that are not resident any more.
    pub vanished: u64,
    /// The other pages.
    pub placed: Placed,
}

/// How pages go back.
pub struct RestoreOptions<'a> {
    /// Limits of migration.
    pub options: &'a PageOptions,
    /// The rate, in pages per second.
    pub pages_per_second: u64,
    /// Whether to stop.
    pub stop: &'a dyn Fn() -> bool,
}

/// The path of the record that belongs to a state file: `state.pages.json` beside `state.json`.
#[must_use]
pub fn path(state: &Path) -> PathBuf {
    state.with_extension("pages.json")
}

/// Records where pages of a process are, before they move. The lock of the file's folder is held
/// until the returned value is dropped.
///
/// # Errors
/// [`ActuatorError`]: in that case no page may move.
pub fn record(state: &Path, process: Process, pages: &[PageOn]) -> Result<StateFile, ActuatorError> {
    let file = StateFile::lock(&path(state))?;
    let mut origins = load(&file)?.unwrap_or(Origins { version: VERSION, boot_id: boot_id()?, ..Origins::default() });
    origins.add(process, program(process.pid), pages);
    save(&file, &origins)?;
    Ok(file)
}

/// Puts pages back where they were: those of one process, or of all that are recorded. Pages that
/// could not go back stay recorded; an empty record is deleted. `None` if there is no record.
///
/// # Errors
/// [`ActuatorError`]: the file cannot be read or written.
pub fn put_back(
    state: &Path,
    only: Option<Pid>,
    manner: &RestoreOptions<'_>,
) -> Result<Option<Vec<RestoredPages>>, ActuatorError> {
    let Some(file) = StateFile::existing(&path(state))? else { return Ok(None) };
    let Some(mut origins) = load(&file)? else { return Ok(None) };
    let chosen: Vec<Pid> =
        origins.processes.keys().copied().filter(|pid| only.is_none_or(|only| only == *pid)).collect();
    if chosen.is_empty() && only.is_some() {
        return Ok(None);
    }
    let mut all = Vec::new();
    for pid in chosen {
        let Some(origin) = origins.processes.remove(&pid) else { continue };
        let (done, rest) = origin.put_back(pid, manner);
        all.push(done);
        if let Some(rest) = rest {
            origins.processes.insert(pid, rest);
        }
    }
    if origins.processes.is_empty() {
        file.remove()?;
    } else {
        save(&file, &origins)?;
    }
    Ok(Some(all))
}

/// The record; `None` if there is none, or if it is of an earlier boot.
fn load(file: &StateFile) -> Result<Option<Origins>, ActuatorError> {
    let Some(text) = file.load_text()? else { return Ok(None) };
    let origins = parse(&text).map_err(|problem| file.broken(&problem))?;
    Ok(Some(origins).filter(|origins| boot_id().is_ok_and(|boot| boot == origins.boot_id)))
}

fn parse(text: &str) -> Result<Origins, String> {
    let origins: Origins = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if origins.version != VERSION {
        return Err(format!("`version` is {}, but this isobar reads {VERSION}", origins.version));
    }
    let runs = || origins.processes.values().flat_map(|origin| &origin.runs);
    // No address space has more pages, and a larger number would keep isobar busy for ever.
    let wrong = runs().find(|run| run.first.saturating_add(run.pages) > 1 << 52);
    wrong.map_or(Ok(()), |run| Err(format!("no process can have {} pages from page {} on", run.pages, run.first)))?;
    Ok(origins)
}

fn save(file: &StateFile, origins: &Origins) -> Result<(), ActuatorError> {
    let text = serde_json::to_vec(origins).map_err(|error| file.broken(&error.to_string()))?;
    file.save_text(&text)
}

/// The executable of a process; empty if it cannot be read.
fn program(pid: Pid) -> PathBuf {
    fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default()
}

impl Origins {
    fn add(&mut self, process: Process, program: PathBuf, pages: &[PageOn]) {
        let known = self.processes.remove(&process.pid);
        let known = known.filter(|known| known.start == process.start && may_be_same(&known.program, &program));
        let mut all: BTreeMap<u64, NodeId> = pages.iter().copied().collect();
        all.extend(known.iter().flat_map(Origin::pages));
        let named = |known: &Origin| !known.program.as_os_str().is_empty();
        let program = known.filter(named).map_or(program, |known| known.program);
        let origin = Origin { start: process.start, program, runs: runs(all) };
        self.processes.insert(process.pid, origin);
    }
}

impl Origin {
    fn pages(&self) -> impl Iterator<Item = PageOn> + '_ {
        self.runs.iter().flat_map(|run| (0..run.pages).map(|at| (run.first + at, run.node)))
    }

    /// Whether the process has certainly ended, or certainly runs another program.
    fn is_gone(&self, pid: Pid) -> bool {
        match identity::find(pid, Tid(pid.0)) {
            // The main thread may have ended before the others.
            Ok(Some(task)) if task.start == self.start && (!task.has_ended() || task.threads > 1) => {
                !may_be_same(&program(pid), &self.program)
            }
            Ok(_) => true,
            Err(_) => false,
        }
    }

    /// Returns what was done, and what remains of the record.
    fn put_back(self, pid: Pid, manner: &RestoreOptions<'_>) -> (RestoredPages, Option<Self>) {
        let process = Process { pid, start: self.start };
        let mut done = RestoredPages { pid, lives: false, in_place: 0, vanished: 0, placed: Placed::default() };
        let wanted: Vec<PageOn> = self.pages().collect();
        let numbers: Vec<u64> = wanted.iter().map(|(page, _)| *page).collect();
        if self.is_gone(pid) {
            return (done, None);
        }
        done.lives = true;
        let Ok(now) = process.locate(&numbers) else {
            if self.is_gone(pid) {
                return (RestoredPages { lives: false, ..done }, None);
            }
            done.placed.stayed.insert(UNREADABLE, count(wanted.iter()));
            return (done, Some(self));
        };
        let away = |(page, now): (&PageOn, &Option<NodeId>)| now.filter(|now| *now != page.1).map(|_| *page);
        let to_move: Vec<PageOn> = wanted.iter().zip(&now).filter_map(away).collect();
        done.vanished = count(now.iter().filter(|now| now.is_none()));
        done.in_place = count(wanted.iter()) - done.vanished - count(to_move.iter());
        done.placed = process.place(&to_move, manner.options, manner.pages_per_second, manner.stop, &mut |_| {});
        let numbers: Vec<u64> = to_move.iter().map(|(page, _)| *page).collect();
        let left: BTreeMap<u64, NodeId> = match process.locate(&numbers) {
            Ok(after) => to_move.iter().zip(&after).filter_map(away).collect(),
            Err(_) if self.is_gone(pid) => BTreeMap::new(),
            Err(_) => to_move.iter().copied().collect(),
        };
        let rest = Self { runs: runs(left), ..self };
        (done, Some(rest).filter(|rest| !rest.runs.is_empty()))
    }
}

/// Whether two executables may be the same. One that could not be read may be any. The kernel
/// appends a word once the file is deleted, as by an update of a package (`d_path()` in
/// `fs/d_path.c`).
fn may_be_same(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(|path| path.as_os_str().as_bytes());
    let bare = |path| <[u8]>::strip_suffix(path, b" (deleted)").unwrap_or(path);
    one.is_empty() || other.is_empty() || bare(one) == bare(other)
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    u64::try_from(items.count()).unwrap_or(u64::MAX)
}

fn runs(pages: BTreeMap<u64, NodeId>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (page, node) in pages {
        match runs.last_mut().filter(|run| run.node == node && run.first + run.pages == page) {
            Some(run) => run.pages += 1,
            None => runs.push(Run { first: page, pages: 1, node }),
        }
    }
    runs
}

#[cfg(test)]
#[path = "origins_tests.rs"]
mod tests;
