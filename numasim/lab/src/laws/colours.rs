//! Predicts which fraction of cyclic accesses to memory misses a cache whose sets replace the least
//! recently used line. A line of the cycle is used again after all other lines of its set. It hits
//! if the set has a way for each of these lines; else it always misses.
//!
//! A page's place in physical memory decides in which sets its lines lie: the number of page
//! colours is the number of pages in one way of the cache. Programs of these laws get the same
//! number of pages of each colour (`chase --colours`, numasim/programs/colours.h), whatever the
//! kernel hands out: of `P` pages in `k` colours, `P mod k` colours have `P / k + 1` pages, the
//! others `P / k`.

use numasim_model::{Llc, num};

/// Lines per page.
const PAGE_LINES: u32 = 64;

/// Number of page colours of a cache; `None` if pages do not lie in the sets of exactly one colour.
pub fn of(llc: &Llc) -> Option<u32> {
    let sets = sets(llc.size_kib, llc.ways);
    sets.is_multiple_of(PAGE_LINES).then_some(sets / PAGE_LINES)
}

/// Fraction of loads that miss in a cycle over pages of these colours, with this number of ways.
pub fn misses(pages: u32, colours: u32, ways: u32) -> f64 {
    let (each, more) = (pages / colours, pages % colours);
    let missing = |pages: u32, colours: u32| if pages > ways { pages * colours } else { 0 };
    f64::from(missing(each + 1, more) + missing(each, colours - more)) / f64::from(pages.max(1))
}

/// Number of sets of a cache.
fn sets(kib: u32, ways: u32) -> u32 {
    num::narrow(num::index(kib) * 16 / num::index(ways.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five pages of two colours: three of one and two of the other.
    #[test]
    fn five_pages_by_hand() {
        assert_eq!([1, 2, 3].map(|ways| misses(5, 2, ways)), [1.0, 0.6, 0.0]);
        assert_eq!((misses(4, 2, 1), misses(4, 2, 2)), (1.0, 0.0));
        assert_eq!((misses(3, 1, 2), misses(0, 1, 1)), (1.0, 0.0));
    }

    /// 512 KiB with 16 ways have 512 sets, a way of 8 pages. 90 pages fit into 16 ways and not into
    /// 8.
    #[test]
    fn seven_tenths_of_a_cache_fit_with_all_ways_and_not_with_half() {
        assert_eq!(sets(512, 16), 512);
        let llc = |size_kib| Llc { id: 0, cpus: "0".parse().unwrap(), size_kib, ways: 16, clos: 16, hit_ns: 1.0 };
        assert_eq!([512, 768, 520].map(|kib| of(&llc(kib))), [Some(8), Some(12), None]);
        assert_eq!((misses(90, 8, 16), misses(90, 8, 8)), (0.0, 1.0));
    }
}
