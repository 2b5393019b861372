//! The machine-specific behaviour of the kernel's load balancer: whether it moves threads to other
//! nodes, how often, and whether it rotates threads when there are more threads than CPUs. The
//! section is optional: a machine without `[linux]` does neither. The rates follow from the rules
//! of a kernel in `docs/design/simulator.md`; `host/strays.rs` and `host/rotation.rs` apply them.

use crate::error::{SimError, within};
use serde::Deserialize;

/// Seconds between two looks at whether a thread strays. This is the shortest interval at which a
/// busy CPU of Linux 2.6.29 balances nodes (`min_interval` of 8 ms times `busy_factor` of 32,
/// `SD_NODE_INIT` in `arch/x86/include/asm/topology.h`).
pub(crate) const CHECK: f64 = 0.256;

/// A number that no source prints, with the lowest and highest plausible values.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimated {
    /// The value that is used.
    pub value: f64,
    /// The lowest plausible value.
    pub low: f64,
    /// The highest plausible value.
    pub high: f64,
}

/// The section `[linux]` of a machine file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Linux {
    /// How often per second two threads of different nodes exchange places, on a machine whose CPUs
    /// all run a thread that no plan has bound; `None`: never.
    pub strays_per_s: Option<Estimated>,
    /// Whether threads take turns on all CPUs of a cache when they outnumber these CPUs.
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

    /// The probability that a thread strays at a look if all threads can.
    pub(crate) fn chance(&self) -> f64 {
        self.strays_per_s.map_or(0.0, |strays| strays.value * CHECK)
    }
}
