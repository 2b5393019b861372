//! What mutations draw on.

use super::language;
use crate::random::Random;
use std::collections::BTreeSet;

/// Longest input, as in `scripts/fuzz.sh`.
pub const LONGEST: usize = 8192;

/// Most words of a dictionary.
const MOST_WORDS: usize = 2000;

/// Changes an input.
pub type Operation = fn(&mut Vec<u8>, &mut Random, &Stock);

/// The seeds and what was kept, and the words in them.
pub struct Stock {
    /// Never empty.
    pub inputs: Vec<Vec<u8>>,
    /// Words, keys, numbers and marks.
    pub words: Vec<Vec<u8>>,
}

impl Stock {
    /// From the seeds.
    pub fn of(seeds: &[Vec<u8>]) -> Self {
        let mut stock = Self { inputs: seeds.to_vec(), words: Vec::new() };
        if seeds.is_empty() {
            stock.inputs.push(Vec::new());
        }
        let found: Vec<Vec<u8>> = seeds.iter().flat_map(|seed| language::all(seed)).collect();
        found.into_iter().chain(language::marks()).for_each(|word| stock.add(word));
        stock
    }

    /// Takes over the names in a message about an input that are no words of the input.
    pub fn learn(&mut self, message: &str, input: &BTreeSet<&[u8]>) {
        let unknown = language::named(message).filter(|word| !input.contains(word.as_bytes()));
        unknown.for_each(|word| self.add(word.as_bytes().to_vec()));
    }

    fn add(&mut self, word: Vec<u8>) {
        if self.words.len() < MOST_WORDS && !self.words.contains(&word) {
            self.words.push(word);
        }
    }
}
