//! Finds the memory on which DAMON's last readings of a process agree. DAMON checks one page of a
//! region, and merges regions that look alike for a moment, so now and then a reading counts a
//! region in which only a few pages were touched. The next readings correct that. So a page counts
//! as accessed only if at least two of the last three readings count it. Pure.

use crate::kernel::page_range::PageRange;
use crate::sensors::accessed::heat::AccessedRange;
use std::collections::VecDeque;

/// Number of readings that are compared.
const READINGS: usize = 3;
/// How many of them must have counted a page.
const AGREE: usize = 2;

/// The last readings of a process.
#[derive(Debug, Default)]
pub struct Agreement {
    last: VecDeque<Vec<AccessedRange>>,
}

impl Agreement {
    /// Adds a reading: stretches in the order of their addresses, which do not overlap. Returns
    /// what the last three readings agree on, in the same order; the heat of a stretch is the sum
    /// of their heats. `None` before the third reading.
    pub fn add(&mut self, reading: Vec<AccessedRange>) -> Option<Vec<AccessedRange>> {
        if self.last.len() == READINGS {
            self.last.pop_front();
        }
        self.last.push_back(reading);
        (self.last.len() == READINGS).then(|| agreed(self.last.iter()))
    }
}

/// The stretches of pages that enough readings count.
fn agreed<'a>(readings: impl Iterator<Item = &'a Vec<AccessedRange>>) -> Vec<AccessedRange> {
    let ends = |stretch: &AccessedRange| {
        let AccessedRange { pages: PageRange { start, end }, heat } = *stretch;
        [(start, true, heat), (end, false, heat)]
    };
    let mut edges: Vec<(u64, bool, u64)> = readings.flatten().flat_map(ends).collect();
    edges.sort_unstable();
    let (mut found, mut since, mut covering, mut heat) = (Vec::<AccessedRange>::new(), 0, 0, 0);
    for (page, begins, its_heat) in edges {
        if covering >= AGREE && page > since {
            push(&mut found, AccessedRange { pages: PageRange { start: since, end: page }, heat });
        }
        since = page;
        (covering, heat) = if begins { (covering + 1, heat + its_heat) } else { (covering - 1, heat - its_heat) };
    }
    found
}

/// Adds a stretch. If it begins where the last one ends and is as hot, it becomes part of the last
/// one.
fn push(found: &mut Vec<AccessedRange>, next: AccessedRange) {
    match found.last_mut() {
        Some(last) if last.pages.end == next.pages.start && last.heat == next.heat => last.pages.end = next.pages.end,
        _ => found.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stretch(start: u64, end: u64, heat: u64) -> AccessedRange {
        AccessedRange { pages: PageRange { start, end }, heat }
    }

    #[test]
    fn what_one_reading_counts_alone_is_left_out() {
        let mut agreement = Agreement::default();
        let hot = || vec![stretch(100, 200, 20)];
        assert_eq!(agreement.add(hot()), None);
        // A region that was merged with its cold neighbour, for once.
        assert_eq!(agreement.add(vec![stretch(0, 200, 9)]), None);
        assert_eq!(agreement.add(hot()), Some(vec![stretch(100, 200, 49)]));
        assert_eq!(agreement.add(hot()), Some(vec![stretch(100, 200, 49)]));
        assert_eq!(agreement.add(Vec::new()), Some(vec![stretch(100, 200, 40)]), "missed once");
        assert_eq!(agreement.add(Vec::new()), Some(Vec::new()), "no longer accessed");
    }

    #[test]
    fn parts_of_unlike_heat_stay_apart_and_like_ones_become_one() {
        let readings = [
            vec![stretch(0, 10, 1), stretch(10, 20, 1), stretch(30, 40, 5)],
            vec![stretch(0, 20, 2), stretch(35, 45, 5)],
            vec![stretch(5, 8, 4)],
        ];
        let expected = [stretch(0, 5, 3), stretch(5, 8, 7), stretch(8, 20, 3), stretch(35, 40, 10)];
        assert_eq!(agreed(readings.iter()), expected);
    }

    proptest! {
        /// Page by page: a page is in the result if two readings have it, with the sum of their
        /// heats.
        #[test]
        fn every_page_is_judged_alone(
            readings in prop::collection::vec(prop::collection::vec((0u64..6, 1u64..6, 1u64..4), 0..6), READINGS..=READINGS),
        ) {
            let laid = |parts: &Vec<(u64, u64, u64)>| {
                let mut at = 0;
                let one = |&(gap, length, heat): &(u64, u64, u64)| {
                    let made = stretch(at + gap, at + gap + length, heat);
                    at = made.pages.end;
                    made
                };
                parts.iter().map(one).collect::<Vec<_>>()
            };
            let readings: Vec<_> = readings.iter().map(laid).collect();
            let found = agreed(readings.iter());
            let heat = |of: &[AccessedRange], page| of.iter().find(|one| one.pages.contains(page)).map(|one| one.heat);
            for page in 0..80 {
                let heats: Vec<u64> = readings.iter().filter_map(|one| heat(one, page)).collect();
                let expected = (heats.len() >= AGREE).then(|| heats.iter().sum());
                prop_assert_eq!(heat(&found, page), expected, "page {}", page);
            }
            prop_assert!(found.windows(2).all(|pair| pair[0].pages.end <= pair[1].pages.start));
        }
    }
}
