//! Counts how much is changed now, for a thread that watches the acting thread. If the acting
//! thread never ends, the watching thread can still say how much is left behind. It knows counts,
//! not threads.

use super::ledger::Ledger;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The number of threads, resctrl groups and kernel switches that are changed now.
#[derive(Clone, Debug, Default)]
pub struct Outstanding(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    changed: AtomicUsize,
    frees_heirs: AtomicBool,
}

impl Outstanding {
    /// Number of threads, groups and switches that would have to be put back.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.changed.load(Ordering::SeqCst)
    }

    /// Whether all of them are put back, and tasks that inherited a mask of ours are still being
    /// looked for.
    #[must_use]
    pub fn frees_heirs(&self) -> bool {
        self.0.frees_heirs.load(Ordering::SeqCst)
    }

    /// Counts what a ledger holds. It is called once for each plan or sample, not for each thread.
    pub(super) fn set(&self, ledger: &Ledger) {
        let threads: usize = ledger.processes.values().map(|process| process.threads.len()).sum();
        let groups = ledger.resctrl.as_ref().map_or(0, |record| record.groups.len());
        let switches = usize::from(ledger.balancing.is_some()) + usize::from(ledger.weights.is_some());
        self.0.changed.store(threads + groups + switches, Ordering::SeqCst);
    }

    /// One thread fewer has to be put back. Only the acting thread writes the count.
    pub(super) fn settle_one(&self) {
        self.0.changed.store(self.count().saturating_sub(1), Ordering::SeqCst);
    }

    /// Notes whether tasks that inherited a mask of ours are being looked for now.
    pub(super) fn set_frees_heirs(&self, now: bool) {
        self.0.frees_heirs.store(now, Ordering::SeqCst);
    }
}
