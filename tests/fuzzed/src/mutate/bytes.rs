//! Mutations of bytes and of ranges of bytes.

// Operations have one type, though these need no vector.
#![allow(clippy::ptr_arg)]

use super::stock::{LONGEST, Stock};
use crate::random::{Random, below, byte, one_in, one_of, part};
use std::ops::Range;

/// Bytes at limits, and those that end or open something in text.
const BYTES: &[u8] = b"\0\x01\x02\x04\x08\x10\x20\x40\x7f\x80\x81\xfe\xff\n\r\t \"'\\/,;:=.#-+[]{}()<>*0919azAZ_%";

/// Letters that mean something in text.
const LETTERS: &[u8] = b"\n\t \"'\\/,;:=.#-+[]{}()<>*0123456789aefnxZ_%|@!";

/// Integers at the limits of their types, and small ones.
const INTEGERS: &[u64] = &[
    0,
    1,
    2,
    8,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Flips one bit.
pub fn flip_bit(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let at = below(random, input.len());
    if let Some(at) = input.get_mut(at) {
        *at ^= 1 << below(random, 8);
    }
}

/// Sets one byte: any value, or one that often matters.
pub fn set_byte(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let value = if one_in(random, 2) { byte(random) } else { *one_of(random, BYTES).unwrap_or(&0) };
    set(input, random, value);
}

/// Sets one byte to a letter that means something in text.
pub fn set_letter(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let value = *one_of(random, LETTERS).unwrap_or(&b' ');
    set(input, random, value);
}

fn set(input: &mut [u8], random: &mut Random, value: u8) {
    let at = below(random, input.len());
    if let Some(at) = input.get_mut(at) {
        *at = value;
    }
}

/// Adds a small number to one byte, or takes it away.
pub fn add(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let at = below(random, input.len());
    let by = byte(random) % 33;
    if let Some(at) = input.get_mut(at) {
        *at = at.wrapping_add(by).wrapping_sub(16);
    }
}

/// Sets an integer of 1 to 8 bytes: at a limit, the length of the input, or near what it was.
pub fn set_integer(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let width = 1 << below(random, 4);
    // Fields mostly lie at multiples of their width.
    let mut at = below(random, input.len());
    if !one_in(random, 4) {
        at -= at % width;
    }
    let len = u64::try_from(input.len()).unwrap_or(0);
    let Some(field) = input.get_mut(at..at + width) else { return };
    let mut old = [0; 8];
    old[..width].copy_from_slice(field);
    let near = u64::from_le_bytes(old).wrapping_add(u64::from(byte(random) % 17)).wrapping_sub(8);
    let limit = *one_of(random, INTEGERS).unwrap_or(&0);
    let value = [limit, limit, near, len][below(random, 4)].to_le_bytes();
    field.copy_from_slice(&value[..width]);
    if one_in(random, 4) {
        field.reverse();
    }
}

/// Leaves out the end, or the beginning.
pub fn truncate(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let at = below(random, input.len());
    if one_in(random, 4) {
        input.drain(..at);
    } else {
        input.truncate(at);
    }
}

/// Leaves out a part.
pub fn delete(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let part = part(random, input.len());
    input.drain(part);
}

/// Puts a copy of a part somewhere.
pub fn duplicate(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let copied = input[part(random, input.len())].to_vec();
    put(input, random, &copied);
}

/// Repeats a part many times, in place.
pub fn repeat(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let part = part(random, input.len());
    repeat_part(input, part, 1 << below(random, 10));
}

/// Repeats this part, so many times more.
pub fn repeat_part(input: &mut Vec<u8>, part: Range<usize>, times: usize) {
    let copies = input[part.clone()].repeat(times);
    input.splice(part.end..part.end, copies.into_iter().take(LONGEST));
}

/// Puts what stands in one of these places into another.
pub fn copy_between(input: &mut Vec<u8>, random: &mut Random, places: &[Range<usize>]) {
    let (Some(from), Some(to)) = (one_of(random, places), one_of(random, places)) else { return };
    let copied = input[from.clone()].to_vec();
    input.splice(to.clone(), copied);
}

/// Moves a part somewhere else.
pub fn move_part(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let moved: Vec<u8> = input.drain(part(random, input.len())).collect();
    put(input, random, &moved);
}

/// Inserts a few bytes: any, or many of the same.
pub fn insert(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let same = byte(random);
    let count = 1 + below(random, 16);
    let inserted: Vec<u8> =
        if one_in(random, 2) { vec![same; count] } else { (0..count).map(|_| byte(random)).collect() };
    put(input, random, &inserted);
}

/// Inserts a letter that means something in text.
pub fn insert_letter(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let letter = *one_of(random, LETTERS).unwrap_or(&b' ');
    put(input, random, &[letter]);
}

/// Goes on as another input does.
pub fn splice(input: &mut Vec<u8>, random: &mut Random, stock: &Stock) {
    let Some(other) = one_of(random, &stock.inputs) else { return };
    let at = below(random, input.len() + 1);
    // Where both have the same layout, the same place is the likelier one to fit.
    let from = if one_in(random, 2) { at.min(other.len()) } else { below(random, other.len() + 1) };
    input.truncate(at);
    input.extend_from_slice(&other[from..]);
}

/// Takes over a part of another input: inserted, or in place of what stands there.
pub fn copy_from_other(input: &mut Vec<u8>, random: &mut Random, stock: &Stock) {
    let Some(other) = one_of(random, &stock.inputs) else { return };
    let copied = &other[part(random, other.len())];
    let at = below(random, input.len() + 1);
    let end = if one_in(random, 2) { at } else { (at + copied.len()).min(input.len()) };
    input.splice(at..end, copied.iter().copied());
}

fn put(input: &mut Vec<u8>, random: &mut Random, what: &[u8]) {
    let at = below(random, input.len() + 1);
    input.splice(at..at, what.iter().copied());
}
