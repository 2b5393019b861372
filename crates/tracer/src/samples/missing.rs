//! What a trace of samples does not contain.

use isobar_pages::trace::MOST_THREADS;
use std::collections::BTreeSet;

/// Maximum number of children that are named one by one.
const MOST_NAMED: usize = 8;

/// What samples could not show, and what was not sampled.
#[derive(Debug, Default)]
pub struct Missing {
    /// Processes that the program forked.
    pub children: BTreeSet<u32>,
    /// Samples that the kernel dropped because its buffer was full.
    pub lost: u64,
    /// Whether the kernel took fewer samples than it was asked for.
    pub throttled: bool,
    /// Whether there were more threads than a trace can hold.
    pub too_many: bool,
}

impl Missing {
    /// One sentence for each gap; `replaced` says that the process became another program by exec.
    pub fn in_words(&self, replaced: bool) -> Vec<String> {
        let first = self.children.iter().take(MOST_NAMED);
        let mut lines: Vec<String> =
            first.map(|pid| format!("process {pid}, which the program forked, was not followed")).collect();
        let more = self.children.len().saturating_sub(MOST_NAMED);
        lines.extend((more > 0).then(|| format!("{more} more processes that the program forked were not followed")));
        lines.extend(replaced.then(|| "the program that it started by exec was not followed".to_owned()));
        lines.extend(
            (self.lost > 0).then(|| format!("{} samples or more: they came faster than they were read", self.lost)),
        );
        lines.extend(self.throttled.then(|| {
            "samples that the kernel left out because they came too often (kernel.perf_event_max_sample_rate)"
                .to_owned()
        }));
        lines.extend(self.too_many.then(|| format!("threads beyond {MOST_THREADS}")));
        lines
    }
}
