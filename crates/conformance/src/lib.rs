//! What every machine must guarantee: one set of assertions on the [`isobar_model::Machine`] seam.
//!
//! A [`Bench`] supplies machines with subjects (programs to be watched and moved) on them.
//! [`assertions`] lists what must hold: each assertion has a name in plain words and the function
//! that checks it. The same assertions run against the simulated machine and against Linux. If both
//! pass, a policy cannot tell the two apart.
//!
//! This crate knows the seam's contract and no particular machine. It does not know how long
//! anything takes: no assertion concerns speed.

#![forbid(unsafe_code)]

mod bench;
mod known;
mod look;
mod pages;
mod plans;
mod registry;
mod restoring;
mod sampling;
mod threads;
mod undoing;
mod verdict;
mod waiting;
mod ways;

pub use bench::{Bench, Identity, Life, Stage, Subject, Work};
pub use known::{Difference, judge};
pub use registry::assertions;
pub use verdict::{Assertion, Checked, Stop};
