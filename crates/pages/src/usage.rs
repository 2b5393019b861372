//! Accesses by page and thread, in the order in which pages were first touched, if that order is
//! known.

use crate::error::PagesError;
use isobar_model::num;
use std::collections::BTreeMap;

/// A page that was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its number: address divided by page size.
    pub number: u64,
    /// The thread that touched it first.
    pub first: u32,
}

/// How often each thread accessed each page. Rows are in the order of the first accesses, or in any
/// other order if that is not known (round-robin follows the order of the rows).
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    threads: usize,
    page_bytes: u64,
    pages: Vec<Page>,
    /// Row by row, one count per thread.
    counts: Vec<u64>,
}

impl Usage {
    /// A usage without pages.
    ///
    /// # Errors
    /// No threads, or more than 65,535; a page size that is not a power of two.
    pub fn new(threads: usize, page_bytes: u64) -> Result<Self, PagesError> {
        if !(1..=usize::from(u16::MAX)).contains(&threads) {
            return Err(PagesError::Count("threads"));
        }
        if !page_bytes.is_power_of_two() {
            return Err(PagesError::PageSize { from: 1, to: page_bytes });
        }
        Ok(Self { threads, page_bytes, pages: Vec::new(), counts: Vec::new() })
    }

    /// A usage with these rows, whose number must fit.
    pub(crate) fn of(threads: usize, page_bytes: u64, pages: Vec<Page>, counts: Vec<u64>) -> Result<Self, PagesError> {
        Ok(Self { pages, counts, ..Self::new(threads, page_bytes)? })
    }

    /// Appends a page.
    ///
    /// # Errors
    /// A number of counts that differs from the number of threads; a first touch by a thread that
    /// does not exist.
    pub fn push(&mut self, page: Page, counts: &[u64]) -> Result<(), PagesError> {
        if counts.len() != self.threads {
            return Err(PagesError::Columns { page: page.number, found: counts.len(), threads: self.threads });
        }
        if num::index(page.first) >= self.threads {
            return Err(PagesError::FirstTouch { page: page.number, thread: page.first, threads: self.threads });
        }
        self.pages.push(page);
        self.counts.extend_from_slice(counts);
        Ok(())
    }

    /// Number of threads, which are numbered from 0.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.threads
    }

    /// Bytes of a page.
    #[must_use]
    pub const fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// The pages.
    #[must_use]
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Each page with its accesses by thread.
    pub fn rows(&self) -> impl Iterator<Item = (&Page, &[u64])> {
        self.pages.iter().zip(self.counts.chunks_exact(self.threads))
    }

    /// The accesses by thread of the page at a position.
    #[must_use]
    pub fn row(&self, at: usize) -> &[u64] {
        let from = at * self.threads;
        self.counts.get(from..from + self.threads).unwrap_or_default()
    }

    /// The same accesses at a larger page size (figure 4 of the paper: 4 KiB, 2 MiB, 64 MiB). The
    /// first touch of a large page is that of the first of its small pages to be touched.
    ///
    /// # Errors
    /// A size that is not the present one times a power of two.
    pub fn with_pages_of(&self, bytes: u64) -> Result<Self, PagesError> {
        let wrong = PagesError::PageSize { from: self.page_bytes, to: bytes };
        if !bytes.is_power_of_two() || bytes < self.page_bytes {
            return Err(wrong);
        }
        let shift = bytes.trailing_zeros() - self.page_bytes.trailing_zeros();
        let mut large = Self { page_bytes: bytes, pages: Vec::new(), counts: Vec::new(), ..*self };
        let mut known: BTreeMap<u64, usize> = BTreeMap::new();
        for (page, row) in self.rows() {
            let number = page.number >> shift;
            let at = *known.entry(number).or_insert(large.pages.len());
            if at == large.pages.len() {
                large.pages.push(Page { number, first: page.first });
                large.counts.extend_from_slice(row);
            } else {
                let sums = &mut large.counts[at * self.threads..(at + 1) * self.threads];
                sums.iter_mut().zip(row).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
            }
        }
        Ok(large)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pages_become_large_ones_in_the_order_of_first_touch() {
        let mut usage = Usage::new(2, 4096).unwrap();
        for (number, first, counts) in [(513, 1, [1, 2]), (2, 0, [10, 0]), (512, 0, [3, u64::MAX])] {
            usage.push(Page { number, first }, &counts).unwrap();
        }
        let large = usage.with_pages_of(2 << 20).unwrap();
        assert_eq!(large.pages(), [Page { number: 1, first: 1 }, Page { number: 0, first: 0 }]);
        assert_eq!((large.row(0), large.row(1)), ([4, u64::MAX].as_slice(), [10, 0].as_slice()));
        assert_eq!(usage.with_pages_of(4096).unwrap(), usage);
        let message = usage.with_pages_of(1024).unwrap_err().to_string();
        assert_eq!(
            message,
            "a page of 1024 bytes is not a whole number of pages of 4096 bytes; expected a power of two of at least \
             4096"
        );
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let mut usage = Usage::new(2, 4096).unwrap();
        let message = usage.push(Page { number: 16, first: 0 }, &[1]).unwrap_err().to_string();
        assert_eq!(message, "page 0x10 has 1 counts, but there are 2 threads");
        let message = usage.push(Page { number: 16, first: 2 }, &[1, 1]).unwrap_err().to_string();
        assert_eq!(message, "page 0x10 was first touched by thread 2, but there are 2 threads, numbered from 0");
        assert_eq!(Usage::new(0, 4096).unwrap_err().to_string(), "threads: expected a number from 1 to 65535");
        assert!(usage.pages().is_empty() && usage.row(3).is_empty());
    }
}
