//! How many accesses stay on their node under each of several placements, in one look at every
//! page. Locality (equation 9) calls a page local or not as a whole; here every access counts.

use crate::mapping::Placement;
use crate::seen::Seen;

/// For each placement the accesses from the node on which their page is.
pub fn local(seen: &Seen<'_>, placements: &[&Placement]) -> Vec<u128> {
    let (mut local, mut by_node) = (vec![0_u128; placements.len()], vec![0; seen.nodes()]);
    for at in 0..seen.pages().len() {
        seen.by_node(at, &mut by_node);
        for (sum, placement) in local.iter_mut().zip(placements) {
            *sum += u128::from(by_node[usize::from(placement.nodes()[at])]);
        }
    }
    local
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
        // By node the pages have 8 + 0 and 5 + 5 accesses.
        let found = local(&seen, &[&placement(&[0, 0]), &placement(&[1, 1]), &placement(&[0, 1])]);
        assert_eq!(found, [13, 5, 13]);
    }
}
