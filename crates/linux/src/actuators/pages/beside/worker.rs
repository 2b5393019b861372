//! The thread that copies pages: one batch after the other, no faster than its budget allows.

use super::super::budget::PageBudget;
use super::super::migrate::{Done, PageMover, relocate};
use super::super::migration::PageOptions;
use super::queue::Job;
use super::shared::Shared;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Works until the queue is closed.
pub(super) fn work(shared: &Shared, mover: &Mutex<PageMover>, options: &PageOptions, mut budget: PageBudget) {
    while let Some(job) = next(shared, &mut budget) {
        let begin = Instant::now();
        let done = carry_out(&job, mover, options);
        budget.spend(done.tally.pages_moved());
        shared.lock().settle(job.number, Done { took: begin.elapsed(), ..done });
    }
}

/// The next job, once there is one and the budget is large enough for it; `None` if the queue is
/// closed.
fn next(shared: &Shared, budget: &mut PageBudget) -> Option<Job> {
    let mut queue = shared.lock();
    while !queue.closed {
        let Some((number, pages)) = queue.next(budget.most()) else {
            queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        budget.refill();
        match budget.time_until(pages) {
            None => return queue.hand_out(number, pages),
            Some(time) => {
                queue = shared.changed.wait_timeout(queue, time).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
    None
}

fn carry_out(job: &Job, mover: &Mutex<PageMover>, options: &PageOptions) -> Done {
    let request = job.request.migration();
    match &job.batch {
        Some(batch) => relocate(&request, options, batch, &job.stop),
        None => mover.lock().unwrap_or_else(PoisonError::into_inner).find(&request, &job.stop),
    }
}
