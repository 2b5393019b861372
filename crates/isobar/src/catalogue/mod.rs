//! Shows what ships with the simulator, to a person in a terminal and as JSON: machines, programs
//! and their curves. It holds the facts as plain numbers and knows how to lay them out. Reading
//! them from the simulator is left to [`facts`].

mod draw;
pub mod facts;
mod plot;

pub use draw::{list, machine, program};

use isobar_sim::solo::Solo;
use serde::Serialize;

/// Everything that ships.
#[derive(Clone, Debug, Serialize)]
pub struct Catalogue {
    /// ascending by name
    pub machines: Vec<MachineLine>,
    /// suite by suite
    pub programs: Vec<ProgramLine>,
}

/// A machine in a list.
#[derive(Clone, Debug, Serialize)]
pub struct MachineLine {
    /// its name
    pub name: String,
    /// what it is, in a sentence
    pub title: String,
    /// NUMA nodes
    pub nodes: usize,
    /// last-level caches
    pub llcs: usize,
    /// CPUs in all
    pub cpus: usize,
    /// size of the first LLC
    pub llc_bytes: Option<u64>,
    /// ways of that LLC
    pub ways: Option<u32>,
}

/// A program in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramLine {
    /// its name
    pub name: String,
    /// its suite
    pub suite: String,
    /// the machine on which it was run alone
    pub machine: String,
    /// its class by the DINO paper; null if the run alone does not end
    pub class: Option<&'static str>,
    /// its figures in a run alone on that machine
    #[serde(flatten)]
    pub solo: Option<Solo>,
    /// threads unless a workload says otherwise
    pub threads: u32,
    /// phases; 0 = steady
    pub phases: u32,
}

/// A machine in full.
#[derive(Clone, Debug, Serialize)]
pub struct MachineFacts {
    /// its name
    pub name: String,
    /// what it is, in a sentence
    pub title: String,
    /// cycles a second
    pub clock_hertz: f64,
    /// nodes, LLCs and CPUs, as `isobar topo` draws them
    #[serde(skip)]
    pub drawing: String,
    /// the same, as `isobar topo --json`
    pub topology: serde_json::Value,
    /// from node, to node, bandwidth in bytes a second
    pub links: Vec<(u32, u32, f64)>,
    /// node ids of rows and columns of `latency_ns`
    pub node_ids: Vec<u32>,
    /// idle latency, row = CPU's node
    pub latency_ns: Vec<Vec<f64>>,
    /// the node with the lowest latency from the first node, other than the first
    pub remote_node: Option<u32>,
    /// latency against load, from CPUs of the first node
    pub load: Vec<Load>,
    /// the file, with its sources
    #[serde(skip)]
    pub text: String,
}

/// Latencies at one load.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Load {
    /// the load, as a fraction of the bandwidth of the node's memory controllers
    pub utilisation: f64,
    /// the load in bytes a second
    pub bandwidth: f64,
    /// latency of the node's own memory; null if the controllers are saturated
    pub local_ns: Option<f64>,
    /// latency of `remote_node`'s memory at the same load; null if a link is saturated, or there is
    /// no other node
    pub remote_ns: Option<f64>,
}

/// A program in full.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramFacts {
    /// its name
    pub name: String,
    /// its suite; null for a user's own
    pub suite: Option<String>,
    /// the machine on which it was run alone
    pub machine: String,
    /// size of that machine's LLC
    pub llc_bytes: f64,
    /// its class by the DINO paper; null if the run alone does not end
    pub class: Option<&'static str>,
    /// its figures in a run alone on that machine
    pub solo: Option<Solo>,
    /// cycles an instruction without LLC misses
    pub base_cpi: f64,
    /// misses in flight at the same time
    pub mlp: f64,
    /// lines that prefetchers fetch for each miss, besides the missed line
    pub prefetch: f64,
    /// lines written back for each line read
    pub write_back: f64,
    /// resident memory, all threads
    pub footprint_bytes: f64,
    /// threads unless a workload says otherwise
    pub threads: u32,
    /// fraction of pages and accesses that all threads share
    pub shared: f64,
    /// phases, repeated in order; empty for a steady program
    pub phases: Vec<Phase>,
    /// misses over LLC space, as the model uses them
    pub curve: Vec<Point>,
    /// misses by number of ways as measured; null if the curve is given by parameters
    pub measured: Option<Measured>,
    /// remarks on the numbers
    pub notes: Vec<String>,
    /// its section of the shipped file, with sources; none for a user's own
    #[serde(skip)]
    pub text: Option<String>,
}

/// A stretch of execution.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Phase {
    /// its length
    pub instructions: f64,
    /// factor on misses
    pub mpki_factor: f64,
}

/// A point of a miss curve.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    /// LLC space
    pub bytes: f64,
    /// misses per 1000 instructions
    pub mpki: f64,
}

/// A measured curve.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// size of a way of the cache it was measured on
    pub way_bytes: f64,
    /// one way first
    pub mpki_by_ways: Vec<f64>,
}
