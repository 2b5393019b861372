//! How many lines of a kind each last-level cache (or the private caches below it) may have: counts
//! by a hash of the line. Zero says that none has the line; anything else, that caches have to be
//! searched. So what is not shared, which is nearly all, costs a look at one place. A count that
//! has once been 255 stays there.

use crate::num::index;

/// See the head of the file.
#[derive(Clone, Debug)]
pub(crate) struct Presence {
    counts: Vec<u8>,
    llcs: usize,
    shift: u32,
}

impl Presence {
    /// For a number of LLCs, with at least this many places: several times the lines that there
    /// are.
    pub fn new(llcs: usize, places: usize) -> Self {
        let places = places.next_power_of_two().max(64);
        Self { counts: vec![0; places * llcs], llcs, shift: 64 - places.trailing_zeros() }
    }

    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// A line came to one.
    #[inline]
    pub fn add(&mut self, line: u64, llc: usize) {
        let first = self.first(line);
        let count = &mut self.counts[first + llc];
        *count += u8::from(*count < u8::MAX);
    }

    /// A line left one.
    #[inline]
    pub fn drop(&mut self, line: u64, llc: usize) {
        let first = self.first(line);
        let count = &mut self.counts[first + llc];
        *count -= u8::from(*count < u8::MAX);
    }

    /// Whether one may have it.
    #[inline]
    pub fn at(&self, line: u64, llc: usize) -> bool {
        self.counts[self.first(line) + llc] > 0
    }

    /// Whether any may have it.
    #[inline]
    pub fn anywhere(&self, line: u64) -> bool {
        let first = self.first(line);
        self.counts[first..first + self.llcs].iter().any(|count| *count > 0)
    }

    /// Whether any but this one may have it.
    #[inline]
    pub fn beyond(&self, line: u64, llc: usize) -> bool {
        let first = self.first(line);
        let others = self.counts[first..first + self.llcs].iter().enumerate();
        others.fold(false, |any, (at, count)| any | (at != llc && *count > 0))
    }

    /// Multiplication by the golden ratio (Knuth, The Art of Computer Programming, 6.4).
    #[inline]
    fn first(&self, line: u64) -> usize {
        index(line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) * self.llcs
    }
}
