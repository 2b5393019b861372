//! The contents of a report. The page contains them as JSON. Keys follow the contract: bytes, bytes
//! per second, seconds, nanoseconds, fractions of 1.

use crate::page::{RUN, page};
use crate::series::Series;
use isobar_model::{LlcId, NodeId, Pid, Tid};
use serde::Serialize;

/// What is known of a run besides its epochs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Head {
    /// What was run or recorded.
    pub title: String,
    /// Facts, each with its name, in the order in which they are shown.
    pub facts: Vec<(String, String)>,
    /// What a reader should know before the figures: gaps, or that the run did not end in order.
    pub remarks: Vec<String>,
}

/// A run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// What the report is about.
    pub head: Head,
    /// The summary, in words.
    pub summary: Vec<String>,
    /// The end of each span, in seconds of the run.
    pub times: Vec<f64>,
    /// Figures by node.
    pub nodes: Vec<Node>,
    /// Latencies by pair of nodes.
    pub latency: Vec<Latency>,
    /// Figures by LLC.
    pub llcs: Vec<Llc>,
    /// The busiest programs.
    pub programs: Vec<Program>,
    /// Where the busiest threads ran.
    pub lanes: Vec<Lane>,
    /// Which program slows down which, by positions of programs.
    pub harms: Vec<Harm>,
    /// What was done, or would have been.
    pub actions: Vec<Action>,
    /// The changes, with what was predicted and measured.
    pub changes: Vec<Change>,
    /// The notes of policies.
    pub notes: Vec<Note>,
    /// What was not measured, and why.
    pub gaps: Vec<(String, String)>,
    /// What did not fit, for example `12 more programs`.
    pub left_out: Vec<String>,
}

/// A node over time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Node {
    /// Its number.
    pub id: NodeId,
    /// Number of its CPUs.
    pub cpus: usize,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// The fraction of its CPUs' time that was used.
    pub busy: Series,
    /// The fraction of its controller's bandwidth that was used.
    pub load: Series,
    /// Latency of its memory from its own CPUs.
    pub latency_ns: Series,
    /// Resident pages of all watched programs.
    pub pages: Series,
}

/// Latency between two nodes over time.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// The CPU's node.
    pub from: NodeId,
    /// The memory's node.
    pub to: NodeId,
    /// As measured on the idle machine.
    pub idle_ns: Option<f64>,
    /// As probed during the run.
    pub values: Series,
}

/// A last-level cache over time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Llc {
    /// Its number.
    pub id: LlcId,
    /// Nodes of its CPUs.
    pub nodes: Vec<NodeId>,
    /// Number of its ways.
    pub ways: Option<u32>,
    /// Summed MPKI.
    pub pressure: Series,
    /// How its ways were divided; each division holds until the next.
    pub divisions: Vec<Division>,
}

/// A division of the ways, from a time on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Division {
    /// The time from which it holds.
    pub seconds: f64,
    /// For each cluster: name, first way, number of ways, and programs.
    pub clusters: Vec<(String, u32, u32, Vec<String>)>,
}

/// A program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Program {
    /// Its process.
    pub pid: Pid,
    /// Its name, made safe to display.
    pub name: String,
    /// Number of CPUs that it used.
    pub cpus: Series,
    /// Estimated slowdown by contention and distance.
    pub slowdown: Series,
    /// Misses per 1000 instructions.
    pub mpki: Series,
    /// Instructions per cycle.
    pub ipc: Series,
    /// Bytes per second.
    pub bandwidth: Series,
    /// The fraction of its pages on nodes where it does not run.
    pub remote: Series,
    /// Resident pages by node.
    pub pages: Vec<Series>,
}

/// Where a thread ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lane {
    /// Position of its program.
    pub program: usize,
    /// The thread.
    pub tid: Tid,
    /// Since when the thread was on which LLC (or node, if no LLC is known); `null` ends a stay.
    pub stays: Vec<(f64, Option<u32>)>,
}

/// A program that slows down another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Harm {
    /// Position of the program that is slowed down.
    pub of: usize,
    /// Position of the program that causes it.
    pub by: usize,
    /// What the first program would gain without the second, as a fraction of its speed; the mean
    /// over the run.
    pub gain: f64,
}

/// An action, or several similar ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Action {
    /// When.
    pub seconds: f64,
    /// In words.
    pub words: String,
    /// Why.
    pub reason: String,
    /// The outcome; empty in a dry run.
    pub became: String,
    /// Positions of the programs concerned.
    pub programs: Vec<usize>,
}

/// What was predicted for a change, and what was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Change {
    /// Its number.
    pub change: u64,
    /// When it was made.
    pub seconds: Option<f64>,
    /// When it was judged.
    pub judged_seconds: Option<f64>,
    /// Predicted gain, summed over programs.
    pub predicted: Option<f64>,
    /// Measured gain, over the programs that could be compared.
    pub measured: Option<f64>,
    /// Its standard error.
    pub error: Option<f64>,
    /// Whether it was kept.
    pub kept: Option<bool>,
    /// Whether programs started or ended meanwhile.
    pub disturbed: Option<bool>,
    /// For each program: its position, the predicted gain and the measured gain.
    pub programs: Vec<(usize, Option<f64>, Option<f64>)>,
}

/// A note of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// When it first appeared.
    pub epoch: u64,
    /// How often it appeared.
    pub times: u64,
    /// The text.
    pub text: String,
}

impl Report {
    /// The page as one file of HTML.
    #[must_use]
    pub fn html(&self) -> String {
        let script = [&RUN[..], &[include_str!("assets/recording.js")]].concat();
        page("recording", &self.head.title, &self.summary, &script, self)
    }
}
