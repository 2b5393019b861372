//! Mutations of words, with the dictionary of a target.

use super::bytes::copy_between;
use super::language::places;
use super::stock::Stock;
use crate::random::{Random, below, one_in, one_of};

/// Inserts a word of the dictionary.
pub fn insert(input: &mut Vec<u8>, random: &mut Random, stock: &Stock) {
    let Some(word) = one_of(random, &stock.words) else { return };
    let places = places(input);
    let beside = one_of(random, &places).map_or(0, |place| if one_in(random, 2) { place.start } else { place.end });
    let at = if one_in(random, 2) { beside } else { below(random, input.len() + 1) };
    input.splice(at..at, word.iter().copied());
}

/// Puts a word of the dictionary in place of one.
pub fn replace(input: &mut Vec<u8>, random: &mut Random, stock: &Stock) {
    let (Some(word), Some(place)) = (one_of(random, &stock.words), one_of(random, &places(input)).cloned()) else {
        return;
    };
    input.splice(place, word.iter().copied());
}

/// Puts one of the input's words in place of another.
pub fn copy(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    copy_between(input, random, &places(input));
}
