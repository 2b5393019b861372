//! What the load balancer of a machine's kernel does beside what is the same everywhere: whether it
//! carries threads to other nodes, how often, and whether it rotates threads where there are more
//! than CPUs. Optional: a machine without `[linux]` does neither. The rates follow from the rules
//! of a kernel in `docs/design/simulator.md`; `host/strays.rs` and `host/rotation.rs` act on them.

use crate::error::{SimError, within};
use serde::Deserialize;

/// Seconds between two looks at whether a thread strays: the shortest interval at which a busy CPU
/// of Linux 2.6.29 balances nodes (`min_interval` of 8 ms times `busy_factor` of 32, `SD_NODE_INIT`
/// in `arch/x86/include/asm/topology.h`).
pub(crate) const CHECK: f64 = 0.256;

/// A number that no source prints, with the least and the most that it can be.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimated {
    /// What is taken.
    pub value: f64,
    /// The least that it can be.
    pub low: f64,
    /// The most that it can be.
    pub high: f64,
}

/// `[linux]` of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Linux {
    /// How often two threads of different nodes exchange places, a second, on a machine whose CPUs
    /// all have one that no plan has bound; `None`: never.
    pub strays_per_s: Option<Estimated>,
    /// Whether threads that are more than the CPUs of a cache take turns on all of them.
    pub rotates: bool,
}

impl Linux {
    pub(crate) fn validate(&self, file: &str) -> Result<(), SimError> {
        let Some(Estimated { value, low, high }) = self.strays_per_s else { return Ok(()) };
        for rate in [value, low, high] {
            within(file, "linux.strays_per_s", rate, 0.0..=1.0 / CHECK)?;
        }
        let problem = || SimError::value(file, "linux.strays_per_s", "needs low <= value <= high");
        (low <= value && value <= high).then_some(()).ok_or_else(problem)
    }

    /// How likely a thread strays at a look where all can.
    pub(crate) fn chance(&self) -> f64 {
        self.strays_per_s.map_or(0.0, |strays| strays.value * CHECK)
    }
}
