//! Carries out one migration: how many pages the target can take, which pages, in which batches,
//! and what became of them.

use super::mapped::Mapped;
use super::migration::{Migration, PageOptions};
use super::process::Process;
use super::select::{Cursor, in_order, near};
use super::tally::{BUDGET, FEWER, NO_MEMORY, OWNED, Tally};
use crate::kernel::move_pages as syscall;
use crate::kernel::node_memory::NodeMemory;
use isobar_model::flight::BATCH;
use isobar_model::{ActionOutcome, Bytes, NodeId, PageSelection, Pages, Pid};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The result of one step of a migration: what became of its pages, which pages were chosen, or why
/// it cannot go on.
#[derive(Debug, Default)]
pub struct Done {
    /// Number of pages by what became of them.
    pub tally: Tally,
    /// The pages to move, if this step chose them.
    pub chosen: Option<Vec<u64>>,
    /// The pages that have moved, if this step moved any.
    pub moved: Vec<u64>,
    /// Why the step failed. If no page has moved, this is the outcome of the whole migration.
    pub failed: Option<ActionOutcome>,
    /// How long the step took, if that was measured.
    pub took: Duration,
}

/// Moves pages, and remembers for each process where its walk continues.
#[derive(Debug, Default)]
pub struct PageMover {
    options: PageOptions,
    cursors: BTreeMap<(Pid, u64, NodeId), Cursor>,
}

impl PageMover {
    /// A mover within these limits.
    #[must_use]
    pub const fn new(options: PageOptions) -> Self {
        Self { options, cursors: BTreeMap::new() }
    }

    /// Moves at most `budget` pages while the caller waits.
    pub fn migrate(&mut self, request: &Migration<'_>, budget: Pages) -> ActionOutcome {
        let within = request.pages.0.min(budget.0);
        let mut tally = Tally::default();
        tally.stayed(BUDGET, request.pages.0 - within);
        let stop = AtomicBool::new(false);
        let found = self.find(&Migration { pages: Pages(within), ..*request }, &stop);
        tally.add(found.tally);
        let mut failed = found.failed;
        for batch in found.chosen.unwrap_or_default().chunks(syscall::length(BATCH.0)) {
            if failed.is_none() {
                let done = relocate(request, &self.options, batch, &stop);
                tally.add(done.tally);
                failed = done.failed;
            }
        }
        tally.close(request.pages, failed)
    }

    /// Chooses the pages of a request. Pages that are not found, or for which the target has no
    /// memory, are counted as staying.
    pub fn find(&mut self, request: &Migration<'_>, stop: &AtomicBool) -> Done {
        let mut tally = Tally::default();
        let chosen = self.try_find(request, stop, &mut tally);
        let (chosen, failed) = match chosen {
            Ok(chosen) => (Some(chosen), None),
            Err(outcome) => (None, Some(outcome)),
        };
        Done { tally, chosen, failed, ..Done::default() }
    }

    /// Forgets the walks of processes for which `lives` is false.
    pub fn retain(&mut self, lives: impl Fn(Pid, u64) -> bool) {
        self.cursors.retain(|&(pid, start, _), _| lives(pid, start));
    }

    /// The error is the outcome of a migration that moves nothing.
    fn try_find(
        &mut self,
        request: &Migration<'_>,
        stop: &AtomicBool,
        tally: &mut Tally,
    ) -> Result<Vec<u64>, ActionOutcome> {
        let asked = request.pages.0;
        let wanted = asked.min(capacity(&self.options, request.to)?);
        tally.stayed(NO_MEMORY, asked - wanted);
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let mut process = Process::new(request, stop)?;
        let mapped = process.mapped()?;
        let chosen = self.choose(&mut process, &mapped, request, wanted)?;
        let found = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
        let missing = wanted.saturating_sub(found);
        // Other selections (around samples, or of accessed pages) do not ask for these pages.
        let walks = request.select == PageSelection::ResidentSet;
        let owned = if walks { missing.min(mapped.owned()) } else { 0 };
        tally.stayed(OWNED, owned);
        tally.stayed(FEWER, missing - owned);
        Ok(chosen.into_iter().collect())
    }

    fn choose(
        &mut self,
        process: &mut Process<'_>,
        mapped: &Mapped,
        request: &Migration<'_>,
        wanted: u64,
    ) -> Result<BTreeSet<u64>, ActionOutcome> {
        if request.select == PageSelection::Accessed {
            return in_order(process, &mapped.within(request.accessed), request.from, wanted);
        }
        if request.select == PageSelection::AroundSamples && !request.addresses.is_empty() {
            let samples = request.addresses.iter().map(|address| address / process.page_size).collect();
            let mut chosen = near(process, &samples, &mapped.ranges(), request.from, wanted)?;
            let found = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
            if request.fill_up && found < wanted {
                // The walk may reach pages that are chosen already. The next migration then
                // continues with it.
                chosen.extend(self.walk(process, mapped, request, wanted - found)?);
            }
            return Ok(chosen);
        }
        self.walk(process, mapped, request, wanted)
    }

    /// The next pages of the resident set.
    fn walk(
        &mut self,
        process: &mut Process<'_>,
        mapped: &Mapped,
        request: &Migration<'_>,
        wanted: u64,
    ) -> Result<BTreeSet<u64>, ActionOutcome> {
        let cursor = self.cursors.entry((request.pid, request.pid_start, request.from)).or_default();
        cursor.walk(process, &mapped.order(), request.from, wanted)
    }
}

/// Checks whether pages of a request can move at all, without looking for them. The error is the
/// outcome if none can.
///
/// # Errors
/// The process has ended or must not be touched, its memory may not be read, or the target has no
/// memory.
pub fn admit(request: &Migration<'_>, options: &PageOptions) -> Result<(), ActionOutcome> {
    capacity(options, request.to)?;
    Process::new(request, &AtomicBool::new(false))?.may_be_read()
}

/// Moves one batch of pages that were found, as many as the target can take now.
pub fn relocate(request: &Migration<'_>, options: &PageOptions, batch: &[u64], stop: &AtomicBool) -> Done {
    let (mut tally, mut there) = (Tally::default(), Vec::new());
    let moved = capacity(options, request.to).and_then(|capacity| {
        let fits = usize::try_from(capacity).unwrap_or(usize::MAX).min(batch.len());
        tally.stayed(NO_MEMORY, u64::try_from(batch.len() - fits).unwrap_or(u64::MAX));
        Process::new(request, stop)?.relocate(&batch[..fits], &mut tally, &mut there)
    });
    Done { tally, failed: moved.err(), moved: there, ..Done::default() }
}

/// How many pages the target can take. There is no limit if the kernel does not report its memory:
/// in that case `move_pages(2)` itself refuses what does not fit.
fn capacity(options: &PageOptions, to: NodeId) -> Result<u64, ActionOutcome> {
    let Some(memory) = NodeMemory::of(&options.nodes, to) else { return Ok(u64::MAX) };
    if memory.total == Bytes(0) {
        let why = format!("node {to} has no memory: choose a node that has memory");
        return Err(ActionOutcome::Refused { errno: None, why });
    }
    Ok(memory.pages_beyond(options.reserve))
}
