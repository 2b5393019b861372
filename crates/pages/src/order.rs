//! Sorts pages by their accesses, for many millions of pages: by digits (radix sort), which reads
//! and writes the pages in a few passes and makes no comparisons.

use crate::seen::Seen;
use isobar_model::num;

/// Bits of a digit. The counters of its values fit into the first-level cache.
const DIGIT: u32 = 11;
const VALUES: usize = 1 << DIGIT;

/// Positions of pages by accesses, descending; ties in the order of their numbers.
pub fn by_accesses(seen: &Seen<'_>) -> Vec<u32> {
    let (pages, numbers) = (seen.pages(), seen.usage().pages());
    let mut sorted = Sorted::new(numbers.len());
    if !numbers.is_sorted_by_key(|page| page.number) {
        sorted.by(|at| numbers[num::index(at)].number);
    }
    // The sort is stable, so pages with equal accesses stay in the order of their numbers.
    sorted.by(|at| !pages[num::index(at)].accesses);
    sorted.positions
}

/// Positions in an order, and space for the next pass.
struct Sorted {
    positions: Vec<u32>,
    keys: Vec<u64>,
    spare: (Vec<u32>, Vec<u64>),
}

impl Sorted {
    fn new(length: usize) -> Self {
        let positions = (0..num::narrow(length)).collect();
        Self { positions, keys: Vec::new(), spare: (vec![0; length], vec![0; length]) }
    }

    /// Sorts by a key of each position; equal keys keep their order.
    fn by(&mut self, key: impl Fn(u32) -> u64) {
        self.keys.clear();
        self.keys.extend(self.positions.iter().map(|at| key(*at)));
        let Some(first) = self.keys.first().copied() else { return };
        let differing = self.keys.iter().fold(0, |bits, key| bits | (key ^ first));
        for shift in (0..u64::BITS).step_by(DIGIT as usize) {
            if digit(differing, shift) > 0 {
                self.pass(shift);
            }
        }
    }

    /// Sorts by one digit.
    fn pass(&mut self, shift: u32) {
        let mut next = [0_usize; VALUES];
        self.keys.iter().for_each(|key| next[digit(*key, shift)] += 1);
        let mut begin = 0;
        for place in &mut next {
            begin += std::mem::replace(place, begin);
        }
        let (positions, keys) = &mut self.spare;
        for (at, key) in self.positions.iter().zip(&self.keys) {
            let place = &mut next[digit(*key, shift)];
            (positions[*place], keys[*place]) = (*at, *key);
            *place += 1;
        }
        std::mem::swap(&mut self.positions, positions);
        std::mem::swap(&mut self.keys, keys);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a digit has eleven bits")]
const fn digit(key: u64, shift: u32) -> usize {
    (key >> shift) as usize % VALUES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use crate::usage::{Page, Usage};
    use proptest::prelude::*;

    proptest! {
        /// Page numbers and access counts of few and of many digits, many of them equal.
        #[test]
        fn digits_sort_as_comparisons_do(rows in prop::collection::btree_map(any::<u64>(), (0..3_u64, any::<u64>(), 0..64_u32), 0..200), mixed in any::<bool>()) {
            let mut rows: Vec<(u64, u64)> = rows.into_iter().map(|(number, (few, many, shift))| (number, (many >> shift).wrapping_mul(few))).collect();
            if mixed {
                rows.sort_unstable_by_key(|(number, _)| number.rotate_left(32));
            }
            let mut usage = Usage::new(1, 4096).unwrap();
            rows.iter().for_each(|(number, accesses)| usage.push(Page { number: *number, first: 0 }, &[*accesses]).unwrap());
            let homes = Homes::compact(1, 1).unwrap();
            let seen = Seen::new(&usage, &homes).unwrap();
            let mut expected: Vec<u32> = (0..u32::try_from(rows.len()).unwrap()).collect();
            expected.sort_by_key(|at| (std::cmp::Reverse(rows[*at as usize].1), rows[*at as usize].0));
            prop_assert_eq!(by_accesses(&seen), expected);
        }
    }
}
