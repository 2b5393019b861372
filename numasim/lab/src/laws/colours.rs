//! How much of a memory that is read in a fixed cycle misses a cache of least-recently-used sets. A
//! line of a cycle is used again after all others of its set: it hits where the set has a way for
//! each, else it misses always. What lies in which set depends on the physical pages:
//!
//! - dealt out evenly, a cycle of `F` bytes misses nothing in a cache of `C` bytes where `F <= C`,
//!   and everything beyond;
//! - dealt out at random, a set holds `n` of the `P` pages' lines with the binomial probability of
//!   `P` trials at `64 / sets` (a page of 4 KiB covers 64 sets), and those `n` miss where `n`
//!   exceeds the ways: the misses are `E[n; n > ways] / E[n]`.
//!
//! A kernel deals out pages somewhere between these two.

use numasim_model::num;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Lines of a page.
const PAGE_LINES: f64 = 64.0;

/// Part of the loads that miss: with pages dealt out evenly, and at random.
pub fn misses(pages: u32, sets: u32, ways: u32) -> (f64, f64) {
    let share = (PAGE_LINES / f64::from(sets)).min(1.0);
    let mean = f64::from(pages) * share;
    (if mean > f64::from(ways) { 1.0 } else { 0.0 }, at_random(pages, share, ways))
}

/// `E[n; n > ways] / E[n]`: of a binomial, n P(n) / (pages * share) is the probability of n - 1 of
/// one page fewer; so it is that of as many other pages in a set of this page as there are ways.
fn at_random(pages: u32, share: f64, ways: u32) -> f64 {
    let others = Binomial::new(share, u64::from(pages.saturating_sub(1)));
    others.map_or(0.0, |others| others.sf(u64::from(ways.max(1)) - 1))
}

/// Sets of a cache.
pub fn sets(kib: u32, ways: u32) -> u32 {
    num::narrow(num::index(kib) * 16 / num::index(ways.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pages, 128 sets, 1 way: a page shares its sets with the other one with probability 1/2.
    #[test]
    fn two_pages_by_hand() {
        let (even, random) = misses(2, 128, 1);
        assert!(even == 0.0 && (random - 0.5).abs() < 1e-12, "{random}");
        assert_eq!(misses(2, 64, 1), (1.0, 1.0));
        assert_eq!(misses(2, 64, 2), (0.0, 0.0));
    }

    /// Three pages, 128 sets, 2 ways: all three together with probability 1/4.
    #[test]
    fn three_pages_by_hand() {
        let (even, random) = misses(3, 128, 2);
        assert!(even == 0.0 && (random - 0.25).abs() < 1e-12, "{random}");
    }

    /// 512 KiB of 16 ways are 512 sets, 8 pages wide: 90 pages fit 16 ways and not 8.
    #[test]
    fn seven_tenths_of_a_cache_fit_with_all_ways_and_not_with_half() {
        assert_eq!(sets(512, 16), 512);
        let (all, half) = (misses(90, 512, 16), misses(90, 512, 8));
        assert!(all.0 == 0.0 && all.1 < 0.15, "{all:?}");
        assert!(half.0 == 1.0 && half.1 > 0.8, "{half:?}");
    }
}
