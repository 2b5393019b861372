//! Conversions that are exact on machines with 64 bits, and saturate elsewhere.

/// A count as a word.
pub(crate) fn word(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// A word as an index.
pub(crate) fn index(word: u64) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}
