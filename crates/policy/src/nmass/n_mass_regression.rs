//! `n-mass-regression`: N-MASS without measured NUMA penalties: "instead, we estimate the NUMA
//! penalty based on the MPKI rate" (section 4.5). Penalties in the observation are ignored.
//!
//! *Properties*: those of [`super::n_mass`].
//!
//! *Departures from the paper*: those of [`super::n_mass`] except the last, and the two numbers of
//! the regression ([`super::penalty`]).

use super::config::Config;
use super::scheduler::{NEEDS, PAPER, Scheduler};
use crate::entry::{Entry, Moves, PolicyMaker};

/// Canonical name.
pub const NAME: &str = "n-mass-regression";

/// The policy, without measured penalties.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: PAPER,
    summary: "n-mass with NUMA penalties estimated from miss rates",
    moves: Moves::Threads,
    needs: NEEDS,
    make: &PolicyMaker {
        defaults: || Config { penalties: None, profile: None, ..Config::default() },
        new: |config| Scheduler::new(NAME, config),
    },
};
