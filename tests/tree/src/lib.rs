//! What must hold of the tree itself, read from its files: walls between crates, one direction
//! between folders and files inside a crate. The tests are in `tests/`; here stands what they
//! share.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic)]

pub mod circles;
pub mod crates;
pub mod source;
