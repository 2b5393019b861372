//! Mutations of numbers in text.

use super::bytes::copy_between;
use super::stock::Stock;
use crate::random::{Random, below, byte, one_in, one_of};
use std::ops::Range;

/// Integers at the limits of types and of what is real, and small ones.
const INTEGERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "8",
    "10",
    "15",
    "16",
    "31",
    "32",
    "63",
    "64",
    "65",
    "99",
    "100",
    "101",
    "127",
    "128",
    "255",
    "256",
    "1000",
    "1023",
    "1024",
    "4095",
    "4096",
    "8191",
    "8192",
    "65535",
    "65536",
    "1000000",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
];

/// Numbers with a fraction, very large ones and very small ones.
const FRACTIONS: &[&str] = &[
    "0.0",
    "0.1",
    "0.5",
    "0.999999999",
    "1.0",
    "1.5",
    "-0.5",
    "1e9",
    "1e18",
    "1e308",
    "1e309",
    "-1e308",
    "1e-9",
    "1e-308",
    "5e-324",
    "1e-400",
];

/// What may stand where a number should.
const ODD: &[&str] = &[
    "",
    "-0",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "0x10",
    "0xffffffffffffffff",
    "00",
    "+1",
    "1_000",
    "true",
    "null",
    "\"1\"",
];

/// The numbers of an input: digits with a sign, a point, an exponent.
fn numbers(input: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < input.len() {
        let begun = at;
        if input[at] == b'-' && input.get(at + 1).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        while at < input.len() && (input[at].is_ascii_digit() || at > begun && more(input, at)) {
            at += 1;
        }
        if at > begun {
            found.push(begun..at);
        } else {
            at += 1;
        }
    }
    found
}

/// Whether a number goes on here though no digit stands here: `1.5`, `1e9`, `1e-9`.
fn more(input: &[u8], at: usize) -> bool {
    let digit = |at: usize| input.get(at).is_some_and(u8::is_ascii_digit);
    match input[at] {
        b'.' => digit(at + 1),
        b'e' => digit(at + 1) || input.get(at + 1) == Some(&b'-') && digit(at + 2),
        b'-' => input[at - 1] == b'e',
        _ => false,
    }
}

/// Sets a number to one that often matters, mostly of the same kind.
pub fn replace(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let Some(place) = one_of(random, &numbers(input)).cloned() else { return };
    let same = if input[place.clone()].iter().all(u8::is_ascii_digit) { INTEGERS } else { FRACTIONS };
    let of = [same, same, same, same, same, INTEGERS, FRACTIONS, ODD][below(random, 8)];
    let number = one_of(random, of).unwrap_or(&"0");
    input.splice(place, number.bytes());
}

/// Makes a number a little, or ten times, more or less.
pub fn nudge(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    let Some(place) = one_of(random, &numbers(input)).cloned() else { return };
    if let Some(number) = str::from_utf8(&input[place.clone()]).ok().and_then(|text| text.parse::<u64>().ok()) {
        let changed = [
            number.saturating_add(1),
            number.saturating_sub(1),
            number.saturating_mul(2),
            number / 2,
            number.saturating_mul(10),
            number.saturating_add(byte(random).into()),
        ];
        input.splice(place, changed[below(random, changed.len())].to_string().into_bytes());
    } else if one_in(random, 2) {
        input[place.end - 1] = b'0' + byte(random) % 10;
    } else {
        input.splice(place.end..place.end, [b'0' + byte(random) % 10]);
    }
}

/// Sets a number to another number of the input.
pub fn copy(input: &mut Vec<u8>, random: &mut Random, _: &Stock) {
    copy_between(input, random, &numbers(input));
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn numbers_are_found_whole() {
        let text = b"a=-1,b=2.5e-9..3 e4 5-6 1e 7.";
        let found: Vec<_> = numbers(text).into_iter().map(|at| str::from_utf8(&text[at]).unwrap()).collect();
        assert_eq!(found, ["-1", "2.5e-9", "3", "4", "5", "-6", "1", "7"]);
    }
}
