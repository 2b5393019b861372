//! Memory-access traces: what an access is, and traces that are generated from a recipe
//! ([`synthetic`]).
//!
//! Pure: a trace is an iterator, never a vector, so that its length costs no memory.

#![forbid(unsafe_code)]

mod access;
mod error;
pub mod synthetic;

pub use access::Access;
pub use error::TraceError;
