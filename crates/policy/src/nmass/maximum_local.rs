//! `maximum-local`: every process at home, as far as there are cores. The policy "is similar to
//! N-MASS, except it does not include the cache-aware refinement step" (section 4.3): it consists
//! of steps 1 and 2 of algorithm 1, see [`super::max_local`].
//!
//! *Properties*: those of step 2; once the first decision is carried out, equal observations move
//! nothing.
//!
//! *Departures from the paper*: those of the folder ([`super`]) and of the steps. A process without
//! a measured penalty is sorted by the estimate of section 4.5, and the notes name it.

use super::config::Config;
use super::scheduler::{NEEDS, PAPER, Scheduler};
use crate::entry::{Entry, Moves, PolicyMaker};

/// Canonical name.
pub const NAME: &str = "maximum-local";

/// The policy. It has no threshold, because there is no refinement.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: PAPER,
    summary: "process to its home node, as far as there are cores",
    moves: Moves::Threads,
    needs: NEEDS,
    make: &PolicyMaker {
        defaults: || Config { threshold_mpki: None, ..Config::default() },
        new: |config| Scheduler::new(NAME, config),
    },
};
