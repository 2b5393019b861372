//! Experiments: policies compared on equal terms.
//!
//! [`compare()`] runs every policy on the same simulated machine, workload and seeds, through the
//! same interfaces as the live program. [`table`] and serde print the results.

#![forbid(unsafe_code)]

mod compare;
mod congestion;
mod error;
mod joint;
mod optimum;
mod parallel;
mod policy_matrix;
pub mod predict;
pub mod reproduce;
mod run;
mod spread;
mod sra;
mod starts;
mod stats;
mod table;
mod text;

pub use compare::{
    AppRow, CompareSpec, Comparison, NamedPolicy, PolicyRow, RowSpread, RunRow, alone_seconds, compare,
    compare_in_full, compare_with,
};
pub use congestion::Congestion;
pub use error::LabError;
pub use joint::{Joint, JointApp, JointWays, PROVED, QUESTIONS, joint, joint_table, joints_table};
pub use optimum::{MOST_MAPPINGS, Mapping, optimum};
pub use policy_matrix::{
    BASE, PolicyMatrix, PolicyMatrixCell, PolicyMatrixRow, PolicyMatrixTotal, across, across_table,
};
pub use run::run_policy;
pub use spread::{Spread, half_width_95};
pub use starts::{FEW, Starts};
pub use table::{optimum_table, table};
