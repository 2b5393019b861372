//! Pages that are being moved. A kernel thread copies them in parallel with the loop, one migration
//! after the other, while programs run and policies decide.
//!
//! Which pages move is decided when they are copied, by what the process has on the node then. The
//! contention model computes the cost of a copy: its bandwidth on both nodes and the links between
//! them (`step.rs` poses the question), and shootdowns for the process.
//!
//! Departure from Linux: there the processes take turns, batch by batch; here a migration is
//! finished before the next begins. The total time for all migrations is the same.

use super::SimMachine;
use isobar_model::flight::{MOST_UNDER_WAY, QUEUE_FULL, WITHDRAWN, taken_on};
use isobar_model::{ActionOutcome, NodeId, PageMove, PageSelection, Pages, Pid, Seconds, num};
use std::collections::{BTreeMap, VecDeque};

/// Reason: the process has fewer pages on the node than were requested.
pub(super) const NOT_THERE: &str = "no longer there";
/// Reason: the target is full.
pub(super) const NO_MEMORY: &str = "no free memory on the target node";
/// Reason: the process ended before its pages had moved.
const ENDED: &str = "the process ended";

/// Number of ended copies for which the number of moved pages is remembered.
const REMEMBERED: usize = 4096;

/// Pages that move from one node to another, by position.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    number: u64,
    pub pid: Pid,
    pub thread: Option<usize>,
    pub select: PageSelection,
    pub from: usize,
    pub to: usize,
    /// Pages accepted.
    pages: u64,
    /// Pages left to copy; a fraction is a page that is partly copied.
    pub left: f64,
    moved: u64,
    stayed: BTreeMap<&'static str, u64>,
    /// When the copy was requested, and by which plan.
    asked: (f64, u64),
    /// Seconds for which it has been copied.
    copying: f64,
    ended: bool,
}

impl Copy {
    /// A copy of pages that is not yet accepted; around the samples of a thread, if one is named.
    pub fn new(
        pid: Pid,
        (from, to): (usize, usize),
        pages: u64,
        (thread, select): (Option<usize>, PageSelection),
    ) -> Self {
        Self {
            number: 0,
            pid,
            thread,
            select,
            from,
            to,
            pages,
            left: num::float(pages),
            moved: 0,
            stayed: BTreeMap::new(),
            asked: (0.0, 0),
            copying: 0.0,
            ended: false,
        }
    }

    /// Pages that are not copied yet, including a partly copied page.
    fn pages_left(&self) -> u64 {
        num::round(self.left.ceil())
    }

    fn stay(&mut self, why: &'static str, pages: u64) {
        if pages > 0 {
            *self.stayed.entry(why).or_default() += pages;
        }
    }

    /// Drops the pages that are left.
    fn stop(mut self, why: &'static str) -> Self {
        self.stay(why, self.pages_left());
        (self.left, self.ended) = (0.0, true);
        self
    }

    /// The report of this copy in a sample.
    fn report(&self, nodes: &[NodeId], now: f64) -> PageMove {
        PageMove {
            number: self.number,
            pid: self.pid,
            from: nodes[self.from],
            to: nodes[self.to],
            pages: Pages(self.pages),
            outcome: ActionOutcome::Pages { moved: Pages(self.moved), stayed: reasons(&self.stayed) },
            age: Seconds((now - self.asked.0).max(0.0)),
            copying: Seconds(self.copying),
            ended: self.ended,
        }
    }
}

/// Pages by reason, in the form that outcomes have.
pub(super) fn reasons(stayed: &BTreeMap<&'static str, u64>) -> Vec<(String, Pages)> {
    stayed.iter().filter(|(_, pages)| **pages > 0).map(|(why, pages)| ((*why).to_owned(), Pages(*pages))).collect()
}

/// All copies of a machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// The copies in order; the first is being copied.
    queue: VecDeque<Copy>,
    /// Ended copies that are not yet in a sample.
    ended: Vec<Copy>,
    /// Pages that each of the last copies moved, by number, in case one is undone.
    moved: BTreeMap<u64, u64>,
    /// Number of copies accepted so far.
    numbers: u64,
    /// Number of plans so far: a withdrawal does not affect copies that its own plan requested.
    pub plans: u64,
}

impl Copies {
    /// The copy that is being made now.
    pub fn active(&self) -> Option<&Copy> {
        self.queue.front()
    }

    fn sum(&self, of: impl Fn(&Copy) -> bool) -> u64 {
        self.queue.iter().filter(|copy| of(copy)).map(Copy::pages_left).sum()
    }

    /// Pages of a process that are about to leave a node.
    pub fn leaving(&self, pid: Pid, node: usize) -> u64 {
        self.sum(|copy| copy.pid == pid && copy.from == node)
    }

    /// Pages that are about to arrive on a node.
    pub fn arriving(&self, node: usize) -> u64 {
        self.sum(|copy| copy.to == node)
    }

    /// Accepts as many pages of a copy as may be under way; `stayed` contains the pages that cannot
    /// move anyway.
    pub fn take_on(&mut self, mut copy: Copy, mut stayed: BTreeMap<&'static str, u64>, now: f64) -> ActionOutcome {
        let wanted = copy.pages;
        let route = self.sum(|other| (other.pid, other.from, other.to) == (copy.pid, copy.from, copy.to));
        let pages = taken_on(Pages(wanted), MOST_UNDER_WAY, Pages(self.sum(|_| true)), Pages(route));
        stayed.insert(QUEUE_FULL, wanted - pages.0);
        if pages.0 == 0 {
            return ActionOutcome::Pages { moved: Pages(0), stayed: reasons(&stayed) };
        }
        self.numbers += 1;
        (copy.number, copy.pages, copy.left, copy.asked) =
            (self.numbers, pages.0, num::float(pages.0), (now, self.plans));
        self.queue.push_back(copy);
        ActionOutcome::Queued { number: self.numbers, pages, stayed: reasons(&stayed) }
    }

