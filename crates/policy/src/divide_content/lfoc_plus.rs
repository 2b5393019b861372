//! `lfoc+`: LFOC+ on each LLC separately (Divide&Content, sections II.B and V.A; Saez, Castro,
//! Prieto-Matias: *LFOC+: A Fair OS-Level Cache-Clustering Policy for Commodity Multicore Systems*,
//! IEEE TC 2022).
//!
//! | paper | here |
//! |---|---|
//! | fairness mode, sampling mode | [`Partitioner::is_sampling`] |
//! | sampling partition, complementary partition | clusters `sampling` and `rest` |
//! | light sharing, streaming, cache sensitive | [`isobar_model::CacheClass`] |
//! | slowdown and miss-rate curves, critical point | [`super::profile::Profile`] |
//! | reference thread | [`super::programs::Program::reference`] |
//! | algorithm 1, pair clustering | [`isobar_partition::heuristics::lfoc_plus`] |
//!
//! ```text
//! every epoch, on every LLC:
//!     a program is sampled: take its reading; next size, or its class is clear
//!     no program is sampled, and one waits for a class: begin
//!     sampling: the program in its partition, the others in the rest
//!     else, where programs, threads or classes changed: algorithm 1
//! ```
//!
//! *Properties*: see [`super::partitioner`]. Threads are never moved.
//!
//! *Departures from the paper*
//! 1. The largest sampling partition is read second ([`super::sampling`]).
//! 2. Class transitions are detected from misses per instruction, which contention for bandwidth
//!    does not change, and from an IPC that is too high. The paper's example is a falling LLCMPKC,
//!    but contention lowers that as well ([`super::profile`]).
//! 3. Profiles of earlier phases are kept, and by name those of earlier runs ([`super::programs`]).
//! 4. A program without a profile counts as light-sharing.
//! 5. A program on two LLCs has one profile. It is sampled where its reference thread runs, and
//!    clustered on both.
//! 6. Algorithm 1 runs when something changed, not at fixed times.

use super::config::Config;
use super::partitioner::Partitioner;
use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use isobar_model::{Observation, Outcome, Plan, Policy, Sensor, WayCurves};

/// Canonical name.
pub const NAME: &str = "lfoc+";

/// The paper.
pub const PAPER: &str = "Bilbao et al., Divide&Content: A Fair OS-Level Resource Manager for Contention \
                         Balancing on NUMA Multicores (2023)";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: PAPER,
    summary: "ways of every LLC to clusters of programs, by sampled classes",
    moves: Moves::Nothing,
    needs: &[Sensor::Instructions, Sensor::LlcMisses, Sensor::CacheWays],
    make: &PolicyMaker { defaults: Config::default, new: LfocPlus::new },
};

/// The policy LFOC+.
#[derive(Debug)]
pub struct LfocPlus {
    partitioner: Partitioner,
}

impl LfocPlus {
    /// Takes validated settings.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { partitioner: Partitioner::new(config) }
    }
}

impl Policy for LfocPlus {
    as_registered!();

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = Plan::nothing(NAME);
        self.partitioner.observe(seen);
        for llc in 0..self.partitioner.groups().list.len() {
            self.partitioner.run(llc, seen.time.0, &mut plan.actions);
        }
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.partitioner.applied(plan, outcome);
    }

    fn learnt(&self) -> Vec<WayCurves> {
        self.partitioner.learnt()
    }
}

#[cfg(test)]
#[path = "lfoc_plus_tests.rs"]
mod tests;
