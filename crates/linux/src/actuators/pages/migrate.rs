//! One migration: what the target can take, which pages, in which batches, and the tally.

use super::around::PageRange;
use super::mappings::{Mapping, pages_on, parse_maps};
use super::resident::PageTables;
use super::select::{Cursor, Look, asked, by_size, every, mapped, near};
use super::tally::{BUDGET, ENDED, FEWER, NO_MEMORY, REFUSED, Tally, reason};
use super::{free, syscall};
use crate::kernel::{identity, privilege};
use isobar_model::{ActionOutcome, Bytes, NodeId, PageSelection, Pages, Pid};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

/// A batch is tried again as long as some of it moves, so many times: the kernel stops at the first page that fails.
const MOST_TRIES: usize = 3;

/// Bounds of page migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageOptions {
    /// Pages in one system call. The kernel drains the LRU lists of every CPU in each call, and holds them disabled for
    /// its length: fewer calls cost less, shorter ones stall others less.
    pub batch: Pages,
    /// Free memory that is left on the target.
    pub reserve: Bytes,
    /// Pages looked at in one migration, at most, to find those to move.
    pub most_looked_at: Pages,
    /// Where the kernel describes nodes.
    pub nodes: PathBuf,
}

impl Default for PageOptions {
    fn default() -> Self {
        Self {
            batch: Pages(512),
            reserve: Bytes(64 << 20),
            most_looked_at: Pages(1 << 20),
            nodes: "/sys/devices/system/node".into(),
        }
    }
}

/// A request to move pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration<'a> {
    /// The process.
    pub pid: Pid,
    /// Its start time, as it was observed.
    pub pid_start: u64,
    /// Where the pages are.
    pub from: NodeId,
    /// Where they go.
    pub to: NodeId,
    /// At most so many.
    pub pages: Pages,
    /// Which.
    pub select: PageSelection,
    /// Sampled addresses; empty where nobody samples.
    pub addresses: &'a [u64],
    /// Whether pages far from every sample go, too, once those around the samples are fewer than asked for: where all
    /// threads of the process have gone, not where the samples are of one thread.
    pub fill_up: bool,
}

/// Moves pages, and remembers for each process where its walk goes on.
#[derive(Debug, Default)]
pub struct PageMover {
    options: PageOptions,
    cursors: BTreeMap<(Pid, u64, NodeId), Cursor>,
}

impl PageMover {
    /// A mover within these bounds.
    #[must_use]
    pub const fn new(options: PageOptions) -> Self {
        Self { options, cursors: BTreeMap::new() }
    }

    /// Moves pages, `budget` at most.
    pub fn migrate(&mut self, request: &Migration<'_>, budget: Pages) -> ActionOutcome {
        let mut tally = Tally::default();
        let result = self.try_migrate(request, budget, &mut tally);
        match result {
            Err(outcome) if tally.pages_moved().0 == 0 => return outcome,
            Err(ActionOutcome::Vanished) => tally.rest_stayed(ENDED, request.pages),
            Err(_) => tally.rest_stayed(REFUSED, request.pages),
            Ok(()) => {}
        }
        tally.outcome()
    }

    /// Forgets the walks of processes for which `lives` is false.
    pub fn retain(&mut self, lives: impl Fn(Pid, u64) -> bool) {
        self.cursors.retain(|&(pid, start, _), _| lives(pid, start));
    }

    /// An error is the outcome of a migration that came to nothing.
    fn try_migrate(&mut self, request: &Migration<'_>, budget: Pages, tally: &mut Tally) -> Result<(), ActionOutcome> {
        let within = request.pages.0.min(budget.0);
        tally.stayed(BUDGET, request.pages.0 - within);
        let wanted = within.min(self.room(request.to)?);
        tally.stayed(NO_MEMORY, within - wanted);
        if wanted == 0 {
            return Ok(());
        }
        let mut process = Process::new(request, &self.options)?;
        let chosen = self.choose(&mut process, request, wanted)?;
        let found = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
        tally.stayed(FEWER, wanted.saturating_sub(found));
        let chosen: Vec<u64> = chosen.into_iter().collect();
        chosen.chunks(syscall::length(self.options.batch.0)).try_for_each(|batch| process.relocate(batch, tally))
    }

