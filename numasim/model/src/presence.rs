//! How many lines each last-level cache (or the private caches below it) may have, counted by a
//! hash of the line. Zero means that none has the line; otherwise caches have to be searched. For
//! lines that are not shared, which are nearly all, this costs one lookup. A count that has once
//! been 255 stays there.

use crate::num::index;

/// See the head of the file.
#[derive(Clone, Debug)]
pub(crate) struct Presence {
    counts: Vec<u8>,
    llcs: usize,
    shift: u32,
}

impl Presence {
    /// Counts for a number of LLCs, with at least this many places, which should be several times
    /// the number of lines.
    pub fn new(llcs: usize, places: usize) -> Self {
        let places = places.next_power_of_two().max(64);
        Self { counts: vec![0; places * llcs], llcs, shift: 64 - places.trailing_zeros() }
    }

    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// A line came to an LLC.
    #[inline]
    pub fn add(&mut self, line: u64, llc: usize) {
        let first = self.first(line);
        let count = &mut self.counts[first + llc];
        *count += u8::from(*count < u8::MAX);
    }

    /// A line left an LLC.
    #[inline]
    pub fn drop(&mut self, line: u64, llc: usize) {
        let first = self.first(line);
        let count = &mut self.counts[first + llc];
        *count -= u8::from(*count < u8::MAX);
    }

    /// Whether an LLC may have the line.
    #[inline]
    pub fn at(&self, line: u64, llc: usize) -> bool {
        self.counts[self.first(line) + llc] > 0
    }

    /// Whether any LLC may have the line.
    #[inline]
    pub fn anywhere(&self, line: u64) -> bool {
        let first = self.first(line);
        self.counts[first..first + self.llcs].iter().any(|count| *count > 0)
    }

    /// Whether any LLC except this one may have the line.
    #[inline]
    pub fn beyond(&self, line: u64, llc: usize) -> bool {
        let first = self.first(line);
        let others = self.counts[first..first + self.llcs].iter().enumerate();
        others.fold(false, |any, (at, count)| any | (at != llc && *count > 0))
    }

    /// Hash by multiplication with the golden ratio (Knuth, The Art of Computer Programming, 6.4).
    #[inline]
    fn first(&self, line: u64) -> usize {
        index(line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) * self.llcs
    }
}
