//! The contention model.

#![forbid(unsafe_code)]

mod bracket;
mod budget;
mod build;
mod curve;
mod machine;
mod network;
mod newton;
mod question;
mod queue;
mod root;
mod solver;
mod space;
mod steady;
mod stream;
#[cfg(test)]
mod tests;

pub use budget::{Budget, NoAnswer};
pub use curve::{Measured, MissCurve, Parametric};
pub use machine::{Cache, Machine, MachineError, Parts, Place};
pub use question::{Demand, PageCopy, Question};
pub use queue::{LINE, Resource};
pub use solver::{Answer, Solver, alone, solve};
pub use steady::{Pace, Scratch, Sharers, Steady};
