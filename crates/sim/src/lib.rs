//! The simulated NUMA machine: a [`isobar_model::Machine`] on which programs suffer from each other
//! as on a real one.
//!
//! A [`Workload`] says which [`program`]s run on which [`machine`]; [`SimMachine`] runs it under
//! whatever plans it is handed; [`isobar_contention`] says what each thread gets; [`RunReport`]
//! says what became of each application. Pure: text comes in as text, randomness from a seed, time
//! from [`isobar_model::Machine::wait`].

#![forbid(unsafe_code)]

pub mod arrangement;
mod assuming;
mod error;
mod estimate;
pub mod gang;
mod host;
pub mod machine;
#[cfg(test)]
mod papers;
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
pub use workload::{App, Costs, Job, Run, Seats, Workload};
