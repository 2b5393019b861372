//! How much of the paper's experiments is run.

use crate::reproduce::options::Options;

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    /// Workloads of platforms A and B; those of B take ten times as long.
    pub workloads: [usize; 2],
    /// Mixes of each of the three kinds.
    pub mixes: usize,
    /// Launches of each mix under each strategy.
    pub launches: usize,
    /// How long a program of a mix runs alone, about. Programs are shortened to about a minute; the
    /// paper's are not, and the reference inputs of SPEC CPU take some minutes on such cores. A
    /// short run counts its start, when no program is classified yet, for more than it is.
    pub minutes: f64,
}

/// As in the paper: 240 workloads, 30 mixes, "launched 10 times under each strategy" (sections IV
/// and VI-A).
const PAPER: Extent = Extent { workloads: [120, 120], mixes: 10, launches: 10, minutes: 5.0 };
const QUICK: Extent = Extent { workloads: [10, 3], mixes: 2, launches: 3, minutes: 1.5 };

impl Extent {
    pub const fn of(options: &Options) -> Self {
        if options.quick { QUICK } else { PAPER }
    }
}
