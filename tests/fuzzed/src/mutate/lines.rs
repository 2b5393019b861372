//! Mutations of whole lines, and of the parts between marks such as commas.

use super::bytes::repeat_part;
use super::stock::Stock;
use crate::random::{Random, below, one_in, one_of};
use std::ops::Range;

/// What separates parts. Lines come first, since most texts consist of them.
const MARKS: &[u8] = b"\n\n\n,,;:= {\"";

/// The parts of an input between one kind of mark, each with the mark that ends it.
fn parts(input: &[u8], random: &mut Random) -> Vec<Range<usize>> {
    let mark = *one_of(random, MARKS).unwrap_or(&b'\n');
    let mut from = 0;
    let part = |part: &[u8]| {
        let range = from..from + part.len();
        from = range.end;
        range
    };
    input.split_inclusive(|byte| *byte == mark).map(part).collect()
}

/// One of the parts.
fn one(input: &[u8], random: &mut Random) -> Range<usize> {
    let parts = parts(input, random);
    one_of(random, &parts).cloned().unwrap_or_default()
}

/// Leaves out a part.
pub fn delete(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let part = one(input, random);
    input.drain(part);
}

/// Puts a copy of a part before another.
pub fn duplicate(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let parts = parts(input, random);
    let (Some(from), Some(to)) = (one_of(random, &parts), one_of(random, &parts)) else { return };
    let copied = input[from.clone()].to_vec();
    input.splice(to.start..to.start, copied);
}

/// Swaps two parts.
pub fn swap(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let parts = parts(input, random);
    let (first, second) = (below(random, parts.len()), below(random, parts.len()));
    let (first, second) = (first.min(second), first.max(second));
    if first == second {
        return;
    }
    let (first, second) = (parts[first].clone(), parts[second].clone());
    let (one, other) = (input[first.clone()].to_vec(), input[second.clone()].to_vec());
    input.splice(second, one);
    input.splice(first, other);
}

/// Repeats a part, seldom very often.
pub fn repeat(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let part = one(input, random);
    let times = if one_in(random, 8) { 1 << below(random, 11) } else { 1 + below(random, 8) };
    repeat_part(input, part, times);
}

/// Takes over a part of another input, in place of a part or before it.
pub fn splice(input: &mut Vec<u8>, random: &mut Random, stock: &Stock) {
    let Some(other) = one_of(random, &stock.inputs) else { return };
    let taken = other[one(other, random)].to_vec();
    let mut place = one(input, random);
    if one_in(random, 2) {
        place.end = place.start;
    }
    input.splice(place, taken);
}
