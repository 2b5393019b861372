//! The nouns of a view. Plain data: figures in the units of the JSON contract (bytes, bytes a
//! second, seconds, nanoseconds; parts of 1), `None` where something was not measured. Names of
//! processes are as the kernel has them; sentences are fit for one line of a terminal.

use isobar_model::{ActionId, CpuId, LlcId, NodeId, Pid, Tid};
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
    /// Whether its decisions are carried out; else it is a dry run.
    pub acts: bool,
    /// What a person should know first.
    pub verdict: Verdict,
    /// The nodes, ascending.
    pub nodes: Vec<NodeView>,
    /// The latency of each pair of nodes that was probed; empty where it is not measured.
    pub latency: Vec<Pair>,
    /// The last-level caches, ascending.
    pub llcs: Vec<LlcView>,
    /// The links, by the direction that data takes; empty where traffic is not counted.
    pub links: Vec<LinkView>,
    /// The processes, ascending by pid.
    pub programs: Vec<ProgramView>,
    /// What the policy decided in this epoch.
    pub actions: Vec<ActionView>,
    /// What the policy `isobar` would change now; `None` where it cannot be known.
    pub proposed: Option<Proposed>,
    /// What the policy noted.
    pub notes: Vec<String>,
    /// What is not measured, and why.
    pub gaps: Vec<Gap>,
    /// Whether the kernel's NUMA balancing is on; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa_balancing: Option<bool>,
    /// What else is worth knowing of this machine.
    pub remarks: Vec<String>,
    /// Pages under way.
    pub pages_under_way: u64,
}

/// Whether contention matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It does not now.
    No,
    /// It may.
    Yes,
    /// What is measured cannot answer it.
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
    /// Who suffers, and from whom.
    pub suffering: String,
    /// What would be done, or was done.
    pub advice: String,
    /// What makes the answer "yes", the greatest first; empty for another answer.
    pub findings: Vec<Finding>,
    /// Why the answer is not "yes", in a sentence; empty where it is.
    pub why_not: String,
}

impl Verdict {
    /// All of it in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let parts = [&self.pressure, &self.suffering, &self.advice];
        parts.iter().filter(|part| !part.is_empty()).map(|part| part.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// A figure that is beyond what is harmless.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// In words, with the figure.
    pub words: String,
    /// The figure over its threshold: 1 is just at it.
    pub weight: f64,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeView {
    /// Its number.
    pub id: NodeId,
    /// How many CPUs it has.
    pub cpus: usize,
    /// The part of their time that they were busy.
    pub busy: Option<f64>,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// What of it is free.
    pub free_bytes: Option<u64>,
    /// What passes its memory controller, by the programs that are watched.
    pub bandwidth: Option<f64>,
    /// What can pass.
    pub max_bandwidth: Option<f64>,
    /// Whether that was given or measured; else it is an estimate.
    pub max_is_told: bool,
    /// Latency of its memory from its own CPUs (from the nearest, where it has none), as probed.
    pub latency_ns: Option<f64>,
    /// The same on the idle machine.
    pub idle_latency_ns: Option<f64>,
    /// `busy` of the last epochs, the newest last.
    pub busy_history: Vec<Option<f64>>,
    /// The part of `max_bandwidth` of the last epochs.
    pub load_history: Vec<Option<f64>>,
    /// `latency_ns` of the last epochs.
    pub latency_history: Vec<Option<f64>>,
}

impl NodeView {
    /// The part of what can pass its controller that does.
    #[must_use]
    pub fn load(&self) -> Option<f64> {
        let most = self.max_bandwidth.filter(|most| *most > 0.0)?;
        Some(self.bandwidth? / most)
    }
}

/// The latency from CPUs of a node to memory of a node.
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
    /// Whether it is far above idle; where idle is not known, whether the node's own memory is
    /// farther than another's.
    pub congested: bool,
}

/// A last-level cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LlcView {
    /// Its number.
    pub id: LlcId,
    /// The nodes of its CPUs.
    pub nodes: Vec<NodeId>,
    /// How many CPUs share it.
    pub cpus: usize,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// Its ways, where they can be allocated.
    pub ways: Option<u32>,
    /// Threads that run on it.
    pub threads: usize,
    /// Summed misses per 1000 instructions of those, remote ones weighted by their NUMA penalty.
    pub pressure: Option<f64>,
    /// The clusters of its ways, ascending by their first way; empty: all ways for everybody.
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
    /// What passes, derived from misses and where pages are.
    pub bandwidth: f64,
    /// What can pass, an estimate.
    pub max_bandwidth: f64,
}

impl LinkView {
    /// The part of what can pass that does.
    #[must_use]
    pub fn load(&self) -> f64 {
        if self.max_bandwidth > 0.0 { self.bandwidth / self.max_bandwidth } else { 0.0 }
    }
}

