//! Replays a trace once, for any number of strategies at the same time.
//!
//! The process ran on one node, with its memory. At the start of the trace, thread 0 has moved to
//! another node; any other threads have stayed. A sample moves pages to the node of the thread that
//! was sampled.
//!
//! A strategy acts only at samples, so the accesses in between need no work per strategy. For each
//! page and node, the accesses so far are counted. A page that moves from node n to node m at time
//! t adds m(t) - n(t) to the remote accesses, and at the end each page adds the accesses by the
//! node where it is not. (Until t the accesses by m were remote; from t on those by n are, n(end) -
//! n(t).) So the cost of an access does not depend on the number of strategies, and the cost of a
//! strategy depends on the pages that it moves.

use super::detector::Detector;
use super::places::Places;
use super::sampler::Sampler;
use super::strategy::{Request, Strategy, pages};
use isobar_model::num;
use isobar_pages::synthetic::Access;
use rand_chacha::ChaCha8Rng;

/// The thread that moved; all others have stayed.
pub(super) const MOVED: u16 = 0;

/// Number of accesses of a process so far.
#[derive(Clone, Debug)]
struct Counts {
    pages: u32,
    /// Accesses to each page by the thread that moved.
    there: Vec<u32>,
    /// Accesses to each page by the other threads.
    here: Vec<u32>,
}

impl Counts {
    fn new(pages: u32) -> Self {
        let zeros = vec![0; num::index(pages)];
        Self { pages, there: zeros.clone(), here: zeros }
    }

    fn add(&mut self, access: Access) {
        let side = if access.thread == MOVED { &mut self.there } else { &mut self.here };
        let count = &mut side[num::index(access.page)];
        *count = count.saturating_add(1);
    }

    /// Number of remote accesses so far, if no page had moved.
    fn unmoved(&self) -> u64 {
        self.there.iter().map(|count| u64::from(*count)).sum()
    }
}

/// The result of a strategy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tally {
    /// Remote accesses of all threads if no page had moved.
    pub unmoved: u64,
    /// Remote accesses of all threads.
    pub remote: i64,
    /// Page moves; a page that moves back and forth counts each time.
    pub moves: u64,
}

impl Tally {
    /// Saved remote accesses in per cent; `None` if there were none to save. Below 0 if threads
    /// that stayed lost more than the moved thread gained.
    pub(super) fn sra(&self) -> Option<f64> {
        let unmoved = num::float(self.unmoved);
        (self.unmoved > 0).then(|| 100.0 * (unmoved - signed(self.remote)) / unmoved)
    }
}

/// A difference of counts as a float.
pub(super) fn signed(count: i64) -> f64 {
    if count < 0 { -num::float(count.unsigned_abs()) } else { num::float(count.unsigned_abs()) }
}

/// A strategy and its state.
#[derive(Clone, Debug)]
pub(super) struct Mover {
    strategy: Strategy,
    k: u32,
    rng: ChaCha8Rng,
    places: Places,
    /// Number of accesses of the process while one page is copied; 0 = pages move at once.
    copy: f64,
    /// The access up to which the daemon is still copying.
    busy: u64,
    /// Next page of a walk over the resident set.
    cursor: u32,
    changed: i64,
    moves: u64,
}

impl Mover {
    pub(super) fn new(strategy: Strategy, k: u32, pages: u32, rng: ChaCha8Rng) -> Self {
        let places = Places::new(pages);
        Self { strategy, k, rng, places, copy: 0.0, busy: 0, cursor: 0, changed: 0, moves: 0 }
    }

    /// The same with a daemon that copies each page during this number of accesses, and takes no
    /// sample in the meantime.
    pub(super) fn copying(self, accesses_per_page: f64) -> Self {
        Self { copy: accesses_per_page, ..self }
    }

    fn sample(&mut self, at: u64, access: Access, detector: &Detector, counts: &Counts) {
        if at < self.busy {
            return;
        }
        let Some((on, there)) = self.request(access, detector, counts.pages) else { return };
        let before = self.moves;
        let (places, changed, moves) = (&mut self.places, &mut self.changed, &mut self.moves);
        pages(self.strategy, self.k, on, &mut self.rng, |first, end| {
            places.set(first, end, there, |page| {
                let page = num::index(page);
                let gain = i64::from(counts.there[page]) - i64::from(counts.here[page]);
                *changed += if there { gain } else { -gain };
                *moves += 1;
            });
        });
        self.busy = at + num::round(num::float(self.moves - before) * self.copy);
    }

    /// The pages to move, and whether they go to the node of the thread that moved; `None` if the
    /// sample requires no move.
    fn request(&mut self, access: Access, detector: &Detector, pages: u32) -> Option<(Request, bool)> {
        if self.strategy == Strategy::ResidentSet {
            let page = self.cursor;
            self.cursor = self.cursor.saturating_add(self.k).min(pages);
            return (page < pages).then_some((Request { page, stride: None, pages }, true));
        }
        let there = access.thread == MOVED;
        let remote = self.places.moved(access.page) != there;
        let stride =
            if self.strategy == Strategy::Pattern { detector.stride(access.thread, access.page) } else { None };
        remote.then_some((Request { page: access.page, stride, pages }, there))
    }

    fn tally(&self, counts: &Counts) -> Tally {
        let elsewhere = (0..counts.pages)
            .zip(counts.there.iter().zip(&counts.here))
            .map(|(page, (there, here))| i64::from(if self.places.moved(page) { *here } else { *there }));
        let remote = self.changed + elsewhere.sum::<i64>();
        Tally { unmoved: counts.unmoved(), remote, moves: self.moves }
    }
}

/// Strategies that act on the same samples.
pub(super) struct Group {
    samples: Box<dyn Iterator<Item = u64>>,
    next: u64,
    movers: Vec<Mover>,
}

impl Group {
    pub(super) fn new(samples: impl Iterator<Item = u64> + 'static, movers: Vec<Mover>) -> Self {
        let mut samples: Box<dyn Iterator<Item = u64>> = Box::new(samples);
        let next = samples.next().unwrap_or(u64::MAX);
        Self { samples, next, movers }
    }

    /// A group with one sample in each `period` accesses.
    pub(super) fn every(period: f64, seed: u64, movers: Vec<Mover>) -> Self {
        Self::new(Sampler::new(period, seed), movers)
    }

    fn sample(&mut self, at: u64, access: Access, detector: &Detector, counts: &Counts) {
        self.movers.iter_mut().for_each(|mover| mover.sample(at, access, detector, counts));
        self.next = self.samples.next().unwrap_or(u64::MAX);
    }
}

/// Runs all groups over a trace of a process of `pages` pages; returns the results by group and
/// mover.
pub(super) fn replay(
    trace: impl Iterator<Item = Access>,
    threads: u16,
    pages: u32,
    groups: &mut [Group],
) -> Vec<Vec<Tally>> {
    let (mut detector, mut counts) = (Detector::new(pages, threads), Counts::new(pages));
    let mut due = 0;
    for (at, access) in (0..).zip(trace) {
        detector.see(access.thread, access.page);
        if at >= due {
            groups
                .iter_mut()
                .filter(|group| group.next <= at)
                .for_each(|group| group.sample(at, access, &detector, &counts));
            due = groups.iter().map(|group| group.next).min().unwrap_or(u64::MAX);
        }
        counts.add(access);
    }
    let tallies = |group: &Group| group.movers.iter().map(|mover| mover.tally(&counts)).collect();
    groups.iter().map(tallies).collect()
}

#[cfg(test)]
mod tests;
