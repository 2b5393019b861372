//! The migrations under way: which one is next, how far each has come, and what has become of it.
//! This file copies nothing and knows no thread, so its tests need no kernel.
//!
//! Processes take turns, batch by batch. The migrations of one process follow each other, because a
//! later one chooses its pages among those that earlier ones have left.

use super::super::migrate::Done;
use super::super::tally::Tally;
use super::moved::Moved;
use super::request::{News, Request};
use isobar_model::flight::{BATCH, WITHDRAWN, taken_on};
use isobar_model::{ActionOutcome, NodeId, PageMove, Pages, Pid, Seconds, num};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// All migrations that have been accepted, until their end was reported.
#[derive(Debug, Default)]
pub struct Queue {
    flights: BTreeMap<u64, Flight>,
    ended: Vec<PageMove>,
    moved: BTreeMap<(NodeId, NodeId), u64>,
    /// The pages that the last migrations moved.
    by_number: Moved,
    outdated: BTreeSet<Pid>,
    numbers: u64,
    /// Number of plans so far.
    pub plans: u64,
    /// The process whose turn was last.
    served: Option<Pid>,
    /// The migration that the thread is working on.
    busy: Option<u64>,
    /// Whether the thread is to end.
    pub closed: bool,
}

#[derive(Debug)]
struct Flight {
    request: Arc<Request>,
    asked: Instant,
    plan: u64,
    tally: Tally,
    copying: Duration,
    /// Pages still to be copied, in reverse order; `None`: not chosen yet.
    chosen: Option<Vec<u64>>,
    stop: Arc<AtomicBool>,
}

/// What the thread is to do next.
#[derive(Debug)]
pub struct Job {
    /// The migration.
    pub number: u64,
    /// The request.
    pub request: Arc<Request>,
    /// The pages to copy; `None`: choose them.
    pub batch: Option<Vec<u64>>,
    /// Set if the job is not wanted any more.
    pub stop: Arc<AtomicBool>,
}

impl Flight {
    fn left(&self) -> u64 {
        self.request.pages.0.saturating_sub(self.tally.counted())
    }

    fn report(&self, number: u64, outcome: ActionOutcome, ended: bool) -> PageMove {
        let Request { pid, from, to, pages, .. } = *self.request;
        let [age, copying] = [self.asked.elapsed(), self.copying].map(|time| Seconds(time.as_secs_f64()));
        PageMove { number, pid, from, to, pages, outcome, age, copying, ended }
    }
}

impl Queue {
    /// Accepts as many pages of a request as fit into `limit`. Returns the number of the migration,
    /// if any page fits, and the number of pages.
    pub fn take_on(&mut self, mut request: Request, limit: Pages) -> (Option<u64>, Pages) {
        let route = |other: &Request| (other.pid, other.from, other.to);
        let own = route(&request);
        let sum = |of: &dyn Fn(&Request) -> bool| -> u64 {
            self.flights.values().filter(|flight| of(&flight.request)).map(Flight::left).sum()
        };
        let (all, same) = (Pages(sum(&|_| true)), Pages(sum(&|other| route(other) == own)));
        let pages = taken_on(request.pages, limit, all, same);
        if pages.0 == 0 {
            return (None, pages);
        }
        request.pages = pages;
        self.numbers += 1;
        let flight = Flight {
            request: Arc::new(request),
            asked: Instant::now(),
            plan: self.plans,
            tally: Tally::default(),
            copying: Duration::ZERO,
            chosen: None,
            stop: Arc::default(),
        };
        self.flights.insert(self.numbers, flight);
        (Some(self.numbers), pages)
    }

    /// The next migration, and the number of pages in its next batch (0 while they are to be
    /// chosen). `most` is the maximum for a batch.
    pub fn next(&self, most: Pages) -> Option<(u64, Pages)> {
        let mut first: BTreeMap<Pid, u64> = BTreeMap::new();
        for (number, flight) in &self.flights {
            first.entry(flight.request.pid).or_insert(*number);
        }
        let after = self.served.and_then(|served| first.range(served..).find(|(pid, _)| **pid > served));
        let (_, number) = after.or_else(|| first.iter().next())?;
        let chosen = self.flights[number].chosen.as_ref();
        let batch = chosen.map_or(0, |pages| u64::try_from(pages.len()).unwrap_or(u64::MAX));
        Some((*number, Pages(batch.min(BATCH.0).min(most.0))))
    }

