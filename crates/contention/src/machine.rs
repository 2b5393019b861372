//! What the equations need of a machine: latencies, controllers, links, routes and last-level
//! caches, all by position. Checked when made. It knows no topology, no clock and no CPUs.

use crate::queue::Resource;

/// The memory system of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine(Parts);

/// What a [`Machine`] is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// Seconds of an idle memory access; row = the CPU's node, column = the memory's.
    pub latency: Vec<Vec<f64>>,
    /// The memory controllers of each node, in order, then every direction of every link.
    pub resources: Vec<Resource>,
    /// `routes[from][to]`: the link directions that data passes from a node to a node, as positions
    /// in `resources`.
    pub routes: Vec<Vec<Vec<usize>>>,
    /// The last-level caches.
    pub llcs: Vec<Cache>,
}

/// A last-level cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cache {
    /// Its size.
    pub bytes: f64,
    /// Ways that can be allocated; 1 to 64.
    pub ways: u32,
    /// Bytes of the private cache of each core whose lines are not here too (this one is a victim
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
    /// Every way.
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
    /// A machine of these parts.
    ///
    /// # Errors
    /// [`MachineError`] where the lists do not fit together, or a latency, a capacity or a size is
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
            ("llcs", "must have a positive size and 1 to 64 ways", parts.llcs.iter().all(cache)),
        ];
        match checks.into_iter().find(|(_, _, right)| !right) {
            Some((part, problem, _)) => Err(MachineError { part, problem }),
            None => Ok(Self(parts)),
        }
    }

    /// What it is made of.
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.0
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.0.latency.len()
    }

    /// Seconds of an idle memory access; row = the CPU's node, column = the memory's.
    #[must_use]
    pub fn latency(&self) -> &[Vec<f64>] {
        &self.0.latency
    }

    /// The memory controllers of each node, then every direction of every link.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        &self.0.resources
    }

    /// The link directions that data passes from a node to a node, as positions among
    /// [`Self::resources`].
    #[must_use]
    pub fn route(&self, from: usize, to: usize) -> &[usize] {
        &self.0.routes[from][to]
    }

    /// The last-level caches.
    #[must_use]
    pub fn llcs(&self) -> &[Cache] {
        &self.0.llcs
    }
}

fn is_square<T>(rows: &[Vec<T>], nodes: usize) -> bool {
    rows.len() == nodes && rows.iter().all(|row| row.len() == nodes)
}

fn positive(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}
