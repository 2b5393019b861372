//! What every machine must keep: one body of assertions on the [`isobar_model::Machine`] seam.
//!
//! A [`Bench`] supplies machines with subjects (programs to be watched and moved) on them;
//! [`assertions`] lists what must hold, each by name in plain words with the function that checks
//! it. The same body runs against the simulated machine and against Linux: where both pass, a
//! policy cannot tell them apart.
//!
//! It knows the seam's contract and no machine. It refuses to know how long anything takes: no
//! assertion concerns speed.

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

pub use bench::{Bench, Identity, Life, Stage, Subject};
pub use known::{Difference, judge};
pub use registry::assertions;
pub use verdict::{Assertion, Checked, Stop};
