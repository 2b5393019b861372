//! The data types of a view. They are plain data: figures in the units of the JSON contract (bytes,
//! bytes per second, seconds, nanoseconds; fractions of 1), and `None` for what was not measured.
//! Names of processes are as the kernel has them; sentences fit on one line of a terminal.

use crate::changes::{ActionView, LastAction, Proposed};
use isobar_model::{CpuId, LlcId, NodeId, Pid, Tid};
use serde::Serialize;

/// A machine at the end of an epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct View {
    /// The epoch, from 1.
    pub number: u64,
    /// The end of the epoch, by the machine's clock.
    pub time_seconds: f64,
    /// Its length.
    pub interval_seconds: f64,
    /// The policy that decided.
    pub policy: String,
    /// Whether its decisions are carried out; otherwise it is a dry run.
    pub acts: bool,
    /// What a person should know first.
    pub verdict: Verdict,
    /// The nodes, ascending.
    pub nodes: Vec<NodeView>,
    /// The latency of each pair of nodes that was probed; empty if it is not measured.
    pub latency: Vec<Pair>,
    /// The last-level caches, ascending.
    pub llcs: Vec<LlcView>,
    /// The links, in the direction of the data; empty if traffic is not counted.
    pub links: Vec<LinkView>,
    /// The processes, ascending by pid.
    pub programs: Vec<ProgramView>,
    /// What the policy decided in this epoch.
    pub actions: Vec<ActionView>,
    /// What the policy `isobar` would change now; `None` if that cannot be known.
    pub proposed: Option<Proposed>,
    /// What the policy noted.
    pub notes: Vec<String>,
    /// What is not measured, and why.
    pub gaps: Vec<Gap>,
    /// Whether the kernel's NUMA balancing is on; `None` if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa_balancing: Option<bool>,
    /// Further remarks on this machine.
    pub remarks: Vec<String>,
    /// Number of pages whose move is under way.
    pub pages_under_way: u64,
}

/// Whether contention matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It does not matter now.
    No,
    /// It may matter.
    Yes,
    /// The sensors do not allow an answer.
    #[default]
    NotMeasurable,
}

/// The verdict: an answer, three sentences, and the figures behind them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether NUMA or cache contention matters now.
    pub answer: Answer,
    /// How full the machine is.
    pub pressure: String,
    /// Which programs are slowed down, and by which.
    pub suffering: String,
    /// What would be done, or was done.
    pub advice: String,
    /// What makes the answer "yes", the largest first; empty for other answers.
    pub findings: Vec<Finding>,
    /// Why the answer is not "yes", in a sentence; empty if it is.
    pub why_not: String,
}

impl Verdict {
    /// The whole verdict in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let parts = [&self.pressure, &self.suffering, &self.advice];
        parts.iter().filter(|part| !part.is_empty()).map(|part| part.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// A figure above the harmless range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// In words, with the figure.
    pub words: String,
    /// The figure divided by its threshold: 1 is exactly at it.
    pub weight: f64,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeView {
    /// Its number.
    pub id: NodeId,
    /// Number of its CPUs.
    pub cpus: usize,
    /// The fraction of the time that its CPUs were busy.
    pub busy: Option<f64>,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// The free part of its memory.
    pub free_bytes: Option<u64>,
    /// Traffic through its memory controller, by the programs that are watched.
    pub bandwidth: Option<f64>,
    /// Capacity of its memory controller.
    pub max_bandwidth: Option<f64>,
    /// Whether the capacity was given or measured; otherwise it is an estimate.
    pub max_is_told: bool,
    /// Probed latency of its memory from its own CPUs (from the nearest CPUs, if it has none).
    pub latency_ns: Option<f64>,
    /// The same latency on the idle machine.
    pub idle_latency_ns: Option<f64>,
    /// `busy` in the last epochs, the newest last.
    pub busy_history: Vec<Option<f64>>,
    /// The fraction of `max_bandwidth` used in the last epochs.
    pub load_history: Vec<Option<f64>>,
    /// `latency_ns` in the last epochs.
    pub latency_history: Vec<Option<f64>>,
}

impl NodeView {
    /// The used fraction of its controller's capacity.
    #[must_use]
    pub fn load(&self) -> Option<f64> {
        let most = self.max_bandwidth.filter(|most| *most > 0.0)?;
        Some(self.bandwidth? / most)
    }
}

/// The latency from the CPUs of one node to the memory of another or the same node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The node of the CPUs.
    pub from: NodeId,
    /// The node of the memory.
    pub to: NodeId,
    /// As probed.
    pub latency_ns: f64,
    /// On the idle machine.
    pub idle_latency_ns: Option<f64>,
    /// Whether it is far above idle. If the idle latency is not known: whether the node's own
    /// memory is farther away than another node's.
    pub congested: bool,
}

/// A last-level cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LlcView {
    /// Its number.
    pub id: LlcId,
    /// The nodes of its CPUs.
    pub nodes: Vec<NodeId>,
    /// Number of CPUs that share it.
    pub cpus: usize,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// Number of its ways, if they can be allocated.
    pub ways: Option<u32>,
    /// Number of threads that run on it.
    pub threads: usize,
    /// Summed misses per 1000 instructions of these threads; threads away from home are weighted by
    /// their NUMA penalty.
    pub pressure: Option<f64>,
    /// The clusters of its ways, ascending by their first way; if empty, all programs have all
    /// ways.
    pub clusters: Vec<Cluster>,
}

