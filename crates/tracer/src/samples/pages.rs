//! Which pages were touched, and which pages to ask the kernel about next.

use std::collections::BTreeSet;

/// How often to ask about all pages again, in nanoseconds, because they may have moved.
pub const AGAIN_NS: u64 = 1_000_000_000;

/// The pages that appeared in samples.
#[derive(Debug, Default)]
pub struct Pages {
    touched: BTreeSet<u64>,
    /// Pages touched since the kernel was last asked.
    new: BTreeSet<u64>,
    /// When the kernel was last asked about all pages, in nanoseconds.
    asked: u64,
}

impl Pages {
    /// Notes that a page was touched; returns whether that was the first time.
    pub fn is_first(&mut self, page: u64) -> bool {
        let first = self.touched.insert(page);
        if first {
            self.new.insert(page);
        }
        first
    }

    /// The pages to ask about at this time (nanoseconds): the new pages, or once a second all
    /// pages. No page counts as new afterwards.
    pub fn take_next(&mut self, now: u64) -> Vec<u64> {
        let new = std::mem::take(&mut self.new);
        if now.saturating_sub(self.asked) < AGAIN_NS {
            return new.into_iter().collect();
        }
        // If there are no pages, nothing was asked.
        if !self.touched.is_empty() {
            self.asked = now;
        }
        self.touched.iter().copied().collect()
    }
}
