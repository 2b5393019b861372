//! Migrates pages beside the loop: one thread copies, batch by batch and at a limited rate, while
//! the loop samples and decides. The loop waits for the thread only at the end, when
//! [`PagesBeside::stop`] waits for its current step: a batch of pages, or the search for the pages
//! of one process.
//!
//! The number of pages under way is limited (see [`isobar_model::flight::taken_on`]). Before each
//! batch the process is identified by its pid and start time. If no thread can be started, pages
//! are moved while the loop waits ("in line"), as far as the rate allows at once.

mod moved;
mod queue;
mod request;
mod shared;
mod worker;

pub use request::{News, Request};

use super::budget::PageBudget;
use super::migrate::{PageMover, admit};
use super::migration::PageOptions;
use super::tally::{BUDGET, Tally};
use isobar_model::flight::QUEUE_FULL;
use isobar_model::{ActionOutcome, NodeId, Pages, Pid};
use shared::Shared;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Seconds of copying that may be under way, at most.
const SECONDS_UNDER_WAY: u64 = 4;

/// Moves pages beside the loop.
#[derive(Debug)]
pub struct PagesBeside {
    shared: Arc<Shared>,
    mover: Arc<Mutex<PageMover>>,
    options: PageOptions,
    per_second: u64,
    worker: Option<JoinHandle<()>>,
    /// Why no thread copies, and the budget for the pages that are moved in line in that case.
    in_line: Option<(String, PageBudget)>,
}

impl PagesBeside {
    /// A mover with nothing under way. The thread is started when it is needed.
    #[must_use]
    pub fn new(options: PageOptions, per_second: u64) -> Self {
        let mover = Arc::new(Mutex::new(PageMover::new(options.clone())));
        Self { shared: Arc::default(), mover, options, per_second, worker: None, in_line: None }
    }

    /// Moves pages in line, without a thread, for the reason `why`.
    #[must_use]
    pub fn in_line(mut self, why: &str) -> Self {
        self.in_line = Some((why.to_owned(), PageBudget::new(self.per_second)));
        self
    }

    /// Why pages are moved in line, if they are: the loop waits for them in that case.
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        let (why, _) = self.in_line.as_ref()?;
        Some(format!("pages are moved in the decision loop, which waits for them: {why}"))
    }

    /// Begins a plan. Its withdrawals apply to what was under way before it.
    pub fn next_plan(&mut self) {
        self.shared.lock().plans += 1;
    }

    /// Accepts as many pages as may be under way, or returns at once why none can move.
    pub fn take_on(&mut self, request: Request) -> ActionOutcome {
        let asked = request.pages;
        if self.per_second == 0 {
            return all_stay(BUDGET, asked);
        }
        if let Err(outcome) = admit(&request.migration(), &self.options) {
            return outcome;
        }
        if let Err(error) = self.start() {
            let why = format!("no thread can be started to move them: {error}");
            self.in_line = Some((why, PageBudget::new(self.per_second)));
        }
        if let Some((_, budget)) = &mut self.in_line {
            budget.refill();
            let mut mover = self.mover.lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = mover.migrate(&request.migration(), budget.left());
            if let ActionOutcome::Pages { moved, .. } = outcome {
                budget.spend(moved);
                self.shared.lock().note(&request, moved);
            }
            return outcome;
        }
        let limit = Pages(self.per_second.saturating_mul(SECONDS_UNDER_WAY));
        let (number, pages) = self.shared.lock().take_on(request, limit);
        self.shared.changed.notify_all();
        let stayed = Pages(asked.0 - pages.0);
        match number {
            Some(number) => {
                let stayed = Some(stayed).filter(|pages| pages.0 > 0).map(|pages| (QUEUE_FULL.to_owned(), pages));
                ActionOutcome::Queued { number, pages, stayed: stayed.into_iter().collect() }
            }
            None => all_stay(QUEUE_FULL, stayed),
        }
    }

    /// Drops what is under way of a process, between some nodes or all, and was not requested by
    /// this plan. Returns the number of migrations affected.
    pub fn withdraw(&mut self, pid: Pid, from: Option<NodeId>, to: Option<NodeId>) -> usize {
        let dropped = self.shared.lock().withdraw(pid, from, to);
        self.shared.changed.notify_all();
        dropped
    }

    /// Moves back the pages that a migration moved, and ends the migration if it is still under
    /// way. Only pages that are still where it put them move, and only as many as there is memory
    /// for.
    pub fn take_back(&mut self, number: u64) -> ActionOutcome {
        let back = {
            let mut queue = self.shared.lock();
            queue.stop_one(number);
            queue.way_back(number)
        };
        match back {
            Some(request) => self.take_on(request),
            None => ActionOutcome::LeftAlone { why: "isobar no longer knows which pages it moved".to_owned() },
        }
    }

    /// What has happened since the last call.
    pub fn news(&mut self) -> News {
        if self.worker.as_ref().is_some_and(JoinHandle::is_finished) {
            // The thread ends only if asked to, or by a bug of ours. In the latter case the next
            // request starts another one.
            self.worker = None;
            self.shared.lock().abandon();
        }
        self.shared.lock().news()
    }

    /// Forgets where walks continue, for processes for which `lives` is false.
    pub fn retain(&mut self, lives: impl Fn(Pid, u64) -> bool) {
        // The thread may be looking for pages: in that case a later sample forgets them.
        if let Ok(mut mover) = self.mover.try_lock() {
            mover.retain(lives);
        }
    }

    /// Starts to end what is under way, without waiting for it.
    pub fn withdraw_all(&mut self) {
        self.shared.lock().stop_all();
        self.shared.changed.notify_all();
    }

    /// Ends what is under way after the batch that is being copied, and ends the thread. Returns
    /// the news that were not reported yet.
    pub fn stop(&mut self) -> News {
        self.withdraw_all();
        if let Some(worker) = self.worker.take() {
            self.shared.lock().closed = true;
            self.shared.changed.notify_all();
            // An error means that the thread has panicked, and so is done as well.
            let _ = worker.join();
        }
        let mut queue = self.shared.lock();
        queue.closed = false;
        queue.abandon();
        queue.news()
    }

    fn start(&mut self) -> io::Result<()> {
        if self.worker.is_none() && self.in_line.is_none() {
            let (shared, mover, per_second) = (Arc::clone(&self.shared), Arc::clone(&self.mover), self.per_second);
            let options = self.options.clone();
            let work = move || worker::work(&shared, &mover, &options, PageBudget::new(per_second));
            self.worker = Some(Builder::new().name("pages".into()).spawn(work)?);
        }
        Ok(())
    }
}

impl Drop for PagesBeside {
    fn drop(&mut self) {
        self.stop();
    }
}

fn all_stay(why: &'static str, pages: Pages) -> ActionOutcome {
    let mut tally = Tally::default();
    tally.stayed(why, pages.0);
    tally.outcome()
}
