//! The properties of a machine that the equations need: latencies, controllers, links, routes, what
//! its protocol adds to data, and last-level caches, all by position. They are checked when the
//! machine is made. This file knows no topology, no clock and no CPUs.

use crate::queue::{LINE, Resource};
use isobar_model::num;

/// The memory system of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    parts: Parts,
    /// By node: the link directions that a probe passes on its way from this node to all others,
    /// each with the number of those nodes.
    probes: Vec<Vec<(usize, f64)>>,
    /// By node: the link directions that the answers of all other nodes pass on their way to this
    /// node, each with the number of answers.
    answers: Vec<Vec<(usize, f64)>>,
}

/// What a [`Machine`] is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// Seconds of an idle memory access; row = the CPU's node, column = the memory's.
    pub latency: Vec<Vec<f64>>,
    /// The memory controllers of each node, in order, followed by every direction of every link.
    pub resources: Vec<Resource>,
    /// `routes[from][to]`: the link directions that data passes from one node to another, as
    /// positions in `resources`.
    pub routes: Vec<Vec<Vec<usize>>>,
    /// What passes links in addition to lines of data.
    pub packets: Packets,
    /// The last-level caches.
    pub llcs: Vec<Cache>,
}

/// Bytes that pass links for each line read, in addition to the line: requests, and the probes of a
/// coherence protocol that asks every node. If all are 0, links carry data only.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Packets {
    /// A request, and the message that ends the transaction, from the reader's node to the
    /// memory's.
    pub request: f64,
    /// A probe, from the memory's node to every other node, once over each link on the way; 0 if a
    /// directory knows which caches have the line.
    pub probe: f64,
    /// The answer to a probe, to the reader's node from every other node. The answer of the
    /// memory's node comes with the data.
    pub response: f64,
}

/// A last-level cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cache {
    /// Its size.
    pub bytes: f64,
    /// Ways that can be allocated; 1 to 64.
    pub ways: u32,
    /// Bytes of the private cache of each core whose lines are not here too (this cache is a victim
    /// cache); 0: its lines are among those held here.
    pub private: f64,
}

/// Where a thread runs: positions in the machine's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The node of its CPU.
    pub node: usize,
    /// The last-level cache of its CPU.
    pub llc: usize,
}

/// What is wrong with the parts of a machine, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{part}` {problem}")]
pub struct MachineError {
    /// The field of [`Parts`].
    pub part: &'static str,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl Cache {
    /// The mask of all ways.
    #[must_use]
    pub const fn all_ways(self) -> u64 {
        u64::MAX >> (64 - self.ways)
    }

    /// The bytes of a set of ways.
    #[must_use]
    pub fn bytes_of(self, mask: u64) -> f64 {
        self.bytes * f64::from((mask & self.all_ways()).count_ones()) / f64::from(self.ways)
    }
}

impl Machine {
    /// Makes a machine of these parts.
    ///
    /// # Errors
    /// [`MachineError`] if the lists do not fit together, or if a latency, a capacity or a size is
    /// not a positive number.
    pub fn new(parts: Parts) -> Result<Self, MachineError> {
        let nodes = parts.latency.len();
        let cache = |llc: &Cache| (1..=64).contains(&llc.ways) && positive(llc.bytes) && (llc.private >= 0.0);
        let link = |position: &usize| (nodes..parts.resources.len()).contains(position);
        let checks = [
            ("latency", "must have a row and a column for each node", is_square(&parts.latency, nodes)),
            ("latency", "must be positive", parts.latency.iter().flatten().all(|seconds| positive(*seconds))),
            ("resources", "must begin with the controllers of each node", nodes > 0 && parts.resources.len() >= nodes),
            ("resources", "must have positive capacities and delays", parts.resources.iter().all(Resource::is_sound)),
            ("routes", "must lead from each node to each", is_square(&parts.routes, nodes)),
            ("routes", "must pass links that are listed", parts.routes.iter().flatten().flatten().all(link)),
            ("packets", "must have 0 or more bytes each", parts.packets.is_sound()),
            ("llcs", "must have a positive size and 1 to 64 ways", parts.llcs.iter().all(cache)),
        ];
        match checks.into_iter().find(|(_, _, right)| !right) {
            Some((part, problem, _)) => Err(MachineError { part, problem }),
            None => Ok(Self::joined(parts)),
        }
    }