    fn choose(
        &mut self,
        process: &mut Process,
        request: &Migration<'_>,
        wanted: u64,
    ) -> Result<BTreeSet<u64>, ActionOutcome> {
        let mappings = process.mappings()?;
        if request.select == PageSelection::AroundSamples && !request.addresses.is_empty() {
            let samples = request.addresses.iter().map(|address| address / process.page_size).collect();
            let mut chosen = near(process, &samples, &mapped(&mappings), request.from, wanted)?;
            let found = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
            if request.fill_up && found < wanted {
                // The walk may meet what is chosen already; then the next migration goes on with it.
                chosen.extend(self.walk(process, &mappings, request, wanted - found)?);
            }
            return Ok(chosen);
        }
        self.walk(process, &mappings, request, wanted)
    }

    /// The next pages of the resident set.
    fn walk(
        &mut self,
        process: &mut Process,
        mappings: &[Mapping],
        request: &Migration<'_>,
        wanted: u64,
    ) -> Result<BTreeSet<u64>, ActionOutcome> {
        let order = process.order(mappings)?;
        let cursor = self.cursors.entry((request.pid, request.pid_start, request.from)).or_default();
        cursor.walk(process, &order, request.from, wanted)
    }

    /// How many pages the target can take; all, where the kernel does not say.
    fn room(&self, to: NodeId) -> Result<u64, ActionOutcome> {
        let Some(memory) = free::memory(&self.options.nodes, to) else { return Ok(u64::MAX) };
        if memory.total == Bytes(0) {
            let why = format!("node {to} has no memory: choose a node that has");
            return Err(ActionOutcome::Refused { errno: None, why });
        }
        Ok(memory.available.0.saturating_sub(self.options.reserve.0) / procfs::page_size())
    }
}

/// A process whose pages are looked at and moved. Before each system call it is checked that it is still the same.
struct Process {
    pid: Pid,
    start: u64,
    from: NodeId,
    to: NodeId,
    page_size: u64,
    batch: usize,
    left: u64,
    tables: Option<PageTables>,
}

impl Process {
    fn new(request: &Migration<'_>, options: &PageOptions) -> Result<Self, ActionOutcome> {
        let task = identity::process(request.pid).filter(|task| task.start == request.pid_start);
        let task = task.ok_or(ActionOutcome::Vanished)?;
        if task.kernel || request.pid == identity::own_pid() {
            let why = "pages of the kernel and of isobar itself are not moved".to_owned();
            return Err(ActionOutcome::LeftAlone { why });
        }
        let (batch, left) = (syscall::length(options.batch.0), options.most_looked_at.0);
        let (from, to, page_size) = (request.from, request.to, procfs::page_size());
        let tables = PageTables::open(request.pid, page_size);
        Ok(Self { pid: request.pid, start: request.pid_start, from, to, page_size, batch, left, tables })
    }

    fn still_there(&self) -> Result<(), ActionOutcome> {
        let same = identity::process(self.pid).is_some_and(|task| task.start == self.start);
        if same { Ok(()) } else { Err(ActionOutcome::Vanished) }
    }

    /// What it has mapped; a process without mappings has ended (or is a zombie).
    fn mappings(&self) -> Result<Vec<Mapping>, ActionOutcome> {
        let text = self.text("maps")?.ok_or(ActionOutcome::Vanished)?;
        let mappings = parse_maps(&text, self.page_size);
        if mappings.is_empty() { Err(ActionOutcome::Vanished) } else { Ok(mappings) }
    }

    /// The order of a walk over its mappings.
    fn order(&self, mappings: &[Mapping]) -> Result<Vec<PageRange>, ActionOutcome> {
        let counts = self.text("numa_maps")?.map(|text| pages_on(&text, self.from, self.page_size));
        Ok(by_size(mappings, counts.as_ref()))
    }

