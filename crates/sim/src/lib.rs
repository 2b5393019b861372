//! The simulated NUMA machine: a [`isobar_model::Machine`] on which programs slow each other down
//! as they do on a real one.
//!
//! A [`Workload`] says which [`program`]s run on which [`machine`]. [`SimMachine`] runs it under
//! any plans it is given. [`isobar_contention`] computes the speed of each thread. [`RunReport`]
//! gives the result for each application. The crate is pure: files come in as text, randomness
//! comes from a seed, and time passes in [`isobar_model::Machine::wait`].

#![forbid(unsafe_code)]

pub mod arrangement;
mod assuming;
mod error;
mod estimate;
mod host;
pub mod machine;
#[cfg(test)]
mod papers;
pub mod placed_threads;
pub mod program;
mod report;
pub mod schedules;
pub mod solo;
mod steady;
#[cfg(test)]
mod traffic;
mod workload;

pub use error::SimError;
pub use estimate::{End, Estimate};
pub use host::SimMachine;
pub use machine::MachineSpec;
pub use program::Program;
pub use report::{AppReport, RunReport};
pub use steady::steady;
pub use workload::{App, Costs, Job, LlcAssignment, Run, Workload};
