//! Detects strides in a thread's accesses, as a hardware prefetcher does. Memory is watched in
//! regions of 4 MiB, each with the page that was last accessed, the distance to the page before,
//! and how often that distance was repeated.
//!
//! The detector sees every access, sampled or not. This is more than a daemon could see, so the
//! pattern strategy is judged at its best.

use isobar_model::num;

/// Pages of a region, as a power of two: 1024 pages, 4 MiB.
const REGION: u32 = 10;
/// A distance that was repeated this often is a pattern, as in stride prefetchers.
const SURE: u8 = 2;

/// The prefetcher's table, for all threads.
#[derive(Clone, Debug)]
pub(super) struct Detector {
    regions: usize,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    page: u32,
    stride: i64,
    seen: u8,
}

impl Detector {
    pub(super) fn new(pages: u32, threads: u16) -> Self {
        let regions = num::index(pages >> REGION) + 1;
        Self { regions, entries: vec![Entry::default(); regions * usize::from(threads.max(1))] }
    }

    /// Records an access; several accesses to one page in a row count as one.
    pub(super) fn see(&mut self, thread: u16, page: u32) {
        let at = self.at(thread, page);
        let entry = &mut self.entries[at];
        let stride = i64::from(page) - i64::from(entry.page);
        if stride == 0 {
            return;
        }
        entry.seen = if stride == entry.stride { entry.seen.saturating_add(1) } else { 0 };
        entry.stride = stride;
        entry.page = page;
    }

    /// The stride of a thread's accesses around a page, if there is one.
    pub(super) fn stride(&self, thread: u16, page: u32) -> Option<i64> {
        let entry = self.entries[self.at(thread, page)];
        (entry.seen >= SURE).then_some(entry.stride)
    }

    fn at(&self, thread: u16, page: u32) -> usize {
        usize::from(thread) * self.regions + num::index(page >> REGION)
    }
}

#[cfg(test)]
mod tests {
    use super::Detector;

    fn after(pages: &[u32]) -> Option<i64> {
        let mut detector = Detector::new(5000, 1);
        pages.iter().for_each(|page| detector.see(0, *page));
        detector.stride(0, *pages.last().unwrap())
    }

    #[test]
    fn a_stride_that_comes_three_times_is_a_pattern() {
        assert_eq!(after(&[10, 10, 13, 13, 16, 19]), Some(3));
        assert_eq!(after(&[10, 13, 16]), None);
        assert_eq!(after(&[20, 18, 16, 14]), Some(-2));
        assert_eq!(after(&[10, 13, 16, 19, 21]), None);
    }

    #[test]
    fn regions_and_threads_are_watched_apart() {
        assert_eq!(after(&[10, 4000, 11, 3900, 12, 3950, 13]), Some(1));
        let mut two = Detector::new(100, 2);
        [1, 2, 3, 4].iter().for_each(|page| {
            two.see(0, *page);
            two.see(1, 50);
        });
        assert_eq!((two.stride(0, 4), two.stride(1, 50)), (Some(1), None));
    }
}
