//! What a program may take of a cache and of the memory behind it: a cache partition and a
//! bandwidth share.

use isobar_model::Pid;
use std::collections::BTreeMap;

/// The ways that it may fill, and its share of the memory bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The ways, as a bit mask.
    pub mask: u64,
    /// The share of a core's memory bandwidth that each of its threads may take, in per cent.
    pub percent: u32,
}

impl Part {
    /// All ways and the whole bandwidth.
    pub const ALL: Self = Self { mask: u64::MAX, percent: 100 };
}

/// By divided cache, what each program, by position, would take of it if it came.
pub type Guests = BTreeMap<usize, Vec<Option<Part>>>;

/// All ways and the whole bandwidth, for every program of any cache by position.
#[must_use]
pub const fn all(_: usize, _: Pid) -> Part {
    Part::ALL
}
