//! Turns bandwidths into weights of weighted interleave, reduced as the kernel reduces the weights
//! that it computes itself (`reduce_interleave_weights` in `mm/mempolicy.c`, Linux 6.16). Pure.

use isobar_model::{NodeId, NodeMap, NodeMatrix, num};

/// The approximate sum of the weights of all nodes before they are reduced. Small weights make
/// pages alternate soon; large weights are closer to the bandwidths.
const WEIGHTINESS: u64 = 32;

/// The kernel's unit for bandwidths.
const MEGABYTE: f64 = 1e6;

/// The weight of each node whose bandwidth was measured from some node: its share of the sum of all
/// bandwidths in parts of 32, at least 1, all divided by their greatest common divisor. The
/// bandwidth of a node is that from its own CPUs; for a node without CPUs it is the best from any
/// other.
#[must_use]
pub fn weights(bandwidth: &NodeMatrix<f64>) -> NodeMap<u8> {
    let nodes = bandwidth.nodes();
    let best = |to: NodeId| nodes.iter().filter_map(|from| bandwidth.get(*from, to)).copied().max_by(f64::total_cmp);
    let of = |to: NodeId| Some((to, num::round(bandwidth.get(to, to).copied().or_else(|| best(to))? / MEGABYTE)));
    let measured: Vec<(NodeId, u64)> = nodes.iter().filter_map(|to| of(*to)).collect();
    let sum = measured.iter().map(|(_, megabytes)| *megabytes).sum::<u64>().max(1);
    let scaled: Vec<(NodeId, u64)> =
        measured.iter().map(|(node, megabytes)| (*node, (WEIGHTINESS * megabytes / sum).max(1))).collect();
    let divisor = scaled.iter().fold(0, |divisor, (_, weight)| gcd(divisor, *weight)).max(1);
    // At most 32, so the conversion does not fail.
    scaled.into_iter().map(|(node, weight)| (node, u8::try_from(weight / divisor).unwrap_or(u8::MAX))).collect()
}

const fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: Vec<Vec<Option<f64>>>) -> Vec<u8> {
        let nodes = (0..num::narrow(rows.len())).map(NodeId).collect();
        let found = weights(&NodeMatrix::from_cells(nodes, rows).unwrap());
        found.values().copied().collect()
    }

    #[test]
    fn weights_are_shares_in_lowest_terms() {
        let gb = |figure: f64| Some(figure * 1e9);
        assert_eq!(of(vec![vec![gb(20.0)]]), [1], "32 of 32, divided by 32");
        assert_eq!(of(vec![vec![gb(20.0), gb(9.0)], vec![gb(9.0), gb(20.0)]]), [1, 1]);
        // A CXL node without CPUs: 32 * 300/400 = 24, 32 * 100/400 = 8; both divided by 8.
        assert_eq!(of(vec![vec![gb(300.0), gb(100.0)], vec![None, None]]), [3, 1]);
        // 32 * 300/302 = 31, and the other has at least 1.
        assert_eq!(of(vec![vec![gb(300.0), gb(2.0)], vec![None, None]]), [31, 1]);
        assert_eq!(of(vec![vec![gb(10.0), None], vec![None, None]]), [1], "no word of node 1");
    }
}
