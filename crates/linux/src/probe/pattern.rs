//! Chooses which lines of a page are loaded, and in which order. Prefetchers learn steps,
//! neighbours and patterns that repeat from page to page; this pattern has none of them. Pure.
//!
//! A page is divided into as many blocks as there are loads. One line is loaded from each block,
//! from the middle half of the block, so that no two lines are neighbours or belong to one pair of
//! 128 bytes. Blocks come in random order, a different one in each page and each round. The first
//! line of the page is never among them: it is read beforehand, for the address translation.

use isobar_model::num;

/// Number of loads per page (CAMM).
pub const LOADS: usize = 8;

/// Lines are at least this long on every machine that isobar runs on; longer ones are flushed as a
/// whole.
const LINE: usize = 64;

/// An endless sequence of random orders.
#[derive(Clone, Debug)]
pub struct Pattern(u64);

impl Pattern {
    /// Seeds differ between threads.
    pub const fn new(seed: u32) -> Self {
        Self(0x9e37_79b9_7f4a_7c15 ^ seed as u64)
    }

    /// Offsets in a page of `page` bytes, in the order of the loads.
    pub fn next(&mut self, page: usize) -> [usize; LOADS] {
        let block = page / LOADS;
        let mut offsets: [usize; LOADS] = std::array::from_fn(|index| index);
        // The shuffle of Fisher and Yates.
        for last in (1..LOADS).rev() {
            offsets.swap(last, self.below(last + 1));
        }
        offsets.map(|index| {
            let line = block / 4 / LINE + self.below((block / 2 / LINE).max(1));
            index * block + line * LINE
        })
    }

    /// A number below `bound`, by xorshift (Marsaglia, 2003).
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let high = u32::try_from(self.0 >> 40).unwrap_or(0);
        num::index(high) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_lines_are_neighbours_and_no_two_pages_alike() {
        let mut pattern = Pattern::new(3);
        let mut seen = BTreeSet::new();
        for page in [4096, 65_536] {
            for _ in 0..100 {
                let order = pattern.next(page);
                let mut sorted = order;
                sorted.sort_unstable();
                assert!(order.iter().all(|offset| offset % LINE == 0 && *offset >= 128 && offset + LINE <= page));
                assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 4 * LINE), "{sorted:?}");
                seen.insert(order);
            }
        }
        assert!(seen.len() > 190, "{} orders of 200 differ", seen.len());
    }

    #[test]
    fn steps_do_not_repeat() {
        let mut pattern = Pattern::new(0);
        let steady = |order: [usize; LOADS]| {
            let steps: BTreeSet<_> = order.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
            steps.len() < 3
        };
        assert!((0..200).filter(|_| steady(pattern.next(4096))).count() < 2);
    }
}
