//! The actuators on the running kernel: threads, pages, the state file, and one manager per
//! machine. One program for all of them, because each test program costs the build a link.

// Helpers of tests fail by panicking, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod full_disk;
#[path = "../live/mod.rs"]
mod live;
mod machine;
mod manager_lock;
mod pages;
mod refused_heirs;
mod threads;
