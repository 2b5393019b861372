//! Ranges of the address space of a process, in base pages.

/// Bytes of a base page.
#[must_use]
pub fn base_bytes() -> u64 {
    procfs::page_size()
}

/// Pages with consecutive numbers (address divided by page size), from `start` up to but not
/// including `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageRange {
    /// The first page.
    pub start: u64,
    /// The page after the last.
    pub end: u64,
}

impl PageRange {
    /// The number of pages.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether there are no pages.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.end <= self.start
    }

    /// Whether a page is in it.
    #[must_use]
    pub const fn contains(&self, page: u64) -> bool {
        self.start <= page && page < self.end
    }
}
