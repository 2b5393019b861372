//! The recipe of a synthetic trace, and its validation.

use super::error::RecipeError;
use serde::Deserialize;

/// 8 TiB of base pages: the sum of two page numbers still fits.
const MOST_PAGES: u64 = 1 << 31;

/// A process, described by its accesses to memory. Zones adjoin each other in the order given.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Number of threads; at least one.
    pub threads: u16,
    /// Accesses of all threads together.
    pub accesses: u64,
    /// The zones of resident memory; at least one.
    pub zones: Vec<Zone>,
}

/// A stretch of memory with one access pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// Number of base pages; at least one for each thread that has a part of its own.
    pub pages: u32,
    /// Its share of the accesses, relative to the other zones.
    pub weight: f64,
    /// Accesses per visit to a page; at least 1, and at most 64 if these are whole lines of 64
    /// bytes.
    pub lines: u32,
    /// Which page comes next.
    pub pattern: Pattern,
    /// Whether all threads access the whole zone.
    pub shared: bool,
}

/// Which page of a zone a thread visits next.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pattern {
    /// The next page, and from the end back to the start: a sweep over an array.
    Sweep,
    /// The page `stride` further on; at the end of the zone, back to where the round began. After
    /// some rounds, one page further.
    Stride {
        /// Pages between one visit and the next.
        pages: u32,
        /// Rounds over the same pages.
        rounds: u32,
    },
    /// Any page, regardless of the last one: chased pointers, hashed keys. Some pages are hot.
    Chase {
        /// The fraction of the pages that is hot.
        hot_pages: f64,
        /// The fraction of the visits that goes to the hot pages.
        hot_visits: f64,
        /// Hot pages lie together in runs of this many pages, evenly spread over the zone.
        run: u32,
    },
    /// Any page within a window that moves through the zone: a working set that changes.
    Drift {
        /// Size of the window in pages.
        window: u32,
        /// Visits until the window moves on by one page.
        visits: u32,
    },
}

impl Recipe {
    /// Resident pages of the process.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.zones.iter().fold(0, |sum, zone| sum.saturating_add(zone.pages))
    }

    pub(super) fn validate(&self) -> Result<(), RecipeError> {
        if self.threads == 0 {
            return Err(RecipeError::value("threads", "is 0; it must be at least 1"));
        }
        if self.zones.is_empty() {
            return Err(RecipeError::value("zones", "is empty; a process has at least one"));
        }
        let total: u64 = self.zones.iter().map(|zone| u64::from(zone.pages)).sum();
        if total > MOST_PAGES {
            return Err(RecipeError::value("zones", format!("have {total} pages together; the most is {MOST_PAGES}")));
        }
        self.zones.iter().enumerate().try_for_each(|(index, zone)| zone.validate(index, self.threads))?;
        let weights = || self.zones.iter().map(|zone| zone.weight);
        if let Some(wrong) = weights().find(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return Err(RecipeError::value("zones.weight", format!("has {wrong}; a weight must be 0 or above")));
        }
        let some = weights().sum::<f64>() > 0.0;
        let none = || RecipeError::value("zones.weight", "are all 0; at least one zone must be accessed");
        some.then_some(()).ok_or_else(none)
    }
}

impl Zone {
    fn validate(&self, index: usize, threads: u16) -> Result<(), RecipeError> {
        let key = |field: &str| format!("zones[{index}].{field}");
        let least = if self.shared { 1 } else { u32::from(threads) };
        at_least(key("pages"), self.pages, least)?;
        at_least(key("lines"), self.lines, 1)?;
        match self.pattern {
            Pattern::Sweep => Ok(()),
            Pattern::Stride { pages, rounds } => {
                at_least(key("pattern.pages"), pages, 1)?;
                at_least(key("pattern.rounds"), rounds, 1)
            }
            Pattern::Chase { hot_pages, hot_visits, run } => {
                share(key("pattern.hot_pages"), hot_pages)?;
                share(key("pattern.hot_visits"), hot_visits)?;
                at_least(key("pattern.run"), run, 1)
            }
            Pattern::Drift { window, visits } => {
                at_least(key("pattern.window"), window, 1)?;
                at_least(key("pattern.visits"), visits, 1)
            }
        }
    }
}

fn at_least(key: String, value: u32, least: u32) -> Result<(), RecipeError> {
    let problem = || format!("is {value}; it must be at least {least}");
    (value >= least).then_some(()).ok_or_else(|| RecipeError::value(key, problem()))
}

fn share(key: String, value: f64) -> Result<(), RecipeError> {
    let right = (0.0..=1.0).contains(&value);
    right.then_some(()).ok_or_else(|| RecipeError::value(key, format!("is {value}; it must be from 0 to 1")))
}
