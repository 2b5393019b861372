//! The state of a running search: whether it was stopped, how much work it has done, and its
//! reports.

use crate::options::{Options, Progress};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Number of nodes that a search counts by itself before it calls `Watch::count`.
pub(crate) const STRIDE: u64 = 4096;

pub(crate) struct Watch<'a> {
    options: &'a Options<'a>,
    stopped: AtomicBool,
    nodes: AtomicU64,
}

impl<'a> Watch<'a> {
    pub fn new(options: &'a Options<'a>) -> Self {
        Self { options, stopped: AtomicBool::new(false), nodes: AtomicU64::new(0) }
    }

    /// Adds nodes and asks the caller whether to stop; `true` = stop.
    pub fn count(&self, nodes: u64) -> bool {
        self.nodes.fetch_add(nodes, Ordering::Relaxed);
        if (self.options.stop)() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.stopped()
    }

    /// Whether the search was stopped. Once true, it stays true.
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Stops a search that is too large to prove anything.
    pub fn give_up(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub fn nodes(&self) -> u64 {
        self.nodes.load(Ordering::Relaxed)
    }

    pub fn report(&self, best: f64, bound: f64) {
        (self.options.progress)(Progress { best, bound, nodes: self.nodes() });
    }
}
