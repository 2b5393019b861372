//! The pages of one process: where they are, which are hot, and which pages a migration takes.
//!
//! Pages are counted in bins. There is a private region for each thread and one region that all
//! threads share; each has hot and cold pages by node. A sampled address lies on a hot page as
//! often as accesses do, and its neighbours are as hot as the page itself (DINO, section 4:
//! sequential-forward-backward works because hot pages are adjacent). A migration around samples
//! therefore takes hot and cold pages in the ratio of the accesses to them, and a migration of the
//! whole resident set takes them in the ratio of pages.

use crate::program::Program;
use isobar_model::{PageSelection, num};

/// Pages by node, hot and cold.
#[derive(Clone, Debug, PartialEq)]
struct Region {
    /// `[hot, cold][node]`
    pages: [Vec<u64>; 2],
    /// Pages when everything is touched, `[hot, cold]`.
    full: [u64; 2],
}

/// The pages of a process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Memory {
    /// One region for each thread, then the shared one.
    regions: Vec<Region>,
    hot_accesses: f64,
    shared: f64,
}

impl Memory {
    /// A process that has touched nothing yet.
    pub fn new(program: &Program, threads: u32, nodes: usize) -> Self {
        let all = num::float(program.pages());
        let shared = if threads == 1 { 0.0 } else { program.shared };
        let region = |pages: f64| {
            let hot = num::round(pages * program.hot_pages);
            let full = [hot, num::round(pages).saturating_sub(hot)];
            Region { pages: [vec![0; nodes], vec![0; nodes]], full }
        };
        let private = (all * (1.0 - shared) / f64::from(threads)).max(1.0);
        let mut regions = vec![region(private); num::index(threads)];
        regions.push(region(all * shared));
        Self { regions, hot_accesses: program.hot_accesses, shared }
    }

    /// Touches pages until the fraction `part` of all pages is resident: each thread touches its
    /// own pages and its part of the shared ones. `place` says how many of a thread's next pages go
    /// to each node.
    pub fn touch(&mut self, part: f64, mut place: impl FnMut(usize, u64) -> Vec<(usize, u64)>) {
        let threads = self.regions.len() - 1;
        for (index, region) in self.regions.iter_mut().enumerate() {
            for class in 0..2 {
                let aim = num::round(num::float(region.full[class]) * part);
                let lacking = aim.saturating_sub(region.pages[class].iter().sum());
                let by: Vec<_> = if index < threads { vec![(index, lacking)] } else { split(lacking, threads) };
                for (thread, pages) in by.into_iter().filter(|(_, pages)| *pages > 0) {
                    place(thread, pages).into_iter().for_each(|(node, count)| region.pages[class][node] += count);
                }
            }
        }
    }

    /// Pages of one class (0 hot, 1 cold) of a region (one for each thread, then the shared one) by
    /// node.
    pub fn pages(&self, region: usize, class: usize) -> &[u64] {
        &self.regions[region].pages[class]
    }

    /// All resident pages.
    pub fn resident(&self) -> f64 {
        num::float(self.regions.iter().flat_map(|region| &region.pages).flatten().sum())
    }

    /// Expected number of pages of a node that are accessed, given the misses of each thread. Of
    /// pages that are accessed `x` times each on average, the fraction `x / (1 + x)` is accessed
    /// (see `balancing.rs`).
    pub fn accessed(&self, node: usize, misses: &[f64]) -> f64 {
        let all: f64 = misses.iter().sum();
        let by_region = misses.iter().map(|own| own * (1.0 - self.shared)).chain([all * self.shared]);
        let one = |(region, misses): (&Region, f64)| {
            let classes = region.classes(self.hot_accesses).into_iter();
            let accessed = classes.map(|(class, share)| {
                let total = num::float(region.pages[class].iter().sum());
                let each = misses * share / total;
                num::float(region.pages[class][node]) * each / (1.0 + each)
            });
            accessed.sum::<f64>()
        };
        self.regions.iter().zip(by_region).map(one).sum()
    }

    /// Returns all pages to the machine.
    pub fn free(&mut self) {
        self.regions.iter_mut().flat_map(|region| &mut region.pages).for_each(|pages| pages.fill(0));
    }

    /// Resident pages of a node.
    pub fn on_node(&self, node: usize) -> u64 {
        self.regions.iter().flat_map(|region| &region.pages).map(|pages| pages[node]).sum()
    }

    /// The fraction of a thread's accesses that goes to each node; all to `home` if nothing is
    /// touched.
    pub fn weights(&self, thread: usize, home: usize, nodes: usize) -> Vec<f64> {
        let mut weights = vec![0.0; nodes];
        let parts = [(thread, 1.0 - self.shared), (self.regions.len() - 1, self.shared)];
        for (index, part) in parts.into_iter().filter(|(_, part)| *part > 0.0) {
            let region = &self.regions[index];
            for (class, share) in region.classes(self.hot_accesses) {
                let total: u64 = region.pages[class].iter().sum();
                for (node, pages) in region.pages[class].iter().enumerate() {
                    weights[node] += part * share * num::float(*pages) / num::float(total);
                }
            }
        }
        let sum: f64 = weights.iter().sum();
        if sum <= 0.0 {
            weights[home] = 1.0;
            return weights;
        }
        weights.iter().map(|weight| weight / sum).collect()
    }

