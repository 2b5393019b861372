//! Usage by node: what every metric and mapping needs to know about a page, computed in one pass.

use crate::error::PagesError;
use crate::homes::Homes;
use crate::usage::Usage;
use isobar_model::num;

/// A page and its accesses by node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSeen {
    /// All accesses to it.
    pub accesses: u64,
    /// Accesses from the node with the most accesses.
    pub most: u64,
    /// The node with the most accesses; the lowest of several equal ones. For a page without
    /// accesses, the node of its first touch.
    pub best: u16,
    /// The node with the fewest accesses; the lowest of several equal ones.
    pub worst: u16,
    /// The node of its first touch.
    pub first: u16,
}

/// A usage whose threads are assigned to nodes.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    usage: &'a Usage,
    homes: &'a Homes,
    pages: Vec<PageSeen>,
    accesses: u128,
}

impl<'a> Seen<'a> {
    /// Reads each page once.
    ///
    /// # Errors
    /// Homes for another number of threads.
    pub fn new(usage: &'a Usage, homes: &'a Homes) -> Result<Self, PagesError> {
        if usage.threads() != homes.threads() {
            return Err(PagesError::Threads { found: homes.threads(), threads: usage.threads() });
        }
        let mut row = vec![0; homes.nodes()];
        let mut accesses = 0;
        let pages = usage.rows().map(|(page, counts)| {
            homes.sum(counts, &mut row);
            let first = homes.of_thread().get(num::index(page.first)).copied().unwrap_or_default();
            let seen = seen(&row, first);
            accesses += u128::from(seen.accesses);
            seen
        });
        let pages = pages.collect();
        Ok(Self { usage, homes, pages, accesses })
    }

    /// The usage.
    #[must_use]
    pub const fn usage(&self) -> &Usage {
        self.usage
    }

    /// The number of nodes.
    #[must_use]
    pub const fn nodes(&self) -> usize {
        self.homes.nodes()
    }

    /// The pages, in the order of the usage.
    #[must_use]
    pub fn pages(&self) -> &[PageSeen] {
        &self.pages
    }

    /// All accesses to all pages.
    #[must_use]
    pub const fn accesses(&self) -> u128 {
        self.accesses
    }

    /// Accesses by node to the page at this position (`MemAcc[p]` of the paper).
    pub fn by_node(&self, at: usize, into: &mut [u64]) {
        self.homes.sum(self.usage.row(at), into);
    }
}

/// Evaluates a row of accesses by node.
pub(crate) fn seen(by_node: &[u64], first: u16) -> PageSeen {
    let (mut accesses, mut best, mut worst) = (0_u64, (0, 0_u16), (u64::MAX, 0_u16));
    for (node, count) in (0..).zip(by_node) {
        accesses = accesses.saturating_add(*count);
        if *count > best.0 {
            best = (*count, node);
        }
        if *count < worst.0 {
            worst = (*count, node);
        }
    }
    let best_node = if best.0 == 0 { first } else { best.1 };
    PageSeen { accesses, most: best.0, best: best_node, worst: worst.1, first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_nodes_the_lowest_counts_and_of_none_the_first_touch() {
        let page = seen(&[3, 7, 7, 3], 2);
        assert_eq!((page.accesses, page.most, page.best, page.worst), (20, 7, 1, 0));
        let untouched = seen(&[0, 0], 1);
        assert_eq!((untouched.best, untouched.worst, untouched.most), (1, 0, 0));
        assert_eq!(seen(&[u64::MAX, 1], 0).accesses, u64::MAX, "counts saturate");
    }

    #[test]
    fn homes_must_be_of_these_threads() {
        let (usage, homes) = (Usage::new(2, 4096).unwrap(), Homes::compact(2, 3).unwrap());
        let message = Seen::new(&usage, &homes).unwrap_err().to_string();
        assert_eq!(message, "3 threads have a node, but the usage has 2 threads");
    }
}
