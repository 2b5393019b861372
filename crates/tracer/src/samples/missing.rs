//! What a trace of samples does not hold.

use isobar_pages::trace::MOST_THREADS;
use std::collections::BTreeSet;

/// Most children that are named one by one.
const MOST_NAMED: usize = 8;

/// What samples could not tell, or were not taken of.
#[derive(Debug, Default)]
pub struct Missing {
    /// Processes that the program forked.
    pub children: BTreeSet<u32>,
    /// Samples that the kernel had no room for.
    pub lost: u64,
    /// The kernel took fewer than it was asked for.
    pub throttled: bool,
    /// There were more threads than a trace holds.
    pub too_many: bool,
}

impl Missing {
    /// A sentence each; `replaced`: by exec the program became another.
    pub fn told(&self, replaced: bool) -> Vec<String> {
        let first = self.children.iter().take(MOST_NAMED);
        let mut told: Vec<String> =
            first.map(|pid| format!("process {pid}, which the program forked, was not followed")).collect();
        let more = self.children.len().saturating_sub(MOST_NAMED);
        told.extend((more > 0).then(|| format!("{more} processes more, which the program forked, were not followed")));
        told.extend(replaced.then(|| "what the program became by exec was not followed".to_owned()));
        told.extend(
            (self.lost > 0).then(|| format!("{} samples or more: they came faster than they were read", self.lost)),
        );
        told.extend(self.throttled.then(|| {
            "samples that the kernel left out, as they came too often (kernel.perf_event_max_sample_rate)".to_owned()
        }));
        told.extend(self.too_many.then(|| format!("threads beyond {MOST_THREADS}")));
        told
    }
}
