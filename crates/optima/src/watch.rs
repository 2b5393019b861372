//! A search under way: whether it was stopped, how much it has done, what it reports.

use crate::options::{Options, Progress};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many nodes a search counts by itself before it asks here.
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

    /// Counts nodes and asks the caller; `true` = stop.
    pub fn count(&self, nodes: u64) -> bool {
        self.nodes.fetch_add(nodes, Ordering::Relaxed);
        if (self.options.stop)() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.stopped()
    }

    /// Whether the search was stopped. Once true it stays so.
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Ends a search whose budget is too small to prove anything.
    pub fn give_up(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub fn nodes(&self) -> u64 {
        self.nodes.load(Ordering::Relaxed)
    }

    pub fn tell(&self, best: f64, bound: f64) {
        (self.options.progress)(Progress { best, bound, nodes: self.nodes() });
    }
}
