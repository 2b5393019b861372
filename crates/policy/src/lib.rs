//! The contention-management policies of isobar: one folder a paper, one file a policy.
//!
//! A policy is a pure function from an observation (and what it remembers of earlier ones) to a plan. Deliberately absent:
//! clocks, I/O, randomness, hash order, and any knowledge of which machine it runs on. To add a policy, write one file and
//! one line in [`registry`].

#![forbid(unsafe_code)]

pub mod baseline;
pub mod dino;
pub mod divide_content;
pub mod kit;
pub mod nmass;
pub mod registry;
pub mod settings;

pub use settings::{ConfigError, Settings};
