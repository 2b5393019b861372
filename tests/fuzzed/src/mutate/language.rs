//! The words of inputs and of messages.

use std::collections::BTreeSet;
use std::ops::Range;

/// What opens, ends and separates in the forms that the targets read.
const MARKS: &[&str] = &[
    "\n",
    "\n\n",
    "\n---\n",
    ",",
    ";",
    ":",
    "=",
    " = ",
    " ",
    "\t",
    "\"",
    "'",
    "\"\"",
    "[]",
    "{}",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    ".",
    "..",
    "/",
    "../",
    "#",
    "\\",
    "\\n",
    "\\u0000",
    "\"\"\"",
    "-",
    "+",
    "*",
    "null",
    "true",
    "false",
    "\u{e9}",
    "\u{202e}",
    "\u{1f600}",
    "\0",
];

/// The marks of every dictionary.
pub fn marks() -> impl Iterator<Item = Vec<u8>> {
    MARKS.iter().map(|mark| mark.as_bytes().to_vec())
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./+%".contains(&byte)
}

/// Where words stand.
pub fn places(input: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut begun = None;
    for at in 0..=input.len() {
        let inside = input.get(at).is_some_and(|byte| is_of_word(*byte));
        match begun {
            None if inside => begun = Some(at),
            Some(from) if !inside => {
                found.push(from..at);
                begun = None;
            }
            _ => {}
        }
    }
    found
}

/// The words of an input, and its lines.
pub fn all(input: &[u8]) -> Vec<Vec<u8>> {
    let words = places(input).into_iter().filter(|place| place.len() > 1).map(|place| input[place].to_vec());
    let lines = input.split_inclusive(|byte| *byte == b'\n').filter(|line| line.is_ascii() && line.len() < 100);
    words.chain(lines.map(<[u8]>::to_vec)).collect()
}

/// The names in a message, whether it quotes them or not.
pub fn named(message: &str) -> impl Iterator<Item = &str> {
    let short = |word: &&str| (2..40).contains(&word.len());
    message.split('`').skip(1).step_by(2).chain(plain(message)).filter(short)
}

fn plain(message: &str) -> impl Iterator<Item = &str> {
    let of_word = |letter: char| u8::try_from(letter).is_ok_and(is_of_word);
    message.split(move |letter| !of_word(letter)).map(|word| word.trim_end_matches('.')).filter(|word| !word.is_empty())
}

/// The words of an input, to look them up.
pub fn of(input: &[u8]) -> BTreeSet<&[u8]> {
    places(input).into_iter().map(|place| &input[place]).collect()
}

/// A message without what is different for each input: numbers, what it quotes, and what it repeats
/// of the input.
pub fn shape(message: &str, input: &BTreeSet<&[u8]>) -> String {
    let said = message.split(['`', '"']).step_by(2).flat_map(plain);
    let own =
        said.filter(|word| !word.contains(|letter: char| letter.is_ascii_digit()) && !input.contains(word.as_bytes()));
    own.collect::<Vec<_>>().join(" ")
}