    /// Drops some copies; returns how many.
    fn stop(&mut self, why: &'static str, which: impl Fn(&Copy) -> bool) -> usize {
        let (dropped, kept): (VecDeque<_>, _) =
            std::mem::take(&mut self.queue).into_iter().partition(|copy| which(copy));
        self.queue = kept;
        let count = dropped.len();
        dropped.into_iter().for_each(|copy| self.end(copy.stop(why)));
        count
    }

    fn end(&mut self, copy: Copy) {
        self.moved.insert(copy.number, copy.moved);
        if self.moved.len() > REMEMBERED {
            self.moved.pop_first();
        }
        self.ended.push(copy);
    }

    /// Drops what is left of one copy; returns the pages that it has moved, if that is known.
    pub fn take_back(&mut self, number: u64) -> Option<u64> {
        self.stop(WITHDRAWN, |copy| copy.number == number);
        self.moved.remove(&number)
    }

    /// Ends the copies of a process that has ended.
    pub fn forget(&mut self, pid: Pid) {
        self.stop(ENDED, |copy| copy.pid == pid);
    }

    /// The copies under way, and those that ended since the last call; ascending by number.
    pub fn report(&mut self, nodes: &[NodeId], now: f64) -> Vec<PageMove> {
        let ended = std::mem::take(&mut self.ended);
        let mut all: Vec<_> = ended.iter().chain(&self.queue).map(|copy| copy.report(nodes, now)).collect();
        all.sort_by_key(|flight| flight.number);
        all
    }

    /// Ends all copies; returns the outcomes that no sample has reported.
    pub fn clear(&mut self) -> Vec<ActionOutcome> {
        self.stop(WITHDRAWN, |_| true);
        let outcome = |copy: Copy| ActionOutcome::Pages { moved: Pages(copy.moved), stayed: reasons(&copy.stayed) };
        std::mem::take(&mut self.ended).into_iter().map(outcome).collect()
    }
}

/// A migration of the same process to the same node within this many epochs continues the one
/// before.
const SAME_MIGRATION: f64 = 1.5;

impl SimMachine {
    /// Drops the pages of a process that are under way, between the named nodes or all nodes,
    /// except for those that this plan requested. Returns the number of migrations affected.
    pub(super) fn withdraw(&mut self, pid: Pid, from: Option<NodeId>, to: Option<NodeId>) -> usize {
        let nodes = self.workload.machine.nodes();
        let meant = |node: usize, named: Option<NodeId>| named.is_none_or(|named| nodes.get(node) == Some(&named));
        let plan = self.copies.plans;
        let which =
            |copy: &Copy| copy.pid == pid && copy.asked.1 < plan && meant(copy.from, from) && meant(copy.to, to);
        let dropped = self.copies.stop(WITHDRAWN, which);
        self.changed |= dropped > 0;
        dropped
    }

    /// Moves the pages that were copied in some seconds to their new node.
    pub(super) fn copy_pages(&mut self, seconds: f64) {
        let copied = self.solver.answer().copied * seconds;
        let Some(mut copy) = self.copies.queue.pop_front() else { return };
        self.changed = true;
        copy.copying += seconds;
        let before = copy.pages_left();
        // Less than a thousandth of a page is rounding.
        copy.left = if copy.left - copied < 1e-3 { 0.0 } else { copy.left - copied };
        let count = before - copy.pages_left();
        if let (Some(index), true) = (self.position(copy.pid), count > 0) {
            let fit = count.min(self.free_pages()[copy.to]);
            let process = &mut self.processes[index];
            let moved = process.memory.migrate(copy.thread, copy.select, copy.from, copy.to, fit);
            self.totals[process.app].pages_moved += moved;
            copy.moved += moved;
            copy.stay(NO_MEMORY, count - fit);
            copy.stay(NOT_THERE, fit - moved);
            if moved > 0 {
                self.count_migration(index, copy.to);
            }
        }
        if copy.left > 0.0 {
            self.copies.queue.push_front(copy);
        } else {
            copy.ended = true;
            self.copies.end(copy);
        }
        self.keep_migrations_open();
    }

    /// Counts memory migrations. One migration is a stretch of epochs in which pages of a process
    /// move to one node (DINO, table 1, counts these).
    pub(super) fn count_migration(&mut self, index: usize, to: usize) {
        let horizon = self.migration_horizon();
        let process = &mut self.processes[index];
        let same = process.migrating.is_some_and(|(node, time)| node == to && time >= horizon);
        if !same {
            self.totals[process.app].memory_migrations += 1;
        }
        process.migrating = Some((to, self.now));
    }

    /// Waiting for other copies does not end a stretch.
    fn keep_migrations_open(&mut self) {
        let (now, horizon) = (self.now, self.migration_horizon());
        for copy in &self.copies.queue {
            let of = |process: &&mut super::Process| process.pid == copy.pid && !process.gone;
            let Some(process) = self.processes.iter_mut().find(of) else { continue };
            let open = process.migrating.as_mut().filter(|(node, time)| *node == copy.to && *time >= horizon);
            open.into_iter().for_each(|(_, time)| *time = now);
        }
    }

    fn migration_horizon(&self) -> f64 {
        self.now - SAME_MIGRATION * self.workload.run.epoch_seconds
    }
}

#[cfg(test)]
mod tests;
