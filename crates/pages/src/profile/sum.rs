//! Sums the slices of a trace: accesses by page and thread, pages in the order of first touch.

use super::index::PageIndex;
use crate::error::PagesError;
use crate::trace::{FirstTouch, Rows, TraceError, View};
use crate::usage::{Page, Usage};
use isobar_model::num;

/// The sum so far. A row has room for more threads than there are, and is laid out anew when one
/// comes for which there is none.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    index: PageIndex,
    pages: Vec<Page>,
    counts: Vec<u64>,
    width: usize,
    threads: usize,
    /// Position of the page whose rows come now, and whether it is new.
    at: usize,
    fresh: bool,
    page: u64,
}

impl Sum {
    pub(super) fn new() -> Self {
        let index = PageIndex::new();
        Self { index, pages: Vec::new(), counts: Vec::new(), width: 4, threads: 0, at: 0, fresh: false, page: 0 }
    }

    /// There is a thread of this number.
    pub(super) fn thread(&mut self, thread: u32) {
        self.threads = self.threads.max(num::index(thread) + 1);
        if self.threads > self.width {
            self.widen(self.threads.next_power_of_two());
        }
    }

    /// Adds a slice.
    pub(super) fn add(&mut self, slice: &View<'_>) -> Result<(), &'static str> {
        for FirstTouch { page, thread } in slice.first()? {
            self.thread(thread);
            self.find(page);
            if self.fresh {
                self.begin(thread);
            }
        }
        slice.show(self)
    }

    /// All accesses.
    pub(super) fn usage(mut self, page_bytes: u64) -> Result<Usage, TraceError> {
        self.thread(0);
        let threads = self.threads;
        if threads > usize::from(u16::MAX) {
            return Err(PagesError::Count("threads").into());
        }
        // Rows move towards the front, so that they can move where they are.
        for at in 0..self.pages.len() {
            self.counts.copy_within(at * self.width..at * self.width + threads, at * threads);
        }
        self.counts.truncate(self.pages.len() * threads);
        Ok(Usage::of(threads, page_bytes, self.pages, self.counts)?)
    }

    fn find(&mut self, page: u64) {
        (self.page, (self.at, self.fresh)) = (page, self.index.position(page));
    }

    /// The page was first touched by this thread.
    fn begin(&mut self, thread: u32) {
        self.pages.push(Page { number: self.page, first: thread });
        self.counts.resize(self.pages.len() * self.width, 0);
        self.fresh = false;
    }

    fn widen(&mut self, width: usize) {
        let mut counts = vec![0; self.pages.len() * width];
        for (row, old) in counts.chunks_exact_mut(width).zip(self.counts.chunks_exact(self.width)) {
            row[..self.width].copy_from_slice(old);
        }
        (self.counts, self.width) = (counts, width);
    }
}

impl Rows for Sum {
    #[inline]
    fn page(&mut self, page: u64) -> Result<(), &'static str> {
        self.find(page);
        Ok(())
    }

    #[inline]
    fn row(&mut self, thread: u32, loads: u64, stores: u64) -> Result<(), &'static str> {
        if num::index(thread) >= self.threads {
            self.thread(thread);
        }
        if self.fresh {
            self.begin(thread);
        }
        let count = &mut self.counts[self.at * self.width + num::index(thread)];
        *count = count.saturating_add(loads.saturating_add(stores));
        Ok(())
    }
}
