//! `linux`: the stock scheduler. The policy decides nothing. On a live machine that makes `manage`
//! a pure observer; in the simulator it leaves threads where the model of the stock scheduler put
//! them.

use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::settings::NoSettings;
use isobar_model::{Observation, Plan, Policy};

/// Canonical name.
pub const NAME: &str = "linux";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: "baseline",
    summary: "decides nothing: the stock scheduler",
    moves: Moves::Nothing,
    needs: &[],
    make: &PolicyMaker { defaults: NoSettings::default, new: |_| Linux },
};

/// The policy that leaves everything to the kernel.
#[derive(Debug, Default)]
pub struct Linux;

impl Policy for Linux {
    as_registered!();

    fn decide(&mut self, _: &Observation) -> Plan {
        Plan::nothing(NAME)
    }
}
