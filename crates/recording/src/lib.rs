//! Recordings: what a machine was, what was decided and what came of it, in one SQLite file.
//!
//! A recording holds every raw reading to the bit, so that a replay sees what the policy saw and
//! decides as it did; and rows for the busiest processes and threads, actions, predictions and
//! effects, for any SQL client (`schema.sql`, explained in `docs/recordings.md`). It knows nothing
//! of policies and of the machine that was recorded.
//!
//! Each epoch is one transaction. Whatever ends the writer (kill -9, a full disk) leaves a file
//! that opens, with the epochs until then.

#![forbid(unsafe_code)]

mod error;
pub mod frame;
mod machine;
mod moment;
mod query;
mod reader;
mod recorder;
#[cfg(test)]
mod tests;
mod writer;

pub use error::RecordingError;
pub use frame::Managed;
pub use machine::{Now, RecordedMachine};
pub use moment::{Decision, Moment, TakenBack};
pub use query::{Cell, Table};
pub use reader::Recording;
pub use recorder::Recorder;
pub use writer::{About, Bounds, Writer};

/// Names of the facts about a recording.
pub mod about {
    /// The version of isobar that wrote it.
    pub const ISOBAR: &str = "isobar";
    /// The policy that decided.
    pub const POLICY: &str = "policy";
    /// The settings file, as it was named.
    pub const CONFIG: &str = "config";
    /// `--set` as typed, a JSON list.
    pub const SETS: &str = "sets";
    /// Whether nothing was changed: `true` or `false`.
    pub const DRY_RUN: &str = "dry_run";
    /// Seconds from decision to decision.
    pub const INTERVAL: &str = "interval_seconds";
    /// `this machine`, or the workload that was simulated.
    pub const MACHINE: &str = "machine";
    /// Name of the host.
    pub const HOST: &str = "host";
    /// Version of the kernel.
    pub const KERNEL: &str = "kernel";
    /// Whether it was ended in order: `true`.
    pub const COMPLETE: &str = "complete";
}
