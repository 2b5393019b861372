//! The migration strategies of the DINO paper, section 4.1: given a sampled address, which pages
//! move.
//!
//! | strategy | pages that move with page p |
//! |---|---|
//! | sequential-forward | p to p + K - 1 |
//! | sequential-forward-backward | p - K/2 to p + K/2 |
//! | random | p and K - 1 pages drawn from all resident ones |
//! | pattern | p, p + s, p + 2s, ... (K pages) for previous accesses near p at stride s; else p |
//!
//! Readings, where the paper gives no detail:
//! 1. Every strategy moves the requested page. At K = 1 all four are the same.
//! 2. K/2 pages precede and K/2 follow, so an even K moves K + 1 pages; at the ends of memory there
//!    are fewer.
//! 3. Random pages are drawn one by one: a page drawn twice moves once. If K is at least the size
//!    of the resident set, all of it moves.
//! 4. A pattern is what a stride prefetcher finds: see [`super::detector`].
//! 5. Resident memory is one range of addresses: windows do not end at the borders of arrays.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// A migration strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// K pages starting with the requested one.
    Forward,
    /// K/2 pages before the requested one and K/2 after it.
    ForwardBackward,
    /// K pages at random.
    Random,
    /// K pages that match the thread's access pattern.
    Pattern,
    /// All of resident memory, from its start, K pages at a time (section 5.2).
    ResidentSet,
}

impl Strategy {
    /// The strategies that section 4.1 compares.
    pub const COMPARED: [Self; 4] = [Self::Forward, Self::ForwardBackward, Self::Random, Self::Pattern];

    /// The paper's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "sequential-forward",
            Self::ForwardBackward => "sequential-forward-backward",
            Self::Random => "random",
            Self::Pattern => "pattern",
            Self::ResidentSet => "whole-resident-set",
        }
    }
}

/// A sampled page and what is known about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub page: u32,
    /// Stride of the accesses around it.
    pub stride: Option<i64>,
    /// Number of pages of resident memory.
    pub pages: u32,
}

/// Calls `visit` with the pages that move, as ranges `[first, end)`, all within resident memory.
pub(super) fn pages(strategy: Strategy, k: u32, on: Request, rng: &mut ChaCha8Rng, mut visit: impl FnMut(u32, u32)) {
    let Request { page, stride, pages } = on;
    match strategy {
        Strategy::Forward | Strategy::ResidentSet => visit(page, page.saturating_add(k).min(pages)),
        Strategy::ForwardBackward => {
            visit(page.saturating_sub(k / 2), page.saturating_add(k / 2).saturating_add(1).min(pages));
        }
        Strategy::Random if k >= pages => visit(0, pages),
        Strategy::Random => {
            visit(page, page + 1);
            (1..k).for_each(|_| {
                let drawn = below(pages, rng.next_u32());
                visit(drawn, drawn + 1);
            });
        }
        Strategy::Pattern => strided(page, stride.unwrap_or(0), k, pages, visit),
    }
}

fn strided(page: u32, stride: i64, k: u32, pages: u32, mut visit: impl FnMut(u32, u32)) {
    let count = if stride == 0 { 1 } else { k };
    let at = |nth: u32| u32::try_from(i64::from(page) + i64::from(nth) * stride).ok().filter(|page| *page < pages);
    (0..count).map_while(at).for_each(|page| visit(page, page + 1));
}

fn below(count: u32, random: u32) -> u32 {
    u32::try_from((u64::from(count) * u64::from(random)) >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Request, Strategy, pages};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn chosen(strategy: Strategy, k: u32, page: u32, stride: Option<i64>) -> Vec<u32> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut all = Vec::new();
        pages(strategy, k, Request { page, stride, pages: 100 }, &mut rng, |first, end| all.extend(first..end));
        all
    }

    #[test]
    fn each_strategy_takes_the_pages_of_the_paper() {
        assert_eq!(chosen(Strategy::Forward, 4, 10, None), [10, 11, 12, 13]);
        assert_eq!(chosen(Strategy::ForwardBackward, 4, 10, None), [8, 9, 10, 11, 12]);
        assert_eq!(chosen(Strategy::Pattern, 4, 10, Some(-3)), [10, 7, 4, 1]);
        assert_eq!(chosen(Strategy::Pattern, 4, 10, None), [10]);
        let random = chosen(Strategy::Random, 4, 10, None);
        assert_eq!((random.len(), random[0]), (4, 10));
    }

    #[test]
    fn memory_ends_where_it_ends() {
        assert_eq!(chosen(Strategy::Forward, 4, 98, None), [98, 99]);
        assert_eq!(chosen(Strategy::ForwardBackward, 4, 1, None), [0, 1, 2, 3]);
        assert_eq!(chosen(Strategy::Pattern, 9, 90, Some(4)), [90, 94, 98]);
        assert_eq!(chosen(Strategy::Random, 1000, 5, None).len(), 100);
    }

    #[test]
    fn with_one_page_all_are_the_same() {
        for strategy in Strategy::COMPARED {
            assert_eq!(chosen(strategy, 1, 42, Some(7)), [42], "{strategy:?}");
        }
    }
}
