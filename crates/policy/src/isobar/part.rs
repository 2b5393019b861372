//! What a program may take of a cache and of the memory behind it.

use isobar_model::Pid;
use std::collections::BTreeMap;

/// Ways that it may fill, and its share of the memory bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Ways, as bits.
    pub mask: u64,
    /// Per cent of the memory bandwidth of a core that each of its threads may take.
    pub percent: u32,
}

impl Part {
    /// All of it.
    pub const ALL: Self = Self { mask: u64::MAX, percent: 100 };
}

/// By divided cache: what each program, by position, would take of it, were it to come.
pub type Guests = BTreeMap<usize, Vec<Option<Part>>>;

/// All of it, for every program of a cache by position.
#[must_use]
pub const fn all(_: usize, _: Pid) -> Part {
    Part::ALL
}
