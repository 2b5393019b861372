//! Recordings: the state of a machine, what was decided, and what came of it, in one SQLite file.
//!
//! A recording contains every raw reading bit for bit, so a replay sees what the policy saw and
//! decides as it did. It also contains rows for the busiest processes and threads, actions,
//! predictions and effects, for any SQL client (`schema.sql`, explained in `docs/recordings.md`).
//! This crate knows nothing of policies or of the machine that was recorded.
//!
//! Each epoch is one transaction. Whatever ends the writer (kill -9, a full disk), the file still
//! opens and contains the epochs up to that point.

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

/// Names of the facts that are stored about a recording.
pub mod about {
    /// The version of isobar that wrote it.
    pub const ISOBAR: &str = "isobar";
    /// The policy that decided.
    pub const POLICY: &str = "policy";
    /// The path of the settings file, as it was given.
    pub const CONFIG: &str = "config";
    /// `--set` as typed, a JSON list.
    pub const SETS: &str = "sets";
    /// `true` if nothing was changed, otherwise `false`.
    pub const DRY_RUN: &str = "dry_run";
    /// Seconds between decisions.
    pub const INTERVAL: &str = "interval_seconds";
    /// `this machine`, or the workload that was simulated.
    pub const MACHINE: &str = "machine";
    /// Name of the host.
    pub const HOST: &str = "host";
    /// Version of the kernel.
    pub const KERNEL: &str = "kernel";
    /// `true` if the recording was ended in order.
    pub const COMPLETE: &str = "complete";
}