/// What kind of program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// By its miss rate: fewer than 2 misses per 1000 instructions (DINO).
    Turtle,
    /// 2 to 100.
    Devil,
    /// More than 100.
    SuperDevil,
    /// By its answer to ways, from a profile or sampling: neither hurts nor is hurt (LFOC).
    LightSharing,
    /// Misses much, whatever its ways.
    Streaming,
    /// Slows down when it has few ways.
    Sensitive,
}

/// A process, or several that are shown as one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProgramView {
    /// Its id; of several the lowest.
    pub pid: Pid,
    /// Its name, as the kernel has it.
    pub name: String,
    /// Its service, container, pod or virtual machine, such as `unit:redis.service`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// How many processes it stands for.
    pub processes: usize,
    /// Whether it is a virtual machine.
    pub is_vm: bool,
    /// Whether the policy decides about it.
    pub managed: bool,
    /// CPUs that it fills.
    pub cpus: Option<f64>,
    /// Its class.
    pub class: Option<Class>,
    /// Instructions a cycle.
    pub ipc: Option<f64>,
    /// LLC misses per 1000 instructions.
    pub mpki: Option<f64>,
    /// Bytes a second to and from memory.
    pub bandwidth: Option<f64>,
    /// Its resident pages by node, in the order of the view's nodes.
    pub pages: Option<Vec<u64>>,
    /// The part of its CPU time on each node, in that order.
    pub runs_on: Option<Vec<f64>>,
    /// The part of its pages on nodes where it does not run.
    pub remote: Option<f64>,
    /// How many times longer it takes than alone with its pages near.
    pub slowdown: Option<f64>,
    /// The part of `slowdown` that others cause.
    pub contention: Option<f64>,
    /// The part of `slowdown` that its remote pages cause.
    pub distance: Option<f64>,
    /// Who slows it down, the greatest first.
    pub harmed_by: Vec<Harm>,
    /// Which programs it slows down, the greatest first.
    pub harms: Vec<Harm>,
    /// The last decision about it.
    pub last: Option<LastAction>,
    /// Its threads, ascending.
    pub threads: Vec<ThreadView>,
}

/// What a neighbour does to a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Harm {
    /// The neighbour, or the program that it harms.
    pub pid: Pid,
    /// Its name, as the kernel has it.
    pub name: String,
    /// By how much faster it would be without it: 0.2 = 20 %.
    pub gain: f64,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThreadView {
    /// Its id.
    pub tid: Tid,
    /// The CPU that it last ran on.
    pub cpu: Option<CpuId>,
    /// The node of that.
    pub node: Option<NodeId>,
    /// The cache of that.
    pub llc: Option<LlcId>,
    /// The part of the epoch that it ran.
    pub cpus: Option<f64>,
    /// As of its process.
    pub class: Option<Class>,
    /// Instructions a cycle.
    pub ipc: Option<f64>,
    /// LLC misses per 1000 instructions.
    pub mpki: Option<f64>,
    /// Bytes a second to and from memory.
    pub bandwidth: Option<f64>,
    /// Whether its owner narrowed its affinity.
    pub pinned: bool,
}

/// The last decision about a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LastAction {
    /// The numbers of its actions, for who wants them taken back; empty in a dry run.
    pub ids: Vec<ActionId>,
    /// Whether all of them were taken back by hand.
    pub taken_back: bool,
    /// When.
    pub time_seconds: f64,
    /// Of which policy.
    pub policy: String,
    /// What, in words: `to node 1`, `4096 pages 0 -> 1`.
    pub words: String,
    /// Why, in the policy's words.
    pub reason: String,
    /// What became of it, in words.
    pub became: String,
    /// Whether it was carried out.
    pub done: bool,
    /// The change that it is part of, by the policy's count.
    pub change: Option<u64>,
    /// The gain that was predicted for the program: 0.1 = 10 % faster.
    pub predicted: Option<f64>,
    /// What was measured of it.
    pub measured: Option<Measured>,
}

/// What was measured of a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The gain of the program; `None` where only that of all together is known.
    pub gain: Option<f64>,
    /// The gain of all programs together.
    pub sum: f64,
    /// Standard error of that.
    pub error: f64,
    /// Whether programs came, went or changed meanwhile.
    pub disturbed: bool,
    /// Whether the change stays.
    pub kept: bool,
}

/// One action of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActionView {
    /// The programs that it is about.
    pub programs: Vec<Pid>,
    /// What, in words.
    pub words: String,
    /// Why, in the policy's words.
    pub reason: String,
    /// What became of it, in words.
    pub became: String,
}

/// What the policy `isobar` would change now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Proposed {
    /// The programs that would move; empty: nothing that pays.
    pub moves: Vec<PlannedMove>,
    /// Predicted gain over all programs, 1 = one program twice as fast.
    pub gain: f64,
}

/// A program that would move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedMove {
    /// The program.
    pub pid: Pid,
    /// Its name, as the kernel has it.
    pub name: String,
    /// Where to, in words: `to node 1 with its pages`.
    pub words: String,
    /// Predicted gain of it.
    pub gain: f64,
}

/// Something that is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// What.
    pub what: String,
    /// Why, in one line with the remedy.
    pub why: String,
}
