//! Selects which pages on a node to move: around samples, or by a walk over the resident set.
//!
//! Pure except for one question, "where are these pages?". It is asked through [`PageLocator`], so
//! that the selection can be tested on simulated processes.

use super::around::{PageRange, around, join, pages, ranges};
use crate::kernel::maps::Mapping;
use crate::kernel::move_pages as syscall;
use isobar_model::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Around a sample, up to this factor times K mapped pages are searched for K resident ones.
/// Mappings are mostly resident where a program works. If they are not, the neighbourhood is
/// smaller than K.
const WINDOW: u64 = 8;

/// Says where pages are: a status for each, as `move_pages(2)` returns it.
pub trait PageLocator {
    /// Why it cannot say.
    type Stop;

    /// The status of each page.
    ///
    /// # Errors
    /// If nothing more can be learnt: the process ended, or the kernel refuses.
    fn look(&mut self, pages: &[u64]) -> Result<Vec<i32>, Self::Stop>;

    /// The first pages of a range that are worth a look, `most` at most, and the page after the
    /// last one considered. An implementation that knows which pages are resident skips the others.
    ///
    /// # Errors
    /// As `PageLocator::look`.
    fn worth(&mut self, range: PageRange, most: u64) -> Result<(Vec<u64>, u64), Self::Stop> {
        Ok(every(range, most))
    }

    /// The resident pages of some ranges, ascending.
    ///
    /// # Errors
    /// As `PageLocator::look`.
    fn resident(&mut self, ranges: &[PageRange]) -> Result<Vec<u64>, Self::Stop> {
        asked(self, ranges)
    }

    /// How many pages may still be located in this call.
    fn left(&self) -> u64;
}

/// Every page of a range, up to `most`, for an implementation that knows nothing of them; see
/// [`PageLocator::worth`].
pub fn every(range: PageRange, most: u64) -> (Vec<u64>, u64) {
    let end = range.end.min(range.start.saturating_add(most));
    ((range.start..end).collect(), end)
}

/// The resident pages of some ranges, found by asking for each page; see [`PageLocator::resident`].
///
/// # Errors
/// As `PageLocator::look`.
pub fn asked<L: PageLocator + ?Sized>(look: &mut L, ranges: &[PageRange]) -> Result<Vec<u64>, L::Stop> {
    let all: Vec<u64> = pages(ranges).collect();
    let status = look.look(&all)?;
    Ok(all.into_iter().zip(status).filter(|(_, status)| *status >= 0).map(|(page, _)| page).collect())
}

/// The pages on `from` in the neighbourhoods of sampled pages, at most `wanted`, which the samples
/// share evenly.
///
/// # Errors
/// As `PageLocator::look`.
pub fn near<L: PageLocator>(
    look: &mut L,
    samples: &BTreeSet<u64>,
    mapped: &[PageRange],
    from: NodeId,
    wanted: u64,
) -> Result<BTreeSet<u64>, L::Stop> {
    let mut found = BTreeSet::new();
    let count = u64::try_from(samples.len()).unwrap_or(u64::MAX).clamp(1, wanted.max(1));
    let share = (wanted / count).max(1);
    for &sample in samples.iter().take(syscall::length(wanted)) {
        let window = around(sample, share.saturating_mul(WINDOW), mapped);
        let resident = ranges(look.resident(&window)?.into_iter());
        let chosen: Vec<u64> = pages(&around(sample, share, &resident)).collect();
        let status = look.look(&chosen)?;
        let here = chosen.into_iter().zip(status).filter(|(_, status)| syscall::node(*status) == Some(from));
        found.extend(here.map(|(page, _)| page));
    }
    Ok(found.into_iter().take(syscall::length(wanted)).collect())
}

/// The pages on `from` in some ranges, at most `wanted`: those of the first range first.
///
/// # Errors
/// As `PageLocator::look`.
pub fn in_order<L: PageLocator>(
    look: &mut L,
    order: &[PageRange],
    from: NodeId,
    wanted: u64,
) -> Result<BTreeSet<u64>, L::Stop> {
    let mut found = BTreeSet::new();
    for mut rest in order.iter().copied() {
        if !walk(look, &mut rest, from, wanted, &mut found)? {
            break;
        }
    }
    Ok(found)
}

/// Where the walk over the resident set of a process continues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Mappings finished in this round, by first page: their order changes as pages move away.
    done: BTreeSet<u64>,
    /// The mapping under way, and its next page.
    at: Option<(u64, u64)>,
}

