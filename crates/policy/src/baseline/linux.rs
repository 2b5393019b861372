//! `linux`: the stock scheduler. It decides nothing; on a live machine that makes `manage` a pure observer, in the
//! simulator it leaves threads where the model of the stock scheduler put them.

use isobar_model::{Observation, Plan, Policy, Sensor};

/// Canonical name.
pub const NAME: &str = "linux";

/// The policy that leaves everything to the kernel.
#[derive(Debug, Default)]
pub struct Linux;

impl Policy for Linux {
    fn name(&self) -> &'static str {
        NAME
    }

    fn needs(&self) -> &'static [Sensor] {
        &[]
    }

    fn decide(&mut self, _: &Observation) -> Plan {
        Plan::nothing(NAME)
    }
}
