//! Makes inputs from seeds, the same ones for the same seed number.
//!
//! Where a target says something new about an input, the input becomes a seed, too, and the names
//! in a refusal ("expected one of `a`, `b`") become words of the dictionary. So inputs reach beyond
//! the seeds without a view of the target's code.

mod bytes;
mod language;
mod lines;
mod numbers;
mod stock;
#[cfg(test)]
mod tests;
mod words;

use crate::heard::Heard;
use crate::random::{Random, below, one_in, one_of, stream};
use crate::text;
use std::cell::LazyCell;
use std::collections::BTreeSet;
pub use stock::LONGEST;
use stock::{Operation, Stock};

/// Most inputs that are kept for saying something new, and most that are kept because they were
/// accepted.
const MOST_NEW: usize = 300;
const MOST_ACCEPTED: usize = 60;

/// What may be done to any bytes.
const ON_BYTES: &[Operation] = &[
    bytes::flip_bit,
    bytes::set_byte,
    bytes::set_byte,
    bytes::add,
    bytes::set_integer,
    bytes::set_integer,
    bytes::truncate,
    bytes::delete,
    bytes::duplicate,
    bytes::repeat,
    bytes::move_part,
    bytes::insert,
    bytes::splice,
    bytes::copy_from_other,
];

/// What may be done to text; also to bytes, since many are text.
const ON_TEXT: &[Operation] = &[
    numbers::replace,
    numbers::replace,
    numbers::replace,
    numbers::nudge,
    numbers::copy,
    words::insert,
    words::replace,
    words::replace,
    words::copy,
    lines::delete,
    lines::duplicate,
    lines::swap,
    lines::repeat,
    lines::splice,
    bytes::set_letter,
    bytes::set_letter,
    bytes::insert_letter,
    bytes::delete,
    bytes::duplicate,
    bytes::move_part,
    bytes::truncate,
    bytes::splice,
];

/// What leaves the form of a text as it is, so that much of it is accepted.
const ON_VALUES: &[Operation] = &[
    numbers::replace,
    numbers::replace,
    numbers::replace,
    numbers::nudge,
    numbers::nudge,
    numbers::copy,
    words::replace,
    words::copy,
    lines::delete,
    lines::duplicate,
    lines::swap,
    lines::splice,
];

/// How many changes are made to an input.
const CHANGES: [usize; 8] = [1, 1, 1, 2, 2, 3, 4, 8];

/// The inputs of one target.
pub struct Mutator {
    random: Random,
    text: bool,
    stock: Stock,
    /// What was said so far, without what is different in each input.
    said: BTreeSet<String>,
    /// The same, made without a look at the input, which is quicker.
    told_apart: BTreeSet<String>,
    new: usize,
    /// Inputs that were accepted, of late.
    accepted: Vec<Vec<u8>>,
    /// The length beyond which no accepted input is kept.
    long: usize,
}

impl Mutator {
    /// For the target of this name; `text` if it takes text.
    pub fn new(seed: u64, name: &str, text: bool, seeds: &[Vec<u8>]) -> Self {
        let (random, stock) = (stream(seed, name), Stock::of(seeds));
        let long = 2 * seeds.iter().map(Vec::len).max().unwrap_or(0);
        Self {
            random,
            text,
            stock,
            said: BTreeSet::new(),
            told_apart: BTreeSet::new(),
            new: 0,
            accepted: Vec::new(),
            long,
        }
    }

    /// The next input.
    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.base();
        let operations = self.operations();
        for _ in 0..CHANGES[below(&mut self.random, CHANGES.len())] {
            let operation = operations[below(&mut self.random, operations.len())];
            operation(&mut input, &mut self.random, &self.stock);
            input.truncate(LONGEST);
        }
        self.readable(input)
    }

    /// Takes in what a target said about an input.
    pub fn learn(&mut self, input: &[u8], heard: &Heard) {
        let (mut new, nothing) = (false, BTreeSet::new());
        let words = LazyCell::new(|| language::of(input));
        for message in &heard.messages {
            if self.told_apart.insert(language::shape(message, &nothing))
                && self.said.insert(language::shape(message, &words))
            {
                self.stock.learn(message, &words);
                new = true;
            }
        }
        if new && self.new < MOST_NEW {
            self.new += 1;
            self.stock.inputs.push(input.to_vec());
        }
        // Those that grow would soon crowd out the others, and take long.
        let accepted = heard.accepted && input.len() <= self.long;
        if accepted && self.accepted.len() < MOST_ACCEPTED {
            self.accepted.push(input.to_vec());
        } else if accepted {
            self.accepted[below(&mut self.random, MOST_ACCEPTED)] = input.to_vec();
        }
    }

    /// What an input begins as: a seed, or what was kept.
    fn base(&mut self) -> Vec<u8> {
        let of = if one_in(&mut self.random, 2) { &self.accepted } else { &self.stock.inputs };
        let chosen = one_of(&mut self.random, of).or_else(|| self.stock.inputs.first());
        chosen.cloned().unwrap_or_default()
    }

    fn operations(&mut self) -> &'static [Operation] {
        let bytes = if self.text { 1 } else { 10 };
        match below(&mut self.random, 20) {
            at if at < bytes => ON_BYTES,
            at if at % 2 == 0 => ON_TEXT,
            _ => ON_VALUES,
        }
    }

    /// What is no text would be cut where it stops to be, so it is made text.
    fn readable(&self, input: Vec<u8>) -> Vec<u8> {
        if !self.text {
            return input;
        }
        text::first(&String::from_utf8_lossy(&input), LONGEST).as_bytes().to_vec()
    }
}
