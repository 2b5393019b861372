//! Cache ways by resctrl, on a double of its file system.

// Helpers of tests fail by panicking, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod faults;
#[path = "../live/mod.rs"]
mod live;
mod support;
mod threads;
mod ways;
