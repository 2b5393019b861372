//! Exact searches: against brute force, on known answers, and how soon they stop.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod exact;
mod known;
mod stop;
#[path = "../support/mod.rs"]
mod support;
