//! How much is changed now, for a thread that watches over the one that acts: if the latter never
//! ends, the former can still say what it leaves behind. It knows counts, not threads.

use super::ledger::Ledger;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The number of threads, resctrl groups, and switches of the kernel that are changed now.
#[derive(Clone, Debug, Default)]
pub struct Outstanding(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    changed: AtomicUsize,
    frees_heirs: AtomicBool,
}

impl Outstanding {
    /// Threads, groups and switches that would have to be put back.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.changed.load(Ordering::SeqCst)
    }

    /// Whether all of them are put back, and what has inherited a mask of ours is still looked for.
    #[must_use]
    pub fn frees_heirs(&self) -> bool {
        self.0.frees_heirs.load(Ordering::SeqCst)
    }

    /// Counts what a ledger holds: once for a plan or a sample, not for each thread.
    pub(super) fn set(&self, ledger: &Ledger) {
        let threads: usize = ledger.processes.values().map(|process| process.threads.len()).sum();
        let groups = ledger.resctrl.as_ref().map_or(0, |record| record.groups.len());
        let switches = usize::from(ledger.balancing.is_some()) + usize::from(ledger.weights.is_some());
        self.0.changed.store(threads + groups + switches, Ordering::SeqCst);
    }

    /// One thread less has to be put back. Only the thread that acts writes the count.
    pub(super) fn settle_one(&self) {
        self.0.changed.store(self.count().saturating_sub(1), Ordering::SeqCst);
    }

    /// What has inherited a mask of ours is being looked for, or is not any more.
    pub(super) fn set_frees_heirs(&self, now: bool) {
        self.0.frees_heirs.store(now, Ordering::SeqCst);
    }
}
