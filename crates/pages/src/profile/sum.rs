//! Sums the slices of a trace: accesses by page and thread, pages in the order of first touch.

use super::index::PageIndex;
use crate::error::PagesError;
use crate::trace::{FirstTouch, Rows, TraceError, View};
use crate::usage::{Page, Usage};
use isobar_model::num;

/// Maximum number of counts of a profile, pages times threads: 16 GiB.
pub const MOST_COUNTS: usize = 1 << 31;
const FULL: &str = "pages times threads are more than 2^31 counts, which need more than 16 GiB";

/// The sum so far. A row has space for more threads than there are, and all rows are laid out again
/// when a thread comes for which there is no space.
#[derive(Clone, Debug)]
pub struct Sum {
    index: PageIndex,
    pages: Vec<Page>,
    counts: Vec<u64>,
    width: usize,
    threads: usize,
    /// Position of the page to which the following rows belong, and whether this page is new.
    at: usize,
    fresh: bool,
    page: u64,
    most: usize,
}

impl Sum {
    pub fn new() -> Self {
        Self::of_most(MOST_COUNTS)
    }

    /// An empty sum with a limit on counts.
    pub fn of_most(most: usize) -> Self {
        let index = PageIndex::new();
        Self { index, pages: Vec::new(), counts: Vec::new(), width: 4, threads: 0, at: 0, fresh: false, page: 0, most }
    }

    /// Makes space for a thread of this number.
    pub fn thread(&mut self, thread: u32) -> Result<(), &'static str> {
        self.threads = self.threads.max(num::index(thread) + 1);
        if self.threads > self.width { self.widen(self.threads.next_power_of_two()) } else { Ok(()) }
    }

    /// The position of a page, to which the following rows belong. If the page is new, this thread
    /// touched it first.
    pub fn touch(&mut self, page: u64, thread: u32) -> Result<usize, &'static str> {
        if num::index(thread) >= self.threads {
            self.thread(thread)?;
        }
        self.find(page);
        if self.fresh {
            self.begin(thread)?;
        }
        Ok(self.at)
    }

    /// Adds a slice.
    pub fn add(&mut self, slice: &View<'_>) -> Result<(), &'static str> {
        for FirstTouch { page, thread } in slice.first()? {
            self.touch(page, thread)?;
        }
        slice.show(self)
    }

    /// The usage of all slices added.
    pub fn usage(mut self, page_bytes: u64) -> Result<Usage, TraceError> {
        let threads = self.threads.max(1);
        if threads > usize::from(u16::MAX) {
            return Err(PagesError::Count("threads").into());
        }
        // Rows only move towards the front, so they can be moved in place.
        for at in 0..self.pages.len() {
            self.counts.copy_within(at * self.width..at * self.width + threads, at * threads);
        }
        self.counts.truncate(self.pages.len() * threads);
        Ok(Usage::of(threads, page_bytes, self.pages, self.counts)?)
    }

    #[inline]
    fn find(&mut self, page: u64) {
        // Neighbouring pages were usually touched one after the other, and come in that order
        // again.
        let next = self.at + 1;
        if self.pages.get(next).is_some_and(|known| known.number == page) {
            (self.page, self.at, self.fresh) = (page, next, false);
        } else {
            (self.page, (self.at, self.fresh)) = (page, self.index.position(page));
        }
    }

    /// Adds the accesses of all threads, from thread 0 on, to the page that was found last.
    pub fn whole_row(&mut self, counts: &[u64]) -> Result<(), &'static str> {
        for thread in self.threads..counts.len() {
            self.thread(num::narrow(thread))?;
        }
        let from = self.at * self.width;
        let sums = &mut self.counts[from..from + counts.len()];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        Ok(())
    }

    /// Appends the new page, first touched by this thread.
    fn begin(&mut self, thread: u32) -> Result<(), &'static str> {
        self.fits(self.pages.len() + 1, self.width)?;
        self.pages.push(Page { number: self.page, first: thread });
        self.counts.resize(self.pages.len() * self.width, 0);
        self.fresh = false;
        Ok(())
    }

    fn fits(&self, pages: usize, width: usize) -> Result<(), &'static str> {
        if pages.saturating_mul(width) <= self.most { Ok(()) } else { Err(FULL) }
    }

    fn widen(&mut self, width: usize) -> Result<(), &'static str> {
        self.fits(self.pages.len(), width)?;
        let mut counts = vec![0; self.pages.len() * width];
        for (row, old) in counts.chunks_exact_mut(width).zip(self.counts.chunks_exact(self.width)) {
            row[..self.width].copy_from_slice(old);
        }
        (self.counts, self.width) = (counts, width);
        Ok(())
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
            self.thread(thread)?;
        }
        if self.fresh {
            self.begin(thread)?;
        }
        let count = &mut self.counts[self.at * self.width + num::index(thread)];
        *count = count.saturating_add(loads.saturating_add(stores));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_bounded_before_they_take_memory() {
        let mut sum = Sum::of_most(1024);
        sum.touch(1, 0).unwrap();
        assert_eq!(sum.row(60_000, 1, 0), Err(FULL));
        let mut sum = Sum::of_most(8);
        assert_eq!([1, 2, 3].map(|page| sum.touch(page, 0)), [Ok(0), Ok(1), Err(FULL)]);
    }
}
