//! The page as words, wherever they come from: a mapping of a device or a file, or plain memory in
//! tests.

use crate::layout::WORDS;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

/// 64-bit words that two parties share.
///
/// A load acquires and a store releases ([`Ordering`]): a reader that sees a stored word also sees
/// all earlier stores. The seqlock and the generations depend on this. A word beyond the page reads
/// as 0, and storing to it does nothing.
pub trait Words {
    /// Reads a word.
    fn load(&self, word: usize) -> u64;
    /// Writes a word.
    fn store(&self, word: usize, value: u64);
}

impl<P: Deref<Target: Words>> Words for P {
    fn load(&self, word: usize) -> u64 {
        (**self).load(word)
    }

    fn store(&self, word: usize, value: u64) {
        (**self).store(word, value);
    }
}

/// A page in plain memory, initially all zero.
#[derive(Debug)]
pub struct Memory(Vec<AtomicU64>);

impl Default for Memory {
    fn default() -> Self {
        Self((0..WORDS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Words for Memory {
    fn load(&self, word: usize) -> u64 {
        self.0.get(word).map_or(0, |cell| cell.load(Ordering::Acquire))
    }

    fn store(&self, word: usize, value: u64) {
        if let Some(cell) = self.0.get(word) {
            cell.store(value, Ordering::Release);
        }
    }
}