/// A part of a cache's ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Its ways, as bits.
    pub way_mask: u64,
    /// Its threads.
    pub threads: Vec<Tid>,
    /// Its programs.
    pub programs: Vec<Pid>,
}

/// A link from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkView {
    /// Where the data comes from.
    pub from: NodeId,
    /// Where it goes.
    pub to: NodeId,
    /// Traffic, derived from misses and from where pages are.
    pub bandwidth: f64,
    /// Capacity, which is an estimate.
    pub max_bandwidth: f64,
}

impl LinkView {
    /// The used fraction of its capacity.
    #[must_use]
    pub fn load(&self) -> f64 {
        if self.max_bandwidth > 0.0 { self.bandwidth / self.max_bandwidth } else { 0.0 }
    }
}

/// The kind of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// By its miss rate: fewer than 2 misses per 1000 instructions (DINO).
    Turtle,
    /// 2 to 100.
    Devil,
    /// More than 100.
    SuperDevil,
    /// By its response to ways, from a profile or sampling: neither harms others nor is harmed
    /// (LFOC).
    LightSharing,
    /// Misses much, whatever ways it has.
    Streaming,
    /// Slows down if it has few ways.
    Sensitive,
}

/// A process, or several that are combined.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProgramView {
    /// Its id; for several processes, the lowest.
    pub pid: Pid,
    /// Its name, as the kernel has it.
    pub name: String,
    /// Its service, container, pod or virtual machine, such as `unit:redis.service`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Number of processes combined.
    pub processes: usize,
    /// Whether it is a virtual machine.
    pub is_vm: bool,
    /// Whether the policy decides about it.
    pub managed: bool,
    /// Number of CPUs that it fills.
    pub cpus: Option<f64>,
    /// Its class.
    pub class: Option<Class>,
    /// Instructions per cycle.
    pub ipc: Option<f64>,
    /// LLC misses per 1000 instructions.
    pub mpki: Option<f64>,
    /// LLC misses per 1000 instructions that another cache answered, if its threads are on several
    /// caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_transfers_pki: Option<f64>,
    /// Bytes per second to and from memory.
    pub bandwidth: Option<f64>,
    /// Its resident pages by node, in the order of the view's nodes.
    pub pages: Option<Vec<u64>>,
    /// The fraction of its CPU time on each node, in the same order.
    pub runs_on: Option<Vec<f64>>,
    /// The fraction of its pages on nodes where it does not run.
    pub remote: Option<f64>,
    /// How many times as long it takes as alone with its pages near.
    pub slowdown: Option<f64>,
    /// The factor of `slowdown` that other programs cause.
    pub contention: Option<f64>,
    /// The factor of `slowdown` that its remote pages cause.
    pub distance: Option<f64>,
    /// Which programs slow it down, the largest effect first.
    pub harmed_by: Vec<Harm>,
    /// Which programs it slows down, the largest effect first.
    pub harms: Vec<Harm>,
    /// The last decision about it.
    pub last: Option<LastAction>,
    /// Its threads, ascending.
    pub threads: Vec<ThreadView>,
}

/// How much a neighbour slows a program down.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Harm {
    /// The neighbour, or the program that is slowed down.
    pub pid: Pid,
    /// Its name, as the kernel has it.
    pub name: String,
    /// How much faster the program would be without the neighbour: 0.2 = 20 %.
    pub gain: f64,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThreadView {
    /// Its id.
    pub tid: Tid,
    /// The CPU that it last ran on.
    pub cpu: Option<CpuId>,
    /// The node of that CPU.
    pub node: Option<NodeId>,
    /// The cache of that CPU.
    pub llc: Option<LlcId>,
    /// The fraction of the epoch that it ran.
    pub cpus: Option<f64>,
    /// The class of its process.
    pub class: Option<Class>,
    /// Instructions per cycle.
    pub ipc: Option<f64>,
    /// LLC misses per 1000 instructions.
    pub mpki: Option<f64>,
    /// Bytes per second to and from memory.
    pub bandwidth: Option<f64>,
    /// Whether its owner narrowed its affinity.
    pub pinned: bool,
}

/// Something that is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// What it is.
    pub what: String,
    /// Why, in one line with the remedy.
    pub why: String,
}
