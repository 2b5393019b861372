//! Pages under way: pages that a policy asked for in earlier intervals and that the machine has not
//! moved yet. They count as asked for, so that no page is asked for twice. Pages on their way to a
//! node where they are not wanted any more are withdrawn, as DINO's daemon moves pages to where a
//! thread runs now (section 4.2).

use isobar_model::{Action, NodeId, Observation, PageMove, Pid};
use std::collections::BTreeSet;

/// Pages of a process that are under way from one node to another.
pub fn under_way(seen: &Observation, pid: Pid, from: NodeId, to: NodeId) -> u64 {
    sum(seen, |flight| (flight.pid, flight.from, flight.to) == (pid, from, to))
}

/// Pages of a process that are about to leave a node, for any other.
pub fn leaving(seen: &Observation, pid: Pid, from: NodeId) -> u64 {
    sum(seen, |flight| (flight.pid, flight.from) == (pid, from))
}

/// Pages of any process that are about to arrive on a node.
pub fn arriving(seen: &Observation, to: NodeId) -> u64 {
    sum(seen, |flight| flight.to == to)
}

/// Withdraws the pages of a process that are under way to a node where none of its threads will
/// run.
pub fn withdrawals(seen: &Observation, pid: Pid, runs_on: impl Fn(NodeId) -> bool) -> Vec<Action> {
    let strays = seen.in_flight().filter(|flight| flight.pid == pid && !runs_on(flight.to));
    let targets: BTreeSet<NodeId> = strays.map(|flight| flight.to).collect();
    let withdraw = |to: NodeId| {
        let reason = format!("none of its threads runs on node {to} any more");
        Action::WithdrawPages { pid, from: None, to: Some(to), reason }
    };
    targets.into_iter().map(withdraw).collect()
}

fn sum(seen: &Observation, of: impl Fn(&PageMove) -> bool) -> u64 {
    seen.in_flight().filter(|flight| of(flight)).fold(0, |sum: u64, flight| sum.saturating_add(flight.left().0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::{in_flight, observation};

    #[test]
    fn what_is_left_counts_by_route_and_what_has_ended_does_not() {
        let mut seen = observation("node:3 core:1", vec![]);
        for (pid, from, to, left) in [(1, 0, 1, 100), (1, 0, 1, 20), (1, 0, 2, 7), (2, 0, 1, 1000)] {
            in_flight(&mut seen, pid, (from, to), left);
        }
        in_flight(&mut seen, 1, (0, 1), 5000);
        seen.page_moves[4].ended = true;
        let (pid, zero, one) = (Pid(1), NodeId(0), NodeId(1));
        assert_eq!((under_way(&seen, pid, zero, one), leaving(&seen, pid, zero)), (120, 127));
        assert_eq!((arriving(&seen, one), leaving(&seen, pid, one)), (1120, 0));
        let dropped = withdrawals(&seen, pid, |node| node == NodeId(2));
        let [Action::WithdrawPages { pid: Pid(1), from: None, to: Some(NodeId(1)), .. }] = dropped[..] else {
            panic!("{dropped:?}")
        };
        assert!(withdrawals(&seen, Pid(3), |_| false).is_empty());
    }
}
