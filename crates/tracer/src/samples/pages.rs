//! Which pages were touched, and of which the kernel is asked next where they are.

use std::collections::BTreeSet;

/// How often all pages are asked for again, nanoseconds: they may have moved.
pub const AGAIN_NS: u64 = 1_000_000_000;

/// The pages that samples were of.
#[derive(Debug, Default)]
pub struct Pages {
    touched: BTreeSet<u64>,
    /// Touched since the kernel was last asked where pages are.
    new: BTreeSet<u64>,
    /// When all were last asked for, nanoseconds.
    asked: u64,
}

impl Pages {
    /// Notes that a page was touched; whether that was the first time.
    pub fn is_first(&mut self, page: u64) -> bool {
        let first = self.touched.insert(page);
        if first {
            self.new.insert(page);
        }
        first
    }

    /// The pages to ask for at this time, nanoseconds: those that are new, once a second all. None
    /// of them is new afterwards.
    pub fn take_next(&mut self, now: u64) -> Vec<u64> {
        let new = std::mem::take(&mut self.new);
        if now.saturating_sub(self.asked) < AGAIN_NS {
            return new.into_iter().collect();
        }
        // Without a page nothing was asked.
        if !self.touched.is_empty() {
            self.asked = now;
        }
        self.touched.iter().copied().collect()
    }
}
