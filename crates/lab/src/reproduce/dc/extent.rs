//! How much of the paper's experiments to run.

use crate::reproduce::options::Options;

/// How much to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    /// Number of workloads of platforms A and B; those of B take ten times as long.
    pub workloads: [usize; 2],
    /// Number of mixes of each of the three kinds.
    pub mixes: usize,
    /// Number of launches of each mix under each strategy.
    pub launches: usize,
    /// Approximate time for which a program of a mix runs alone. Our programs are shortened to
    /// about a minute; the paper's are not, and the reference inputs of SPEC CPU take several
    /// minutes on such cores. In a short run the start, when no program is classified yet, has too
    /// much weight.
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
