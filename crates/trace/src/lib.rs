//! Memory-access traces: what an access is, and traces that are generated from a recipe
//! ([`synthetic`]).
//!
//! Pure: a trace is an iterator, never a vector, so that its length costs no memory.

#![forbid(unsafe_code)]

mod error;
pub mod synthetic;

pub use error::TraceError;

/// An access that missed the last-level cache and so went to memory (DINO, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The thread, by position among those of the process.
    pub thread: u16,
    /// The base page that holds the address, counted from the first resident one.
    pub page: u32,
}
