//! How much of a memory that is read in a fixed cycle misses a cache of least-recently-used sets. A
//! line of a cycle is used again after all others of its set: it hits where the set has a way for
//! each, else it misses always.
//!
//! Which sets a page's lines lie in follows from its place in physical memory: pages have as many
//! colours as a way of the cache has pages. Programs of these laws get as many pages of each colour
//! (`chase --colours`, numasim/programs/colours.h), whatever the kernel hands out: of `P` pages in
//! `k` colours, `P mod k` colours have `P / k + 1` pages, the others `P / k`.

use numasim_model::{Llc, num};

/// Lines of a page.
const PAGE_LINES: u32 = 64;

/// Colours of pages in a cache; none where a page's lines do not always lie in the sets of one.
pub fn of(llc: &Llc) -> Option<u32> {
    let sets = sets(llc.size_kib, llc.ways);
    sets.is_multiple_of(PAGE_LINES).then_some(sets / PAGE_LINES)
}

/// Part of the loads that miss, of a cycle over pages of these colours, in this many ways.
pub fn misses(pages: u32, colours: u32, ways: u32) -> f64 {
    let (each, more) = (pages / colours, pages % colours);
    let missing = |pages: u32, colours: u32| if pages > ways { pages * colours } else { 0 };
    f64::from(missing(each + 1, more) + missing(each, colours - more)) / f64::from(pages.max(1))
}

/// Sets of a cache.
fn sets(kib: u32, ways: u32) -> u32 {
    num::narrow(num::index(kib) * 16 / num::index(ways.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five pages of two colours: three and two.
    #[test]
    fn five_pages_by_hand() {
        assert_eq!([1, 2, 3].map(|ways| misses(5, 2, ways)), [1.0, 0.6, 0.0]);
        assert_eq!((misses(4, 2, 1), misses(4, 2, 2)), (1.0, 0.0));
        assert_eq!((misses(3, 1, 2), misses(0, 1, 1)), (1.0, 0.0));
    }

    /// 512 KiB of 16 ways are 512 sets, 8 pages wide: 90 pages fit 16 ways and not 8.
    #[test]
    fn seven_tenths_of_a_cache_fit_with_all_ways_and_not_with_half() {
        assert_eq!(sets(512, 16), 512);
        let llc = |size_kib| Llc { id: 0, cpus: "0".parse().unwrap(), size_kib, ways: 16, clos: 16, hit_ns: 1.0 };
        assert_eq!([512, 768, 520].map(|kib| of(&llc(kib))), [Some(8), Some(12), None]);
        assert_eq!((misses(90, 8, 16), misses(90, 8, 8)), (0.0, 1.0));
    }
}
