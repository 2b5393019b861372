//! Sequential-forward-backward (DINO, section 4.1): "K/2 pages sequentially preceding and K/2 pages
//! sequentially following the requested address are migrated".
//!
//! # Properties
//!
//! - at most K pages, each once, all inside the given ranges, and the page of the address among
//!   them (if K is not 0);
//! - if both sides have enough pages, K/2 pages precede the page of the address and K/2 - 1 follow
//!   it (rounded so that the page itself and its neighbours are K together);
//! - a side that ends early is not made up for on the other: a sample is evidence for the pages
//!   near it only.
//!
//! # Departures from the paper
//!
//! 1. The paper says nothing of holes. "Sequentially in the application's address space" is read as
//!    the order of addresses over all ranges: the walk skips holes and goes on in the next range,
//!    across the ends of mappings.
//! 2. K counts the page of the address, so that K pages move rather than K + 1.

pub use crate::kernel::page_range::PageRange;

/// The neighbourhood of K pages around `page`, in `ranges` (ascending, not overlapping). Empty if
/// the page is in none of them: it was unmapped since it was sampled.
#[must_use]
pub fn around(page: u64, k: u64, ranges: &[PageRange]) -> Vec<PageRange> {
    let home = ranges.partition_point(|range| range.end <= page);
    if k == 0 || !ranges.get(home).is_some_and(|range| range.contains(page)) {
        return Vec::new();
    }
    // Each range has at least one page, so no range farther away than K can matter.
    let most = usize::try_from(k).unwrap_or(usize::MAX);
    let first = home.saturating_sub(most);
    let (near, home) = (&ranges[first..ranges.len().min(home.saturating_add(most))], home - first);
    // The neighbourhood, in pages counted from the first of these ranges.
    let place = count(&near[..home]) + (page - near[home].start);
    let (begin, end) = (place.saturating_sub(k / 2), place.saturating_add(k - k / 2));
    let mut before = 0;
    let clip = |range: &PageRange| {
        let at = |place: u64| range.start + place.saturating_sub(before).min(range.len());
        let clipped = PageRange { start: at(begin), end: at(end) };
        before += range.len();
        clipped
    };
    join(near.iter().map(clip).collect())
}

/// Joins ranges that touch.
#[must_use]
pub fn join(ranges: Vec<PageRange>) -> Vec<PageRange> {
    let mut joined: Vec<PageRange> = Vec::with_capacity(ranges.len());
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

/// The pages of ranges, one by one.
pub fn pages(ranges: &[PageRange]) -> impl Iterator<Item = u64> + '_ {
    ranges.iter().flat_map(|range| range.start..range.end)
}

/// Single pages, ascending, as ranges.
#[must_use]
pub fn ranges(pages: impl Iterator<Item = u64>) -> Vec<PageRange> {
    join(pages.map(|page| PageRange { start: page, end: page + 1 }).collect())
}

/// The total number of pages in some ranges.
#[must_use]
pub fn count(ranges: &[PageRange]) -> u64 {
    ranges.iter().map(PageRange::len).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn range(start: u64, end: u64) -> PageRange {
        PageRange { start, end }
    }

    #[test]
    fn a_page_that_is_not_mapped_has_no_neighbourhood() {
        let ranges = [range(10, 12), range(50, 53)];
        for page in [0, 9, 12, 30, 49, 53, u64::MAX] {
            assert_eq!(around(page, 8, &ranges), [], "{page}");
        }
        assert_eq!(around(5, 8, &[]), []);
    }

    /// Ascending ranges from (gap, length) pairs.
    fn layout(pairs: &[(u64, u64)]) -> Vec<PageRange> {
        let mut at = 0;
        let mut next = |&(gap, len): &(u64, u64)| {
            let made = range(at + gap, at + gap + len);
            at = made.end;
            made
        };
        pairs.iter().map(&mut next).collect()
    }

    proptest! {
        #[test]
        fn properties(pairs in prop::collection::vec((0u64..20, 1u64..30), 1..12), pick in 0usize..400, k in 0u32..80) {
            let ranges = layout(&pairs);
            let all: Vec<u64> = pages(&ranges).collect();
            let at = pick % all.len();
            let chosen: Vec<u64> = pages(&around(all[at], k.into(), &ranges)).collect();
            let distinct: BTreeSet<u64> = chosen.iter().copied().collect();
            prop_assert_eq!(distinct.len(), chosen.len());
            prop_assert!(chosen.is_sorted());
            prop_assert!(chosen.len() <= k as usize);
            prop_assert_eq!(chosen.contains(&all[at]), k > 0);
            // The plain definition, on the list of all pages in the order of addresses.
            let (before, after) = (k as usize / 2, k as usize - k as usize / 2);
            let expected = if k == 0 { &[][..] } else { &all[at.saturating_sub(before)..(at + after).min(all.len())] };
            prop_assert_eq!(&chosen[..], expected);
        }
    }
}
