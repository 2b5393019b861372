//! A process whose pages are located and moved, batch by batch, and what the kernel's refusals
//! mean.

use super::around::PageRange;
use super::mapped::Mapped;
use super::migration::Migration;
use super::resident::PageTables;
use super::select::{PageLocator, asked, every};
use super::tally::{Tally, reason};
use crate::kernel::maps::{pages_on, parse_maps};
use crate::kernel::move_pages as syscall;
use crate::kernel::numa_maps::policies;
use crate::kernel::{identity, privilege};
use isobar_model::{ActionOutcome, NodeId, Pid};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of attempts for a batch, which is tried again as long as some of it moves: the
/// kernel stops at the first page that fails.
const MOST_TRIES: usize = 3;

/// Maximum number of pages located in one migration to find those to move.
const MOST_LOOKED_AT: u64 = 1 << 20;

/// A process whose pages are located and moved. Before each system call, the process is checked to
/// be still the same.
pub struct Process<'a> {
    pid: Pid,
    start: u64,
    from: NodeId,
    to: NodeId,
    pub page_size: u64,
    left: u64,
    /// Set if the rest is no longer wanted.
    stop: &'a AtomicBool,
    tables: Option<PageTables>,
}

impl<'a> Process<'a> {
    pub fn new(request: &Migration<'_>, stop: &'a AtomicBool) -> Result<Self, ActionOutcome> {
        let task = identity::process(request.pid).filter(|task| task.start == request.pid_start);
        let task = task.ok_or(ActionOutcome::Vanished)?;
        if task.kernel || request.pid == identity::own_pid() {
            let why = "isobar does not move pages of the kernel or its own".to_owned();
            return Err(ActionOutcome::LeftAlone { why });
        }
        let (from, to, page_size) = (request.from, request.to, procfs::page_size());
        let tables = PageTables::open(request.pid, page_size);
        Ok(Self { pid: request.pid, start: request.pid_start, from, to, page_size, left: MOST_LOOKED_AT, stop, tables })
    }

    /// Checks that isobar may read its memory.
    pub fn may_be_read(&self) -> Result<(), ActionOutcome> {
        match File::open(format!("/proc/{}/maps", self.pid)) {
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => Err(no_privilege(&error)),
            _ => Ok(()),
        }
    }

    fn still_there(&self) -> Result<(), ActionOutcome> {
        if self.stop.load(Ordering::SeqCst) {
            return Err(ActionOutcome::LeftAlone { why: "the migration was stopped".to_owned() });
        }
        let same = identity::process(self.pid).is_some_and(|task| task.start == self.start);
        if same { Ok(()) } else { Err(ActionOutcome::Vanished) }
    }

    /// Its mappings; a process without mappings has ended (or is a zombie).
    pub fn mapped(&self) -> Result<Mapped, ActionOutcome> {
        let text = self.text("maps")?.ok_or(ActionOutcome::Vanished)?;
        let mappings = parse_maps(&text, self.page_size);
        if mappings.is_empty() {
            return Err(ActionOutcome::Vanished);
        }
        let places = self.text("numa_maps")?;
        let counts = places.as_ref().map(|text| pages_on(text, self.from, self.page_size));
        let places = places.unwrap_or_default();
        Ok(Mapped::new(mappings, counts, policies(places.as_bytes()), self.to, self.page_size))
    }

    /// A file of the process as text; `None` if there is none.
    fn text(&self, name: &str) -> Result<Option<String>, ActionOutcome> {
        let read = identity::read_live(&PathBuf::from(format!("/proc/{}/{name}", self.pid)));
        let bytes = read.map_err(|error| match error.raw_os_error() {
            Some(libc::EACCES) => no_privilege(&error),
            _ => self.refusal(&error),
        })?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Moves one batch and counts what became of it: first by where the pages are afterwards,
    /// otherwise by what the kernel returned. Pages that are on the target are added to `moved`.
    pub fn relocate(&self, batch: &[u64], tally: &mut Tally, moved: &mut Vec<u64>) -> Result<(), ActionOutcome> {
        let mut rest: Vec<(u64, i32)> = batch.iter().map(|page| (*page, syscall::NOT_TRIED)).collect();
        for _ in 0..MOST_TRIES {
            self.still_there()?;
            let asked: Vec<u64> = rest.iter().map(|(page, _)| *page).collect();
            let (there, elsewhere) = self.ask(syscall::relocate(self.pid, &asked, self.page_size, self.to))?;
            rest = elsewhere;
            tally.moved(u64::try_from(there.len()).unwrap_or(u64::MAX));
            moved.extend(&there);
            if rest.is_empty() || there.is_empty() {
                break;
            }
        }
        rest.iter().for_each(|(_, status)| tally.stayed(reason(*status), 1));
        Ok(())
    }

    fn ask<T>(&self, answer: io::Result<T>) -> Result<T, ActionOutcome> {
        answer.map_err(|error| self.refusal(&error))
    }

    /// What a refusal for the whole process means.
    fn refusal(&self, error: &io::Error) -> ActionOutcome {
        let why = match error.raw_os_error() {
            Some(libc::ESRCH) => return ActionOutcome::Vanished,
            Some(libc::EPERM) => return no_privilege(error),
            Some(libc::ENODEV) => {
                format!("node {} has no memory or does not exist: choose a node that has memory", self.to)
            }
            Some(libc::EACCES) => {
                format!("node {} is outside the process's cpuset (cpuset.mems)", self.to)
            }
            Some(libc::EINVAL) => "the process has no memory of its own, or no longer has any".to_owned(),
            _ => format!("the kernel refused to move pages to node {}: {error}", self.to),
        };
        ActionOutcome::Refused { errno: error.raw_os_error(), why }
    }
}

/// The refusal for lack of privilege. Reading the maps of another user's process, and moving its
/// pages, needs the access of a debugger (`ptrace(2)`, `PTRACE_MODE_READ_REALCREDS`). The text
/// names no process, so that it can be printed once.
fn no_privilege(error: &io::Error) -> ActionOutcome {
    let remedy = privilege::remedy();
    let why = format!("without CAP_SYS_PTRACE isobar cannot move the pages of others: run as root, or {remedy}");
    ActionOutcome::Refused { errno: error.raw_os_error(), why }
}

impl PageLocator for Process<'_> {
    type Stop = ActionOutcome;

    fn look(&mut self, pages: &[u64]) -> Result<Vec<i32>, ActionOutcome> {
        let mut status = Vec::with_capacity(pages.len());
        for batch in pages.chunks(syscall::MOST_LOCATED) {
            self.still_there()?;
            status.extend(self.ask(syscall::locate(self.pid, batch, self.page_size))?);
        }
        self.left = self.left.saturating_sub(u64::try_from(pages.len()).unwrap_or(u64::MAX));
        Ok(status)
    }

    fn worth(&mut self, range: PageRange, most: u64) -> Result<(Vec<u64>, u64), ActionOutcome> {
        match &self.tables {
            Some(tables) => tables.scan(range, most).map_err(|error| self.refusal(&error)),
            None => Ok(every(range, most)),
        }
    }

    fn resident(&mut self, ranges: &[PageRange]) -> Result<Vec<u64>, ActionOutcome> {
        match &self.tables {
            Some(tables) => tables.resident(ranges).map_err(|error| self.refusal(&error)),
            None => asked(self, ranges),
        }
    }

    fn left(&self) -> u64 {
        self.left
    }
}
