//! Handles stretches of memory that were accessed, and how much: their order, a bounded sample of
//! their pages, and the count by node that such a sample represents. Pure.

use crate::kernel::move_pages::node;
use crate::kernel::page_range::PageRange;
use isobar_model::{NodeMap, Pages};

/// A stretch of the address space of a process that was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessedRange {
    /// Its pages, resident or not.
    pub pages: PageRange,
    /// How much it was accessed, in the unit of the engine: more is hotter.
    pub heat: u64,
}

/// The stretches, those accessed most first; ties break by address, the lower first.
#[must_use]
pub fn hottest_first(stretches: &[AccessedRange]) -> Vec<PageRange> {
    let mut order: Vec<&AccessedRange> = stretches.iter().filter(|stretch| !stretch.pages.is_empty()).collect();
    order.sort_by_key(|stretch| (std::cmp::Reverse(stretch.heat), stretch.pages.start));
    order.into_iter().map(|stretch| stretch.pages).collect()
}

/// Every n-th page of the stretches, at most `most` pages, and n: the number of pages that each
/// sampled page represents.
#[must_use]
pub fn sample(stretches: &[AccessedRange], most: u64) -> (Vec<u64>, u64) {
    let total = stretches.iter().map(|stretch| stretch.pages.len()).fold(0, u64::saturating_add);
    let step = total.div_ceil(most.max(1)).max(1);
    let mut pages = Vec::new();
    // All stretches count as one row of pages: this is the number of pages until the next sampled
    // one.
    let mut skip = 0;
    for PageRange { start, end } in stretches.iter().map(|stretch| stretch.pages) {
        let mut page = start.saturating_add(skip);
        while page < end {
            pages.push(page);
            page = page.saturating_add(step);
        }
        skip = page - end.max(start);
    }
    (pages, step)
}

/// The resident pages by node that a sample represents, from the kernel's status of each of its
/// pages (`move_pages(2)`).
#[must_use]
pub fn by_node(status: &[i32], step: u64) -> NodeMap<Pages> {
    let mut count = NodeMap::<Pages>::default();
    for node in status.iter().filter_map(|status| node(*status)) {
        count.entry(node).0 += step;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::NodeId;
    use proptest::prelude::*;

    fn stretch(start: u64, end: u64, heat: u64) -> AccessedRange {
        AccessedRange { pages: PageRange { start, end }, heat }
    }

    #[test]
    fn the_hottest_comes_first_and_then_the_lower_address() {
        let order = hottest_first(&[stretch(9, 12, 1), stretch(50, 60, 7), stretch(20, 30, 7), stretch(5, 5, 9)]);
        assert_eq!(order.iter().map(|range| range.start).collect::<Vec<_>>(), [20, 50, 9]);
    }

    #[test]
    fn a_sample_goes_on_across_stretches() {
        // 10 pages, 4 at most: every third of 0 1 2 3 | 10 11 12 | 20 21 22.
        let stretches = [stretch(0, 4, 1), stretch(10, 13, 1), stretch(20, 23, 1)];
        assert_eq!(sample(&stretches, 4), (vec![0, 3, 12, 22], 3));
        assert_eq!(sample(&stretches, 100).0.len(), 10);
        assert_eq!(sample(&[], 4), (vec![], 1));
        // Two sampled pages are on node 1, one on node 0, one is not resident; each represents 3.
        let counted = by_node(&[1, 0, 1, -libc::ENOENT], 3);
        assert_eq!(counted.iter().collect::<Vec<_>>(), [(NodeId(0), &Pages(3)), (NodeId(1), &Pages(6))]);
    }

    proptest! {
        #[test]
        fn a_sample_is_bounded_and_stands_for_all(
            lengths in prop::collection::vec((0u64..50, 0u64..5000), 0..20), most in 1u64..300,
        ) {
            let mut at = 0;
            let stretches: Vec<_> = lengths.iter().map(|&(gap, length)| {
                let made = stretch(at + gap, at + gap + length, 1);
                at = made.pages.end;
                made
            }).collect();
            let total: u64 = lengths.iter().map(|(_, length)| length).sum();
            let (pages, step) = sample(&stretches, most);
            prop_assert!(pages.len() as u64 <= most && pages.is_sorted());
            prop_assert!(pages.iter().all(|page| stretches.iter().any(|it| it.pages.contains(*page))));
            let stands_for = pages.len() as u64 * step;
            prop_assert!(stands_for >= total && stands_for < total + step);
        }
    }
}
