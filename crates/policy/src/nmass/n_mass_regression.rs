//! `n-mass-regression`: N-MASS that knows no measured NUMA penalties: "instead, we estimate the
//! NUMA penalty based on the MPKI rate" (section 4.5). Penalties in the observation are not looked
//! at.
//!
//! *Properties*: as [`super::n_mass`].
//!
//! *Departures from the paper*: as [`super::n_mass`], but for the last; and the two numbers of the
//! regression ([`super::penalty`]).

use super::config::Config;
use super::scheduler::{NEEDS, PAPER, Scheduler};
use crate::entry::{Entry, Moves, Of};

/// Canonical name.
pub const NAME: &str = "n-mass-regression";

/// The policy: no measured penalties.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: PAPER,
    summary: "n-mass with NUMA penalties estimated from miss rates",
    moves: Moves::Threads,
    needs: NEEDS,
    make: &Of {
        defaults: || Config { penalties: None, profile: None, ..Config::default() },
        new: |config| Scheduler::new(NAME, config),
    },
};
