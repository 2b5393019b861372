//! Merges the decisions for a process's threads on each node into one for the process, because a
//! mapping has one policy, whichever thread touches it. Pure.

use isobar_allocation::{Decision, MAX_NODES};
use isobar_model::{NodeId, NodeWeight};
use std::collections::BTreeMap;

/// Where the threads of each node get new pages; the node `None` stands for all threads.
pub type Rows = BTreeMap<Option<NodeId>, Decision>;

/// An action's node and weights as a decision; `None` if a node is beyond those that a decision can
/// name.
pub fn decision(node: NodeId, weights: &[NodeWeight]) -> Option<Decision> {
    let place = |node: NodeId| usize::try_from(node.0).ok().filter(|place| *place < MAX_NODES);
    let mut by_node = [0; MAX_NODES];
    for weight in weights {
        by_node[place(weight.node)?] = weight.weight;
    }
    if by_node.iter().any(|weight| *weight > 0) {
        return Some(Decision::Spread(by_node));
    }
    place(node).and_then(|place| u8::try_from(place).ok()).map(Decision::Node)
}

/// The decision for a process, given the number of its threads on each node. If all rows agree,
/// that is the decision. If each row keeps its threads' pages on their own node, pages are left to
/// first touch, which does the same. Otherwise they are spread as the threads are.
pub fn merged(rows: &Rows, threads: &BTreeMap<NodeId, u8>) -> Decision {
    let general = rows.get(&None).copied().unwrap_or_default();
    let of = |node: NodeId| rows.get(&Some(node)).copied().unwrap_or(general);
    let wanted: Vec<(NodeId, u8, Decision)> = threads.iter().map(|(node, count)| (*node, *count, of(*node))).collect();
    let Some((_, _, first)) = wanted.first().copied() else { return general };
    if wanted.iter().all(|(_, _, decision)| *decision == first) {
        return first;
    }
    let stays = |(node, _, decision): &(NodeId, u8, Decision)| match decision {
        Decision::Node(to) => u32::from(*to) == node.0,
        Decision::Free => true,
        Decision::Spread(_) => false,
    };
    if wanted.iter().all(stays) {
        return Decision::Free;
    }
    let mut sum = [0_u32; MAX_NODES];
    for (node, count, decision) in wanted {
        share(&mut sum, node, u32::from(count), &decision);
    }
    let most = sum.iter().copied().max().unwrap_or(0).max(1);
    let scaled = sum.map(|share| match share {
        0 => 0,
        share => u8::try_from((u64::from(share) * 255 / u64::from(most)).max(1)).unwrap_or(u8::MAX),
    });
    Decision::Spread(scaled)
}

/// Adds 255 parts for each thread.
fn share(sum: &mut [u32; MAX_NODES], own: NodeId, threads: u32, decision: &Decision) {
    let mut add = |place: usize, parts: u32| {
        if let Some(sum) = sum.get_mut(place) {
            *sum += parts * threads;
        }
    };
    match decision {
        Decision::Free => add(usize::try_from(own.0).unwrap_or(usize::MAX), 255),
        Decision::Node(node) => add(usize::from(*node), 255),
        Decision::Spread(weights) => {
            let all: u32 = weights.iter().map(|weight| u32::from(*weight)).sum();
            weights.iter().enumerate().for_each(|(place, weight)| add(place, u32::from(*weight) * 255 / all.max(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[(u32, u8)]) -> Rows {
        rows.iter().map(|(of, to)| (Some(NodeId(*of)), Decision::Node(*to))).collect()
    }

    fn threads(threads: &[(u32, u8)]) -> BTreeMap<NodeId, u8> {
        threads.iter().map(|(node, count)| (NodeId(*node), *count)).collect()
    }

    #[test]
    fn the_rows_of_the_nodes_that_threads_run_on_decide() {
        let all = rows(&[(0, 1), (1, 1), (2, 3)]);
        assert_eq!(merged(&all, &threads(&[(2, 1)])), Decision::Node(3));
        assert_eq!(merged(&all, &threads(&[(0, 2), (1, 1)])), Decision::Node(1));
        assert_eq!(merged(&rows(&[(0, 0), (1, 1)]), &threads(&[(0, 2), (1, 1)])), Decision::Free);
        assert_eq!(merged(&Rows::from([(None, Decision::Node(2))]), &threads(&[(0, 1), (3, 1)])), Decision::Node(2));
        // Two threads to node 1, one to node 3: 510 and 255 parts, which scale to 255 and 127.
        let Decision::Spread(weights) = merged(&all, &threads(&[(0, 2), (2, 1)])) else { panic!("spread") };
        assert_eq!((weights[0], weights[1], weights[2], weights[3]), (0, 255, 0, 127));
    }

    #[test]
    fn an_action_is_a_decision_unless_a_node_is_too_far() {
        let weight = |node, weight| NodeWeight { node: NodeId(node), weight };
        assert_eq!(decision(NodeId(5), &[]), Some(Decision::Node(5)));
        let Some(Decision::Spread(found)) = decision(NodeId(1), &[weight(0, 1), weight(1, 9)]) else {
            panic!("spread")
        };
        assert_eq!(found[..3], [1, 9, 0]);
        assert_eq!(decision(NodeId(64), &[]), None);
        assert_eq!(decision(NodeId(0), &[weight(64, 1)]), None);
    }
}
