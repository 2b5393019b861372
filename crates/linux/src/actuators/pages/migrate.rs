//! One migration: what the target can take, which pages, in which batches, and the tally.

use super::free;
use super::migration::{Migration, PageOptions};
use super::process::Process;
use super::select::{Cursor, in_order, mapped, near};
use super::tally::{BUDGET, ENDED, FEWER, NO_MEMORY, REFUSED, Tally};
use crate::kernel::maps::Mapping;
use isobar_model::{ActionOutcome, Bytes, NodeId, PageSelection, Pages, Pid};
use std::collections::{BTreeMap, BTreeSet};

/// Pages in one system call that moves. The kernel drains the LRU lists of every CPU in each call,
/// and holds them disabled for its length: fewer calls cost less, shorter ones stall others less.
const BATCH: usize = 512;

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
        let mut process = Process::new(request)?;
        let chosen = self.choose(&mut process, request, wanted)?;
        let found = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
        tally.stayed(FEWER, wanted.saturating_sub(found));
        let chosen: Vec<u64> = chosen.into_iter().collect();
        chosen.chunks(BATCH).try_for_each(|batch| process.relocate(batch, tally))
    }

    fn choose(
        &mut self,
        process: &mut Process,
        request: &Migration<'_>,
        wanted: u64,
    ) -> Result<BTreeSet<u64>, ActionOutcome> {
        if request.select == PageSelection::Accessed {
            return in_order(process, request.accessed, request.from, wanted);
        }
        let mappings = process.mappings()?;
        if request.select == PageSelection::AroundSamples && !request.addresses.is_empty() {
            let samples = request.addresses.iter().map(|address| address / process.page_size).collect();
            let mut chosen = near(process, &samples, &mapped(&mappings), request.from, wanted)?;
            let found = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
            if request.fill_up && found < wanted {
                // The walk may meet what is chosen already; then the next migration goes on with
                // it.
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
