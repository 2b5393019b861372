//! What a daemon reports about itself.

use serde::{Deserialize, Serialize};

/// The state of a running daemon.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The version of isobar.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// The machine: `this machine`, `sim:workload.toml`.
    pub machine: String,
    /// The policy that decides.
    pub policy: String,
    /// The groups that have a policy of their own.
    pub groups: Vec<GroupLine>,
    /// Whether this is a dry run, which never changes anything.
    pub dry_run: bool,
    /// Whether decisions are paused.
    pub paused: bool,
    /// Number of decisions so far.
    pub epochs: u64,
    /// Seconds from one decision to the next.
    pub interval_seconds: f64,
    /// Seconds of machine time that all epochs covered together.
    pub seconds: f64,
    /// Threads seen in the last epoch.
    pub threads: u64,
    /// Threads seen in the last epoch that are managed.
    pub managed_threads: u64,
    /// Actions decided so far.
    pub actions: u64,
    /// Threads moved so far.
    pub threads_moved: u64,
    /// Pages moved so far.
    pub pages_moved: u64,
    /// Threads and resctrl groups that are changed now; `None` if they are not counted.
    pub changed_now: Option<u64>,
    /// CPU time of the daemon itself, in per cent of one CPU.
    pub own_cpu_percent: Option<f64>,
    /// The configuration file; `None` if there is none.
    pub config: Option<String>,
    /// Why the last reload changed nothing; `None` if the reload took effect.
    pub reload_refused: Option<String>,
    /// The recording in progress.
    pub recording: Option<String>,
    /// Other remarks for the operator.
    pub remarks: Vec<String>,
    /// The last actions, the newest first.
    pub recent: Vec<ActionLine>,
}

/// A group of processes with a policy of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupLine {
    /// The group, as it was named.
    pub group: String,
    /// Its policy.
    pub policy: String,
}

/// An action that was applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActionLine {
    /// Its number, for `isobar undo`.
    pub id: u64,
    /// The epoch in which it was decided.
    pub epoch: u64,
    /// How long ago, by the machine's clock.
    pub seconds_ago: f64,
    /// The policy that decided it.
    pub policy: String,
    /// The process that the action concerns, if it concerns one.
    pub pid: Option<u32>,
    /// The action in words.
    pub words: String,
    /// Why.
    pub reason: String,
    /// The outcome, in words.
    pub became: String,
    /// Whether it has an effect that has not been undone.
    pub stands: bool,
}