    /// Hands out a batch of `size` pages of a migration, or the job of choosing its pages.
    pub fn hand_out(&mut self, number: u64, size: Pages) -> Option<Job> {
        let flight = self.flights.get_mut(&number)?;
        (self.served, self.busy) = (Some(flight.request.pid), Some(number));
        let batch = flight.chosen.as_mut().map(|pages| {
            let at = pages.len().saturating_sub(num::index(u32::try_from(size.0).unwrap_or(u32::MAX)));
            let mut batch = pages.split_off(at);
            batch.reverse();
            batch
        });
        Some(Job { number, request: Arc::clone(&flight.request), batch, stop: Arc::clone(&flight.stop) })
    }

    /// Records the result of a job.
    pub fn settle(&mut self, number: u64, done: Done) {
        self.busy = None;
        let Some(flight) = self.flights.get_mut(&number) else { return };
        flight.copying += done.took;
        let request = Arc::clone(&flight.request);
        self.by_number.add(number, &request, done.moved);
        let moved = done.tally.pages_moved();
        flight.tally.add(done.tally);
        if let Some(mut pages) = done.chosen {
            pages.reverse();
            flight.chosen = Some(pages);
        }
        let stopped = flight.stop.load(Ordering::SeqCst);
        let over = flight.chosen.as_ref().is_some_and(Vec::is_empty);
        self.note(&request, moved);
        match done.failed {
            _ if stopped => self.end(number, None),
            Some(outcome) => self.end(number, Some(outcome)),
            None if over => self.end(number, None),
            None => {}
        }
    }

    /// Records that pages moved, or that they are not where they were seen.
    pub fn note(&mut self, request: &Request, moved: Pages) {
        self.outdated.insert(request.pid);
        *self.moved.entry((request.from, request.to)).or_default() += moved.0;
    }

    /// Ends a migration: it has failed, was withdrawn, or has nothing left to copy.
    fn end(&mut self, number: u64, failed: Option<ActionOutcome>) {
        let Some(mut flight) = self.flights.remove(&number) else { return };
        self.outdated.insert(flight.request.pid);
        let mut tally = std::mem::take(&mut flight.tally);
        if flight.stop.load(Ordering::SeqCst) {
            tally.rest_stayed(WITHDRAWN, flight.request.pages);
        }
        let outcome = tally.close(flight.request.pages, failed);
        self.ended.push(flight.report(number, outcome, true));
    }

    /// Drops the pages not yet copied of some migrations that this plan has not requested. Returns
    /// the number of these migrations, including those that are stopping already.
    pub fn withdraw(&mut self, pid: Pid, from: Option<NodeId>, to: Option<NodeId>) -> usize {
        let plan = self.plans;
        self.stop(|flight| {
            let Request { pid: of, from: leaves, to: reaches, .. } = *flight.request;
            of == pid
                && flight.plan < plan
                && from.is_none_or(|from| from == leaves)
                && to.is_none_or(|to| to == reaches)
        })
    }

    /// Drops the pages not yet copied of one migration.
    pub fn stop_one(&mut self, number: u64) {
        if let Some(flight) = self.flights.get(&number) {
            flight.stop.store(true, Ordering::SeqCst);
            if self.busy != Some(number) {
                self.end(number, None);
            }
        }
    }

    /// The request that takes a migration back, as far as the pages that it moved are known.
    pub fn way_back(&self, number: u64) -> Option<Request> {
        self.by_number.way_back(number)
    }

    /// Drops all migrations.
    pub fn stop_all(&mut self) {
        self.stop(|_| true);
    }

    /// The thread has ended: drops all migrations.
    pub fn abandon(&mut self) {
        self.busy = None;
        self.stop_all();
    }

    fn stop(&mut self, which: impl Fn(&Flight) -> bool) -> usize {
        let numbers: Vec<u64> =
            self.flights.iter().filter(|(_, flight)| which(flight)).map(|(number, _)| *number).collect();
        for number in &numbers {
            self.flights[number].stop.store(true, Ordering::SeqCst);
            if self.busy != Some(*number) {
                self.end(*number, None);
            }
        }
        numbers.len()
    }

    /// What is under way, and what has happened since the last call.
    pub fn news(&mut self) -> News {
        let report = |(number, flight): (&u64, &Flight)| {
            let mut tally = flight.tally.clone();
            // The last batch may still arrive, but no other page of this migration will.
            if flight.stop.load(Ordering::SeqCst) {
                tally.rest_stayed(WITHDRAWN, flight.request.pages);
            }
            flight.report(*number, tally.outcome(), false)
        };
        let mut flights: Vec<_> = self.flights.iter().map(report).chain(std::mem::take(&mut self.ended)).collect();
        flights.sort_by_key(|flight| flight.number);
        let moved = std::mem::take(&mut self.moved).into_iter().filter(|(_, pages)| *pages > 0);
        let moved = moved.map(|((from, to), pages)| (from, to, Pages(pages))).collect();
        News { flights, moved, outdated: std::mem::take(&mut self.outdated) }
    }
}

#[cfg(test)]
mod tests;
