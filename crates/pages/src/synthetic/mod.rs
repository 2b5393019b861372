//! Traces generated from a recipe: zones of memory, each with the pattern in which it is accessed.
//! The same recipe and seed give the same accesses on any machine: ChaCha for randomness, and no
//! arithmetic but + - * /. A trace is an iterator, so that its length costs no memory.
//!
//! The recipe says what a program does to memory; the caller knows which program does that.
//!
//! - Every access first draws its zone by weight, so that zones interleave as the arrays of an
//!   inner loop do.
//! - A *visit* is a number of accesses in a row (within the zone) to one page: 64 for code that
//!   reads all lines of a page, 1 for a chased pointer. The pattern says which page comes next.
//! - Threads take turns, access by access. A zone that is not shared is divided evenly among them.
//! - Where in its pattern each thread starts is drawn from the seed: a thread is moved at an
//!   arbitrary moment.

mod cursor;
mod error;
mod recipe;
mod trace;

pub use error::RecipeError;
pub use recipe::{Pattern, Recipe, Zone};
pub use trace::Trace;

/// An access that missed the last-level cache and so went to memory (DINO, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The thread, by position among those of the process.
    pub thread: u16,
    /// The base page that holds the address, counted from the first resident one.
    pub page: u32,
}

#[cfg(test)]
mod tests;