    /// A file of the process as text; `None` where there is none.
    fn text(&self, name: &str) -> Result<Option<String>, ActionOutcome> {
        let read = identity::read_live(&PathBuf::from(format!("/proc/{}/{name}", self.pid)));
        let bytes = read.map_err(|error| match error.raw_os_error() {
            Some(libc::EACCES) => no_privilege(&error),
            _ => self.refusal(&error),
        })?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Moves one batch and counts what became of it: first by where the pages are afterwards, else by the kernel's word.
    fn relocate(&self, batch: &[u64], tally: &mut Tally) -> Result<(), ActionOutcome> {
        let mut rest = batch.to_vec();
        let mut why = BTreeMap::new();
        for _ in 0..MOST_TRIES {
            self.still_there()?;
            let said = self.ask(syscall::relocate(self.pid, &rest, self.page_size, self.to))?;
            why.extend(rest.iter().copied().zip(said));
            let tried = rest.len();
            rest = self.not_there(rest, &mut why, tally)?;
            if rest.is_empty() || rest.len() == tried {
                break;
            }
        }
        rest.iter().for_each(|page| tally.stayed(reason(why.get(page).copied().unwrap_or(0)), 1));
        Ok(())
    }

    /// Counts the pages that are on the target now, and returns the others. What the kernel says of them now is added to
    /// what it said when asked to move them, where it said nothing then.
    fn not_there(
        &self,
        pages: Vec<u64>,
        why: &mut BTreeMap<u64, i32>,
        tally: &mut Tally,
    ) -> Result<Vec<u64>, ActionOutcome> {
        let now = self.ask(syscall::locate(self.pid, &pages, self.page_size))?;
        let mut others = Vec::new();
        for (page, status) in pages.into_iter().zip(now) {
            if syscall::node(status) == Some(self.to) {
                tally.moved(1);
                continue;
            }
            let said = why.entry(page).or_insert(status);
            if *said >= 0 || *said == syscall::NOT_TRIED {
                *said = status;
            }
            others.push(page);
        }
        Ok(others)
    }

    fn ask(&self, answer: io::Result<Vec<i32>>) -> Result<Vec<i32>, ActionOutcome> {
        answer.map_err(|error| self.refusal(&error))
    }

    /// What a refusal for the whole process means.
    fn refusal(&self, error: &io::Error) -> ActionOutcome {
        let why = match error.raw_os_error() {
            Some(libc::ESRCH) => return ActionOutcome::Vanished,
            Some(libc::EPERM) => return no_privilege(error),
            Some(libc::ENODEV) => format!("node {} has no memory or is not there: choose a node that has", self.to),
            Some(libc::EACCES) => {
                format!("node {} is outside the process's cpuset (cpuset.mems)", self.to)
            }
            Some(libc::EINVAL) => "the process has no memory of its own (any more)".to_owned(),
            _ => format!("the kernel refused to move pages to node {}: {error}", self.to),
        };
        ActionOutcome::Refused { errno: error.raw_os_error(), why }
    }
}

/// Reading the maps of another user's process, and moving its pages, needs the access of a debugger (`ptrace(2)`,
/// `PTRACE_MODE_READ_REALCREDS`). The text names no process, so that whoever prints it can tell it once.
fn no_privilege(error: &io::Error) -> ActionOutcome {
    let remedy = privilege::remedy();
    let why = format!("without CAP_SYS_PTRACE isobar cannot move the pages of others: run as root, or {remedy}");
    ActionOutcome::Refused { errno: error.raw_os_error(), why }
}

impl Look for Process {
    type Stop = ActionOutcome;

    fn look(&mut self, pages: &[u64]) -> Result<Vec<i32>, ActionOutcome> {
        let mut status = Vec::with_capacity(pages.len());
        for batch in pages.chunks(self.batch.max(4096)) {
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
