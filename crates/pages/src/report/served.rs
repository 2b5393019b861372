//! How many accesses stay on their node under each of several placements, in one pass over the
//! pages. Locality (equation 9) counts a whole page as local or not; here every access counts by
//! itself.

use crate::mapping::Placement;
use crate::seen::Seen;

/// The local accesses under each placement so far: those from the node on which their page is.
pub struct Served<'a> {
    placements: Vec<&'a Placement>,
    /// In the order of the placements.
    pub local: Vec<u128>,
}

impl<'a> Served<'a> {
    /// Starts at zero for these placements.
    pub fn by(placements: Vec<&'a Placement>) -> Self {
        Self { local: vec![0; placements.len()], placements }
    }

    /// Adds the page at a position, with its accesses by node.
    pub fn add(&mut self, at: usize, by_node: &[u64]) {
        for (sum, placement) in self.local.iter_mut().zip(&self.placements) {
            *sum += u128::from(by_node[usize::from(placement.nodes()[at])]);
        }
    }
}

/// Calls `call` with every page, by position, and the page's accesses by node. Reading the accesses
/// of a page costs more than anything that is done with them, so it happens once.
pub fn each_page(seen: &Seen<'_>, mut call: impl FnMut(usize, &[u64])) {
    let mut by_node = vec![0; seen.nodes()];
    for at in 0..seen.pages().len() {
        seen.by_node(at, &mut by_node);
        call(at, &by_node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use crate::report::examples::profile;

    #[test]
    fn accesses_are_local_where_their_page_is() {
        let profile = profile(&[[7, 1, 0, 0], [2, 3, 0, 5]], &[]);
        let homes = Homes::compact(2, 4).unwrap();
        let seen = Seen::new(&profile.usage, &homes).unwrap();
        let placement = |nodes: &[u16]| Placement::observed(nodes.to_vec());
        // By node, the pages have 8 + 0 and 5 + 5 accesses.
        let placements = [placement(&[0, 0]), placement(&[1, 1]), placement(&[0, 1])];
        let mut served = Served::by(placements.iter().collect());
        each_page(&seen, |at, by_node| served.add(at, by_node));
        assert_eq!(served.local, [13, 5, 13]);
    }
}
