//! The static partitioning question: which programs share which ways of which LLC. Programs are
//! tables over way counts ([`isobar_model::Profile`]). A solution says which program goes to which
//! group (LLC) and which programs share which ways there, and a model says how much each program
//! slows down. Published heuristics answer the question, and the online policies use the same code.
//! Pure: no clock, no files, no machine.

#![forbid(unsafe_code)]

pub mod balance;
pub mod class;
mod error;
pub mod evaluate;
pub mod heuristics;
pub mod layout;
pub mod model;
pub mod share;
mod solution;

pub use error::PartitionError;
pub use solution::{Cluster, Group, Solution};
