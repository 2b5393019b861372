//! How the best node of pages changes from time slice to time slice (section 4.3 of the paper).

use crate::metrics;
use crate::seen::Seen;
use isobar_model::Seconds;
use std::collections::BTreeMap;

/// A time slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// Pages whose node with the most accesses differs from the one in the last slice in which they
    /// were accessed (equation 6; the paper leaves open what a slice without accesses to a page
    /// means).
    pub migrations: u64,
    /// Exclusivity of the accesses of this slice; `None` if there are none.
    pub exclusivity: Option<f64>,
}

/// Follows pages from slice to slice.
#[derive(Clone, Debug, Default)]
pub struct Dynamics {
    /// The best node of each page in the last slice in which it was accessed.
    best: BTreeMap<u64, u16>,
    migrations: u64,
}

impl Dynamics {
    /// Adds the next slice, given the usage of that slice alone.
    pub fn add(&mut self, seen: &Seen<'_>) -> Slice {
        let mut migrations = 0;
        for (page, seen) in seen.usage().pages().iter().zip(seen.pages()).filter(|(_, seen)| seen.accesses > 0) {
            let before = self.best.insert(page.number, seen.best);
            migrations += u64::from(before.is_some_and(|before| before != seen.best));
        }
        self.migrations += migrations;
        Slice { migrations, exclusivity: metrics::exclusivity(seen) }
    }

    /// Migrations per second of the program's time (equation 7); `None` if no time passed.
    #[must_use]
    pub fn dynamicity(&self, ran: Seconds) -> Option<f64> {
        (ran.0 > 0.0).then(|| isobar_model::num::float(self.migrations) / ran.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use crate::usage::{Page, Usage};

    #[test]
    fn a_page_migrates_when_another_node_accesses_it_most() {
        let homes = Homes::compact(2, 2).unwrap();
        let mut dynamics = Dynamics::default();
        let mut slice = |rows: &[(u64, [u64; 2])]| {
            let mut usage = Usage::new(2, 4096).unwrap();
            rows.iter().for_each(|(number, row)| usage.push(Page { number: *number, first: 0 }, row).unwrap());
            let found = dynamics.add(&Seen::new(&usage, &homes).unwrap());
            (found.migrations, found.exclusivity)
        };
        assert_eq!(slice(&[(1, [9, 1]), (2, [5, 5])]), (0, Some(0.7)));
        // Page 1 moves to node 1. Page 2 is not accessed, and later returns to the node where it
        // was.
        assert_eq!(slice(&[(1, [0, 4]), (2, [0, 0])]), (1, Some(1.0)));
        assert_eq!(slice(&[(1, [0, 4]), (2, [3, 1])]), (0, Some(0.875)));
        assert_eq!(slice(&[]), (0, None));
        assert_eq!((dynamics.dynamicity(Seconds(0.02)), dynamics.dynamicity(Seconds(0.0))), (Some(50.0), None));
    }
}