    /// Adds to the parts the ways of probes and answers.
    fn joined(parts: Parts) -> Self {
        let nodes = if parts.packets.probe + parts.packets.response > 0.0 { parts.latency.len() } else { 0 };
        let counted = |routes: &mut dyn Iterator<Item = &Vec<usize>>| {
            let mut links: Vec<_> = routes.flatten().copied().collect();
            links.sort_unstable();
            links.chunk_by(|a, b| a == b).map(|same| (same[0], num::float_len(same.len()))).collect()
        };
        let probes = (0..nodes).map(|from| counted(&mut parts.routes[from].iter())).collect();
        let answers = (0..nodes).map(|to| counted(&mut parts.routes.iter().map(|row| &row[to]))).collect();
        Self { parts, probes, answers }
    }

    /// What it is made of.
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.parts.latency.len()
    }

    /// Seconds of an idle memory access; row = the CPU's node, column = the memory's.
    #[must_use]
    pub fn latency(&self) -> &[Vec<f64>] {
        &self.parts.latency
    }

    /// The memory controllers of each node, followed by every direction of every link.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        &self.parts.resources
    }

    /// The link directions that data passes from one node to another, as positions in
    /// [`Self::resources`].
    #[must_use]
    pub fn route(&self, from: usize, to: usize) -> &[usize] {
        &self.parts.routes[from][to]
    }

    /// Adds the load of requests and probes on links, by position in [`Self::resources`], for
    /// `lines` lines that a node reads from a node's memory.
    pub(crate) fn add_packets(&self, (reader, memory): (usize, usize), lines: f64, on: &mut [f64]) {
        let Packets { request, probe, response } = self.parts.packets;
        let of = |bytes: f64| lines * bytes / LINE;
        self.route(reader, memory).iter().for_each(|link| on[*link] += of(request));
        let Some((probes, answers)) = self.probes.get(memory).zip(self.answers.get(reader)) else { return };
        probes.iter().for_each(|(link, _)| on[*link] += of(probe));
        answers.iter().for_each(|(link, count)| on[*link] += count * of(response));
        self.route(memory, reader).iter().for_each(|link| on[*link] -= of(response));
    }

    /// Adds, `times` times, the ways of a probe to a node and of its answer back, as the mean over
    /// the nodes that are neither the reader's nor the memory's.
    pub(crate) fn add_probe_ways(&self, (reader, memory): (usize, usize), times: f64, on: &mut [f64]) {
        let asked = self.nodes() - if reader == memory { 1 } else { 2 };
        let Some((probes, answers)) = self.probes.get(memory).zip(self.answers.get(reader)) else { return };
        if asked > 0 {
            let each = times / num::float_len(asked);
            probes.iter().chain(answers).for_each(|(link, count)| on[*link] += count * each);
            self.route(memory, reader).iter().for_each(|link| on[*link] -= 2.0 * each);
        }
    }

    /// The last-level caches.
    #[must_use]
    pub fn llcs(&self) -> &[Cache] {
        &self.parts.llcs
    }
}

impl Packets {
    fn is_sound(self) -> bool {
        [self.request, self.probe, self.response].into_iter().all(|bytes| bytes >= 0.0 && bytes.is_finite())
    }
}

fn is_square<T>(rows: &[Vec<T>], nodes: usize) -> bool {
    rows.len() == nodes && rows.iter().all(|row| row.len() == nodes)
}

fn positive(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}
