//! Topologies of captured machines: archives, awkward trees, and machines as they were found.

#![allow(clippy::unwrap_used, clippy::panic)]

mod archives;
mod awkward;
mod captured;
mod support;
