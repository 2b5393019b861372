//! Positions of pages by number. The index is asked once for every page of every slice.

use isobar_model::num;

/// An empty slot.
const FREE: u32 = u32::MAX;
/// 2^64 divided by the golden ratio: neighbouring numbers land far apart.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Gives each page the position in which it first came: open addressing, at most half full. The
/// order of slots affects no result.
#[derive(Clone, Debug)]
pub(super) struct PageIndex {
    places: Vec<u32>,
    pages: Vec<u64>,
}

impl PageIndex {
    pub(super) fn new() -> Self {
        Self { places: vec![FREE; 16], pages: Vec::new() }
    }

    /// The position of a page, and whether it is new.
    #[inline]
    pub(super) fn position(&mut self, page: u64) -> (usize, bool) {
        let mask = self.places.len() - 1;
        let mut at = place(page, mask);
        loop {
            match self.places[at] {
                FREE => return (self.insert(page, at), true),
                position if self.pages[num::index(position)] == page => return (num::index(position), false),
                _ => at = (at + 1) & mask,
            }
        }
    }

    fn insert(&mut self, page: u64, at: usize) -> usize {
        let position = self.pages.len();
        self.pages.push(page);
        self.places[at] = num::narrow(position);
        if self.pages.len() * 2 > self.places.len() {
            self.grow();
        }
        position
    }

    fn grow(&mut self) {
        let mask = self.places.len() * 2 - 1;
        let mut places = vec![FREE; mask + 1];
        for (position, page) in self.pages.iter().enumerate() {
            let mut at = place(*page, mask);
            while places[at] != FREE {
                at = (at + 1) & mask;
            }
            places[at] = num::narrow(position);
        }
        self.places = places;
    }
}

const fn place(page: u64, mask: usize) -> usize {
    (page.wrapping_mul(SPREAD) >> 32) as usize & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_keep_the_position_in_which_they_came() {
        let mut index = PageIndex::new();
        let pages: Vec<u64> = (0..10_000).map(|at| (at * 7919) % 10_007 + (1 << 40)).collect();
        for (at, page) in pages.iter().enumerate() {
            assert_eq!(index.position(*page), (at, true));
        }
        assert!(pages.iter().enumerate().all(|(at, page)| index.position(*page) == (at, false)));
    }
}
