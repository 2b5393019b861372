//! Static partitioning: laws, recorded answers, and vectors computed elsewhere.

#![allow(clippy::unwrap_used, clippy::panic)]

mod laws;
mod recorded;
#[path = "../support/mod.rs"]
mod support;
mod vectors;
