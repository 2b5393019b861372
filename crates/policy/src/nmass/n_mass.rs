//! `n-mass`: every process at home, as far as that does not crowd a cache (algorithm 1). Penalties
//! are measured: "if not stated otherwise, N-MASS denotes the version of the algorithm that has
//! perfect information about the NUMA penalty of the programs from profile-based program traces"
//! (section 4.3).
//!
//! *Properties*: those of the steps ([`super::max_local`], [`super::refine`]); balanced memory
//! gives the same mapping as `maximum-local`; once the first decision is carried out, equal
//! observations move nothing.
//!
//! *Departures from the paper*: those of the folder ([`super`]) and of the steps. A process without
//! a measured penalty gets the estimate of section 4.5 ("if the NUMA penalty cannot be obtained
//! directly, the MPKI offers a reasonable approximation"), and the notes name it.

use super::config::Config;
use super::scheduler::{NEEDS, PAPER, Scheduler};
use crate::entry::{Entry, Moves, PolicyMaker};

/// Canonical name.
pub const NAME: &str = "n-mass";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: PAPER,
    summary: "process to its home node, unless that crowds a cache",
    moves: Moves::Threads,
    needs: NEEDS,
    make: &PolicyMaker { defaults: Config::default, new: |config| Scheduler::new(NAME, config) },
};
