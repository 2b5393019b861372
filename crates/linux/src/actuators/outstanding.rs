//! How much is changed now, for a thread that watches over the one that acts: if the latter never
//! ends, the former can still say what it leaves behind. It knows counts, not threads.

use super::ledger::Ledger;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of threads, resctrl groups, and switches of the kernel that are changed now.
#[derive(Clone, Debug, Default)]
pub struct Outstanding(Arc<AtomicUsize>);

impl Outstanding {
    /// Threads, groups and switches that would have to be put back.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Counts what a ledger holds: once for a plan or a sample, not for each thread.
    pub(super) fn set(&self, ledger: &Ledger) {
        let threads: usize = ledger.processes.values().map(|process| process.threads.len()).sum();
        let groups = ledger.resctrl.as_ref().map_or(0, |record| record.groups.len());
        let switches = usize::from(ledger.balancing.is_some()) + usize::from(ledger.weights.is_some());
        self.0.store(threads + groups + switches, Ordering::SeqCst);
    }

    /// One thread less has to be put back. Only the thread that acts writes the count.
    pub(super) fn settle_one(&self) {
        self.0.store(self.count().saturating_sub(1), Ordering::SeqCst);
    }
}
