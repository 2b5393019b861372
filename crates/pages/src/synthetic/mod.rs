//! Traces generated from a recipe: zones of memory, each with the pattern in which it is accessed.
//! The same recipe and seed give the same accesses on any machine, because randomness comes from
//! ChaCha and the only arithmetic is + - * /. A trace is an iterator, so its length takes no
//! memory.
//!
//! The recipe says how a program accesses memory. Which program this stands for is known only to
//! the caller.
//!
//! - Every access first draws its zone by weight, so zones interleave as the arrays of an inner
//!   loop do.
//! - A *visit* is a number of consecutive accesses (within the zone) to one page: 64 for code that
//!   reads all lines of a page, 1 for a chased pointer. The pattern says which page comes next.
//! - Threads take turns, access by access. A zone that is not shared is divided evenly among the
//!   threads.
//! - The place in its pattern where each thread starts is drawn from the seed, because a thread is
//!   moved at an arbitrary moment.

mod cursor;
mod error;
mod recipe;
mod trace;

pub use error::RecipeError;
pub use recipe::{Pattern, Recipe, Zone};
pub use trace::Trace;

/// An access that missed the last-level cache and therefore went to memory (DINO, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The thread, by its position among the threads of the process.
    pub thread: u16,
    /// The base page that contains the address, counted from the first resident page.
    pub page: u32,
}

#[cfg(test)]
mod tests;
