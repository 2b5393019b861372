//! Experiments: policies compared on equal terms.
//!
//! [`compare()`] runs every policy on the same simulated machine, workload and seeds, through the same seams as the live
//! program; [`table`] and serde print what came out.

#![forbid(unsafe_code)]

mod compare;
mod harness;
pub mod sra;
pub mod svg;
mod table;

pub use compare::{AppRow, CompareSpec, Comparison, LabError, NamedPolicy, PolicyRow, alone_seconds, compare};
pub use harness::run_policy;
pub use table::table;
