//! The contention-management policies of isobar: one folder per paper, one file per policy.
//!
//! A policy is a pure function from an observation (and what it remembers of earlier ones) to a
//! plan. Deliberately absent are clocks, I/O, randomness, hash order, and any knowledge of which
//! machine it runs on. To add a policy, write one file that exports its [`entry::Entry`], and name
//! the file in its folder's `mod.rs`. Help, the example configuration and `docs/policies.md` follow
//! from that.

#![forbid(unsafe_code)]

pub mod baseline;
pub mod by_group;
pub mod camm;
pub mod dino;
pub mod divide_content;
pub mod documentation;
pub mod entry;
pub mod isobar;
pub mod kit;
pub mod nmass;
pub mod registry;
pub mod settings;
#[cfg(test)]
mod test_kit;

pub use settings::{ConfigError, Settings};
