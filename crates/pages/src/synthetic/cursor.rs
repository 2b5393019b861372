//! The position of a thread in a zone, and which page the thread visits next.

use super::recipe::{Pattern, Zone};
use isobar_model::num;

/// The position of a thread in its part of a zone.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    /// First page of the part.
    first: u32,
    pages: u32,
    lines: u32,
    walk: Walk,
    /// The present page within the part.
    at: u32,
    /// Accesses left in this visit.
    left: u32,
}

/// A pattern and its state.
#[derive(Clone, Debug)]
enum Walk {
    Sweep,
    Stride { pages: u32, rounds: u32, column: u32, done: u32 },
    Chase { hot: u32, run: u32, period: u32, threshold: u32 },
    Drift { window: u32, visits: u32, base: u32, done: u32 },
}

/// A number below `count` from 32 random bits; the bias is below count / 2^32.
pub(super) fn below(count: u32, random: u32) -> u32 {
    let wide = u64::from(count) * u64::from(random);
    u32::try_from(wide >> 32).unwrap_or(u32::MAX)
}

/// A number below `count` from a number from 0 to `most` (exclusive, except for rounding at the
/// very end).
fn stretch(random: u32, most: u32, count: u32) -> u32 {
    let wide = u64::from(random) * u64::from(count) / u64::from(most.max(1));
    u32::try_from(wide).unwrap_or(u32::MAX).min(count - 1)
}

/// A fraction of 1 in 32-bit fixed point: random bits are below it with that probability.
pub(super) fn fixed(part: f64) -> u32 {
    u32::try_from(num::round(part * 4_294_967_296.0)).unwrap_or(u32::MAX)
}

impl Cursor {
    /// The cursor of a thread in its part of the zone that starts at page `zone_first`.
    pub(super) fn new(zone: &Zone, zone_first: u32, thread: u16, threads: u16, start: u32, phase: u32) -> Self {
        let (parts, part) = if zone.shared { (1, 0) } else { (u32::from(threads), u32::from(thread)) };
        // Parts are equal to within a page: the first page of part i is i * pages / parts.
        let edge =
            |i: u32| u32::try_from(u64::from(i) * u64::from(zone.pages) / u64::from(parts)).unwrap_or(zone.pages);
        let (low, high) = (edge(part), edge(part + 1));
        let pages = high - low;
        let at = below(pages, start);
        let walk = Walk::new(zone.pattern, pages, at, phase);
        Self { first: zone_first + low, pages, lines: zone.lines, walk, at, left: below(zone.lines, phase) + 1 }
    }

    /// The page of this access; `random` holds 32 random bits.
    pub(super) fn next(&mut self, random: u32) -> u32 {
        if self.left == 0 {
            self.at = self.walk.next(self.at, self.pages, random);
            self.left = self.lines;
        }
        self.left -= 1;
        self.first + self.at
    }
}

impl Walk {
    fn new(pattern: Pattern, pages: u32, at: u32, phase: u32) -> Self {
        match pattern {
            Pattern::Sweep => Self::Sweep,
            Pattern::Stride { pages: stride, rounds } => {
                Self::Stride { pages: stride, rounds, column: at % stride, done: below(rounds, phase) }
            }
            Pattern::Chase { hot_pages, hot_visits, run } => Self::chase(pages, hot_pages, hot_visits, run),
            Pattern::Drift { window, visits } => {
                Self::Drift { window: window.min(pages), visits, base: at, done: below(visits, phase) }
            }
        }
    }

    /// The hot pages are the first `run` of every `period`, which is chosen so that `hot_pages` of
    /// all pages are hot.
    fn chase(pages: u32, hot_pages: f64, hot_visits: f64, run: u32) -> Self {
        let hot = u32::try_from(num::round(hot_pages * f64::from(pages))).unwrap_or(pages).min(pages);
        let run = run.min(hot).max(1);
        let runs = (hot / run).max(1);
        let threshold = if hot == 0 { 0 } else { fixed(hot_visits) };
        Self::Chase { hot: runs * run, run, period: (pages / runs).max(run), threshold }
    }

    fn next(&mut self, at: u32, pages: u32, random: u32) -> u32 {
        match self {
            Self::Sweep if at + 1 < pages => at + 1,
            Self::Sweep => 0,
            Self::Stride { pages: stride, rounds, column, done } => {
                let next = at.saturating_add(*stride);
                if next < pages {
                    return next;
                }
                *done += 1;
                if *done >= *rounds {
                    *done = 0;
                    *column = (*column + 1) % (*stride).min(pages);
                }
                *column % pages
            }
            Self::Chase { hot, run, period, threshold } => {
                // Random bits below the threshold are stretched to the hot pages, those above it to
                // all pages.
                if random < *threshold {
                    let nth = stretch(random, *threshold, *hot);
                    nth / *run * *period + nth % *run
                } else {
                    stretch(random - *threshold, u32::MAX - *threshold, pages)
                }
            }
            Self::Drift { window, visits, base, done } => {
                *done += 1;
                if *done >= *visits {
                    *done = 0;
                    *base = (*base + 1) % pages;
                }
                let page = *base + below(*window, random);
                if page < pages { page } else { page - pages }
            }
        }
    }
}
