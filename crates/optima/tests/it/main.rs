//! Tests of the exact searches: against brute force, on known optima, and how soon they stop.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod exact;
mod known;
mod stop;
#[path = "../support/mod.rs"]
mod support;