    /// Moves up to `count` pages; returns how many were there to move.
    pub fn migrate(&mut self, thread: Option<usize>, select: PageSelection, from: usize, to: usize, count: u64) -> u64 {
        let mut bins = self.bins(thread, from, select);
        let mut left = count;
        if select == PageSelection::Accessed {
            // The most accessed pages first (our order; CAPM's paper names none); among equals in
            // the order of the bins.
            bins.sort_by(|a, b| b.2.total_cmp(&a.2));
            bins.iter_mut().for_each(|bin| bin.2 = 0.0);
        }
        // First by weight, then the rest in the order of the bins.
        let total: f64 = bins.iter().map(|(_, _, weight)| weight).sum();
        for (region, class, weight) in &bins {
            let wanted = if total > 0.0 { num::round(num::float(count) * weight / total) } else { 0 };
            left -= self.take(*region, *class, from, to, wanted.min(left));
        }
        for (region, class, _) in &bins {
            left -= self.take(*region, *class, from, to, left);
        }
        count - left
    }

    /// Bins with pages on a node, and the weight of each for a selection.
    fn bins(&self, thread: Option<usize>, from: usize, select: PageSelection) -> Vec<(usize, usize, f64)> {
        let last = self.regions.len() - 1;
        let chosen = (0..=last).filter(|index| thread.is_none_or(|thread| *index == thread || *index == last));
        let mut bins = Vec::new();
        for index in chosen {
            let region = &self.regions[index];
            let part = if index == last { self.shared } else { (1.0 - self.shared) / num::float_len(last) };
            for (class, share) in region.classes(self.hot_accesses) {
                let (here, total) = (region.pages[class][from], region.pages[class].iter().sum());
                let accesses = part * share * num::float(here) / num::float(total);
                let pages = num::float(here);
                let weight = match select {
                    PageSelection::ResidentSet => pages,
                    PageSelection::AroundSamples => accesses,
                    PageSelection::Accessed => part * share / num::float(total),
                };
                bins.push((index, class, weight));
            }
        }
        bins
    }

    /// Moves pages of one class of a region; returns how many were there to move.
    pub fn take(&mut self, region: usize, class: usize, from: usize, to: usize, wanted: u64) -> u64 {
        let pages = &mut self.regions[region].pages[class];
        let moved = wanted.min(pages[from]);
        pages[from] -= moved;
        pages[to] += moved;
        moved
    }
}

impl Region {
    /// The classes that have pages, each with its share of the accesses.
    fn classes(&self, hot_accesses: f64) -> Vec<(usize, f64)> {
        let shares = [hot_accesses, 1.0 - hot_accesses];
        (0..2).filter(|class| self.pages[*class].iter().any(|pages| *pages > 0)).map(|c| (c, shares[c])).collect()
    }
}

/// Splits a count evenly; the remainder goes to the first parts.
fn split(count: u64, parts: usize) -> Vec<(usize, u64)> {
    let n = u64::from(num::narrow(parts)).max(1);
    (0..parts).map(|i| (i, count / n + u64::from(u64::from(num::narrow(i)) < count % n))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Memory {
        let library = crate::program::shipped().unwrap();
        let program = library.find("", "", "milc").unwrap();
        let mut memory = Memory::new(&program, 1, 2);
        memory.touch(1.0, |_, pages| vec![(0, pages)]);
        memory
    }

    #[test]
    fn samples_find_the_hot_pages() {
        // 680 MiB = 174,080 pages, a fifth of them hot with 80 % of the accesses. Of 10,000 pages
        // around samples, 8,000 are hot ones of 34,816 and carry 18.4 %; 2,000 are cold ones of
        // 139,264 and carry 0.3 %.
        let mut around = memory();
        assert_eq!(around.migrate(None, PageSelection::AroundSamples, 0, 1, 10_000), 10_000);
        let expected = 0.8 * 8_000.0 / 34_816.0 + 0.2 * 2_000.0 / 139_264.0;
        assert!((around.weights(0, 0, 2)[1] - expected).abs() < 1e-12);
        let mut any = memory();
        any.migrate(None, PageSelection::ResidentSet, 0, 1, 10_000);
        assert!((any.weights(0, 0, 2)[1] - 10_000.0 / 174_080.0).abs() < 1e-6);
    }

    /// There are 34,816 hot pages, then cold ones: a migration of 40,000 pages takes all hot ones
    /// and 5,184 of 139,264 others.
    #[test]
    fn accessed_pages_go_in_the_order_of_their_accesses() {
        let mut memory = memory();
        assert_eq!(memory.migrate(None, PageSelection::Accessed, 0, 1, 40_000), 40_000);
        assert!((memory.weights(0, 0, 2)[1] - (0.8 + 0.2 * 5_184.0 / 139_264.0)).abs() < 1e-12);
    }

    /// 34,816 misses: 0.8 on each hot page, so that 4/9 of them are accessed, 15,473.8; 0.05 on
    /// each cold page, so that 1/21 of them are accessed, 6,631.6.
    #[test]
    fn few_misses_access_few_pages_and_many_all() {
        let mut memory = memory();
        assert!((memory.accessed(0, &[34_816.0]) - (15_473.78 + 6_631.62)).abs() < 0.1);
        assert!(memory.accessed(1, &[34_816.0]) <= 0.0 && memory.accessed(0, &[1e12]) > 174_079.0);
        memory.free();
        assert!(memory.accessed(0, &[1e9]) <= 0.0 && memory.resident() <= 0.0);
    }

    #[test]
    fn pages_are_conserved_and_no_more_move_than_are_there() {
        let mut memory = memory();
        assert_eq!(memory.migrate(None, PageSelection::AroundSamples, 0, 1, 1 << 40), 174_080);
        assert_eq!((memory.on_node(0), memory.on_node(1)), (0, 174_080));
        assert_eq!(memory.migrate(None, PageSelection::AroundSamples, 0, 1, 5), 0);
    }
}
