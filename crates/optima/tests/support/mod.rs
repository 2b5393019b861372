//! What the tests share: random instances, an independent enumeration, and the reference data if
//! available.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

pub mod brute;
pub mod random;
#[path = "../../../partition/tests/support/mod.rs"]
pub mod reference;
