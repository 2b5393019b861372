//! What a report holds. It is in the page as JSON; keys follow the contract: bytes, bytes a second,
//! seconds, nanoseconds, parts of 1.

use crate::page::{RUN, page};
use crate::series::Series;
use isobar_model::{LlcId, NodeId, Pid, Tid};
use serde::Serialize;

/// What is known of a run beside its epochs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Head {
    /// What was run or recorded.
    pub title: String,
    /// Facts, each with its name, in the order in which they are shown.
    pub facts: Vec<(String, String)>,
    /// What a reader should know before the figures: gaps, an end that was not in order.
    pub remarks: Vec<String>,
}

/// A run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// What it is about.
    pub head: Head,
    /// In words.
    pub summary: Vec<String>,
    /// The end of each span, in seconds of the run.
    pub times: Vec<f64>,
    /// By node.
    pub nodes: Vec<Node>,
    /// By pair of nodes.
    pub latency: Vec<Latency>,
    /// By LLC.
    pub llcs: Vec<Llc>,
    /// The busiest programs.
    pub programs: Vec<Program>,
    /// Where the busiest threads ran.
    pub lanes: Vec<Lane>,
    /// Who harms whom: positions of programs.
    pub harms: Vec<Harm>,
    /// What was done, or would have been.
    pub actions: Vec<Action>,
    /// What was predicted and measured.
    pub changes: Vec<Change>,
    /// What policies had to say.
    pub notes: Vec<Note>,
    /// What was not measured, and why.
    pub gaps: Vec<(String, String)>,
    /// What did not fit: `12 more programs`.
    pub left_out: Vec<String>,
}

/// A node over time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Node {
    /// Its number.
    pub id: NodeId,
    /// Its CPUs.
    pub cpus: usize,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// The part of its CPUs' time that was used.
    pub busy: Series,
    /// The part of its controller's bandwidth.
    pub load: Series,
    /// Latency of its memory from its own CPUs.
    pub latency_ns: Series,
    /// Resident pages of all programs that are watched.
    pub pages: Series,
}

/// Latency between two nodes over time.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// The CPU's node.
    pub from: NodeId,
    /// The memory's node.
    pub to: NodeId,
    /// On the idle machine.
    pub idle_ns: Option<f64>,
    /// As probed.
    pub values: Series,
}

/// A last-level cache over time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Llc {
    /// Its number.
    pub id: LlcId,
    /// Nodes of its CPUs.
    pub nodes: Vec<NodeId>,
    /// Its ways.
    pub ways: Option<u32>,
    /// Summed MPKI.
    pub pressure: Series,
    /// How its ways were divided, from a time on until the next.
    pub divisions: Vec<Division>,
}

/// Ways from a time on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Division {
    /// From then on.
    pub seconds: f64,
    /// Name, first way, number of ways and programs of each cluster.
    pub clusters: Vec<(String, u32, u32, Vec<String>)>,
}

/// A program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Program {
    /// Its process.
    pub pid: Pid,
    /// Its name, fit to be shown.
    pub name: String,
    /// CPUs that it used.
    pub cpus: Series,
    /// Slowdown by contention and distance, estimated.
    pub slowdown: Series,
    /// Misses for 1000 instructions.
    pub mpki: Series,
    /// Instructions a cycle.
    pub ipc: Series,
    /// Bytes a second.
    pub bandwidth: Series,
    /// The part of its pages on nodes where it does not run.
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
    /// From when on it was on which LLC (or node, where none is known); `null` ends a stay.
    pub stays: Vec<(f64, Option<u32>)>,
}

/// Who harms whom.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Harm {
    /// Position of the program that suffers.
    pub of: usize,
    /// Position of the one that harms.
    pub by: usize,
    /// What the first would gain without the second, as a part of its speed: mean over the run.
    pub gain: f64,
}

/// An action, or several alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Action {
    /// When.
    pub seconds: f64,
    /// In words.
    pub words: String,
    /// Why.
    pub reason: String,
    /// What became of it; empty in a dry run.
    pub became: String,
    /// Positions of programs that it is about.
    pub programs: Vec<usize>,
}

/// What was predicted of a change, and what was measured.
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
    /// Measured gain of those that could be compared.
    pub measured: Option<f64>,
    /// Its standard error.
    pub error: Option<f64>,
    /// Whether it stayed.
    pub kept: Option<bool>,
    /// Whether programs came or went meanwhile.
    pub disturbed: Option<bool>,
    /// By program: position, predicted and measured gain.
    pub programs: Vec<(usize, Option<f64>, Option<f64>)>,
}

/// What a policy had to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// When first.
    pub epoch: u64,
    /// How often.
    pub times: u64,
    /// What.
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
