//! Rules for the tree itself, checked on its files: walls between crates, and one direction of
//! imports between folders and files inside a crate. The tests are in `tests/`; this crate has the
//! code that they share.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic)]

pub mod circles;
pub mod crates;
pub mod source;
