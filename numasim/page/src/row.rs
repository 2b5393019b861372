//! Records of figures as rows of words, in the order of their fields. Reading, writing and
//! subtracting work on rows; fields are named here only if they are levels, not sums.

use crate::figures::{CpuFigures, LinkFigures, NAME_BYTES, NodeFigures, ThreadFigures};
use crate::words::Words;
use std::mem::offset_of;
use zerocopy::{FromBytes, Immutable, IntoBytes};

const WORD_BYTES: usize = size_of::<u64>();

/// A record that is a row.
pub(crate) trait Row: FromBytes + IntoBytes + Immutable + Copy + Default {
    /// Positions of the words that are levels, not sums.
    const LEVELS: &'static [usize];

    /// Its words.
    fn words(&self) -> &[u64] {
        <[u64]>::ref_from_bytes(self.as_bytes()).unwrap_or_default()
    }

    /// Its words, mutable.
    fn words_mut(&mut self) -> &mut [u64] {
        <[u64]>::mut_from_bytes(self.as_mut_bytes()).unwrap_or_default()
    }

    /// The row that begins at a word of the page.
    fn read(page: &impl Words, first: usize) -> Self {
        let mut row = Self::default();
        row.words_mut().iter_mut().zip(first..).for_each(|(word, at)| *word = page.load(at));
        row
    }

    /// Writes it to the page, beginning at a word.
    fn write(&self, page: &impl Words, first: usize) {
        self.words().iter().zip(first..).for_each(|(word, at)| page.store(at, *word));
    }

    /// The counts after `before`; levels stay as they are. A count that ran backwards was zeroed in
    /// between.
    fn since(&self, before: &Self) -> Self {
        let mut row = *self;
        let pairs = row.words_mut().iter_mut().zip(before.words()).enumerate();
        let sums = pairs.filter(|(at, _)| !Self::LEVELS.contains(at));
        sums.for_each(|(_, (now, before))| *now = less(*now, *before));
        row
    }
}

impl Row for CpuFigures {
    const LEVELS: &'static [usize] = &[];
}

impl Row for ThreadFigures {
    const LEVELS: &'static [usize] = &[0, 1, NAME_BYTES / WORD_BYTES];
}

impl Row for NodeFigures {
    const LEVELS: &'static [usize] =
        &[offset_of!(Self, delay_ps) / WORD_BYTES, offset_of!(Self, bytes_per_second) / WORD_BYTES];
}

impl Row for LinkFigures {
    const LEVELS: &'static [usize] = &[offset_of!(Self, delay_ps) / WORD_BYTES];
}

/// The difference between two readings; the whole new value if the counter was zeroed in between.
pub(crate) fn less(now: u64, before: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout;

    /// No row has more words than the page has for it, and each field has the word that version 4
    /// of the page gives it.
    #[test]
    fn rows_have_the_words_of_the_layout() {
        let (cpu, node, link) = (CpuFigures::default(), NodeFigures::default(), LinkFigures::default());
        assert_eq!((cpu.words().len(), node.words().len(), link.words().len()), (20, 8, 4));
        assert_eq!(layout::cpu(0) + cpu.words().len(), layout::place(0));
        let thread = ThreadFigures::default();
        assert_eq!((thread.words().len(), offset_of!(ThreadFigures, instructions) / WORD_BYTES), (11, 3));
        assert!(thread.words().len() <= layout::THREAD_WORDS);
        assert!(node.words().len() <= layout::NODE_WORDS && link.words().len() <= layout::LINK_WORDS);
        let at = |bytes: usize| bytes / WORD_BYTES;
        assert_eq!(at(offset_of!(CpuFigures, llc_misses)), 3);
        assert_eq!(at(offset_of!(CpuFigures, bytes_read)), 4 + layout::MISS_NODES);
        assert_eq!((at(offset_of!(CpuFigures, covered)), at(offset_of!(CpuFigures, accesses))), (16, 17));
        assert_eq!((at(offset_of!(CpuFigures, hitm_local)), at(offset_of!(CpuFigures, hitm_remote))), (18, 19));
        assert_eq!((NodeFigures::LEVELS, LinkFigures::LEVELS), (&[3, 4][..], &[2][..]));
    }
}
