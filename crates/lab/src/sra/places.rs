//! Records on which of two nodes each page is, with one bit per page, because a study keeps
//! hundreds of these maps side by side.

use isobar_model::num;

const BITS: u32 = u64::BITS;

/// Pages on the node of the thread that moved; all other pages are still on the first node.
#[derive(Clone, Debug)]
pub(super) struct Places(Vec<u64>);

impl Places {
    /// No page has moved yet.
    pub(super) fn new(pages: u32) -> Self {
        Self(vec![0; num::index(pages.div_ceil(BITS))])
    }

    pub(super) fn moved(&self, page: u32) -> bool {
        (self.0[num::index(page / BITS)] >> (page % BITS)) & 1 == 1
    }

    /// Moves the pages `[first, end)` to the thread's node (`there`) or back, and calls `moved`
    /// with each page that was elsewhere.
    pub(super) fn set(&mut self, first: u32, end: u32, there: bool, mut moved: impl FnMut(u32)) {
        let mut page = first;
        while page < end {
            let word = &mut self.0[num::index(page / BITS)];
            let stop = end.min((page / BITS + 1) * BITS);
            let mask = ones(stop - page) << (page % BITS);
            let mut changed = if there { !*word & mask } else { *word & mask };
            *word ^= changed;
            let base = page - page % BITS;
            while changed != 0 {
                moved(base + changed.trailing_zeros());
                changed &= changed - 1;
            }
            page = stop;
        }
    }
}

/// A mask of the lowest `count` bits, from 1 to 64.
const fn ones(count: u32) -> u64 {
    u64::MAX >> (BITS - count)
}

#[cfg(test)]
mod tests {
    use super::Places;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn ranges_move_as_page_by_page(
            moves in prop::collection::vec((0..300_u32, 0..300_u32, prop::bool::ANY), 0..20),
        ) {
            let (mut places, mut plain) = (Places::new(300), vec![false; 300]);
            for (a, b, there) in moves {
                let (first, end) = (a.min(b), a.max(b));
                let mut moved = Vec::new();
                places.set(first, end, there, |page| moved.push(page));
                let expected: Vec<u32> = (first..end).filter(|page| plain[*page as usize] != there).collect();
                prop_assert_eq!(moved, expected);
                plain[first as usize..end as usize].fill(there);
                let seen: Vec<bool> = (0..300).map(|page| places.moved(page)).collect();
                prop_assert_eq!(&seen, &plain);
            }
        }
    }
}
