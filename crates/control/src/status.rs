//! What a daemon says of itself.

use serde::{Deserialize, Serialize};

/// A daemon at work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The version of isobar.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// The machine: `this machine`, `sim:workload.toml`.
    pub machine: String,
    /// The policy that decides.
    pub policy: String,
    /// The policies of groups beside it.
    pub groups: Vec<GroupLine>,
    /// Whether nothing is ever changed.
    pub dry_run: bool,
    /// Whether decisions are paused.
    pub paused: bool,
    /// Decisions so far.
    pub epochs: u64,
    /// From decision to decision.
    pub interval_seconds: f64,
    /// Time of the machine that all epochs had together.
    pub seconds: f64,
    /// Threads that were seen last.
    pub threads: u64,
    /// Those of them that are managed.
    pub managed_threads: u64,
    /// Actions decided so far.
    pub actions: u64,
    /// Threads moved so far.
    pub threads_moved: u64,
    /// Pages moved so far.
    pub pages_moved: u64,
    /// Threads and resctrl groups that are changed now; `None` where that is not counted.
    pub changed_now: Option<u64>,
    /// What the daemon itself takes, in per cent of one CPU.
    pub own_cpu_percent: Option<f64>,
    /// The configuration file; `None` where there is none.
    pub config: Option<String>,
    /// Why the last reload changed nothing, where it did not.
    pub reload_refused: Option<String>,
    /// The recording under way.
    pub recording: Option<String>,
    /// What else a person should know.
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
    /// The epoch that it was decided in.
    pub epoch: u64,
    /// How long ago, by the machine's clock.
    pub seconds_ago: f64,
    /// The policy that decided it.
    pub policy: String,
    /// The process that it is about, where it is one.
    pub pid: Option<u32>,
    /// The action in words.
    pub words: String,
    /// Why.
    pub reason: String,
    /// What became of it, in words.
    pub became: String,
    /// Whether it has an effect that was not taken back.
    pub stands: bool,
}