impl Cursor {
    /// The next pages on `from`, at most `wanted`, in `order` (see `by_size`). When a round ends,
    /// the next one begins, at most once per call.
    ///
    /// # Errors
    /// As `PageLocator::look`.
    pub fn walk<L: PageLocator>(
        &mut self,
        look: &mut L,
        order: &[PageRange],
        from: NodeId,
        wanted: u64,
    ) -> Result<BTreeSet<u64>, L::Stop> {
        let mut found = BTreeSet::new();
        let fresh = *self == Self::default();
        let ended = self.round(look, order, from, wanted, &mut found)?;
        if ended && !fresh {
            self.round(look, order, from, wanted, &mut found)?;
        }
        Ok(found)
    }

    /// Continues the round; returns true if it ended.
    fn round<L: PageLocator>(
        &mut self,
        look: &mut L,
        order: &[PageRange],
        from: NodeId,
        wanted: u64,
        found: &mut BTreeSet<u64>,
    ) -> Result<bool, L::Stop> {
        for (mapping, mut rest) in self.to_do(order) {
            if !walk(look, &mut rest, from, wanted, found)? {
                self.at = Some((mapping, rest.start));
                return Ok(false);
            }
            self.done.insert(mapping);
        }
        *self = Self::default();
        Ok(true)
    }

    /// What remains of this round: the mapping under way, then the unfinished ones, each with its
    /// first page.
    fn to_do(&self, order: &[PageRange]) -> Vec<(u64, PageRange)> {
        let under_way = self.at.and_then(|(first, page)| {
            let mapping = order.iter().find(|mapping| mapping.start == first)?;
            Some((first, PageRange { start: page, end: mapping.end }))
        });
        let begun = |mapping: &PageRange| self.at.is_some_and(|(first, _)| first == mapping.start);
        let fresh = order.iter().filter(|mapping| !begun(mapping) && !self.done.contains(&mapping.start));
        under_way.into_iter().chain(fresh.map(|mapping| (mapping.start, *mapping))).collect()
    }
}

/// Takes pages on `from` until the end of `rest`, which shrinks. Returns false if it stopped
/// earlier, because `wanted` were found or no looks were left.
fn walk<L: PageLocator>(
    look: &mut L,
    rest: &mut PageRange,
    from: NodeId,
    wanted: u64,
    found: &mut BTreeSet<u64>,
) -> Result<bool, L::Stop> {
    while !rest.is_empty() {
        let missing = wanted.saturating_sub(u64::try_from(found.len()).unwrap_or(u64::MAX));
        let step = rest.len().min(look.left()).min(STEP);
        if missing == 0 || step == 0 {
            return Ok(false);
        }
        rest.start = take(look, *rest, step, (from, missing), found)?;
    }
    Ok(true)
}

/// Locates the next `step` pages of a mapping and takes those on `from`, at most `missing`. Returns
/// the page to continue with.
fn take<L: PageLocator>(
    look: &mut L,
    rest: PageRange,
    step: u64,
    (from, missing): (NodeId, u64),
    found: &mut BTreeSet<u64>,
) -> Result<u64, L::Stop> {
    let (chunk, end) = look.worth(rest, step)?;
    let status = look.look(&chunk)?;
    let here = chunk.iter().zip(status).filter(|(_, status)| syscall::node(*status) == Some(from));
    let fresh: Vec<u64> = here.map(|(page, _)| *page).filter(|page| !found.contains(page)).collect();
    let taken = &fresh[..fresh.len().min(syscall::length(missing))];
    found.extend(taken);
    let cut = taken.len() < fresh.len();
    Ok(if cut { taken.last().map_or(end, |last| last + 1) } else { end })
}

/// Number of pages located in one step of a walk.
const STEP: u64 = 4096;

/// The order of the walk: anonymous mappings first, then those with more pages on the node, then
/// the lower address. `on_node` counts the pages by first page. Without it (no `numa_maps`), the
/// size of the mapping is used instead.
#[must_use]
pub fn by_size(mappings: &[Mapping], on_node: Option<&BTreeMap<u64, u64>>) -> Vec<PageRange> {
    let weight = |mapping: &Mapping| match on_node {
        Some(counts) => counts.get(&mapping.pages.start).copied().unwrap_or(0),
        None => mapping.pages.len(),
    };
    let mut order: Vec<_> = mappings.iter().map(|mapping| (weight(mapping), mapping)).collect();
    order.retain(|(weight, _)| *weight > 0);
    order.sort_by_key(|(weight, mapping)| (!mapping.anonymous, std::cmp::Reverse(*weight), mapping.pages.start));
    order.into_iter().map(|(_, mapping)| mapping.pages).collect()
}

/// All pages of some mappings, as ranges.
#[must_use]
pub fn mapped(mappings: &[Mapping]) -> Vec<PageRange> {
    join(mappings.iter().map(|mapping| mapping.pages).collect())
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
