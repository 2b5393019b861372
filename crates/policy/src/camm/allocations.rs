//! Where the new pages of each process go, as far as a policy asked for it. An epoch that changes
//! nothing asks for nothing. At first the kernel places new pages on the node that touches them, so
//! a process for which its own node is chosen is left as it is.

use crate::kit::refused::{Refused, RequestKey, refused_of};
use crate::kit::running::Running;
use isobar_model::{Action, NodeId, NodeWeight, Observation, Outcome, Pid, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of pids that are remembered after they left; beyond it the lowest are forgotten.
const REMEMBERED: usize = 4096;

/// Where new pages go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The node; if pages are spread over several nodes, the one that gets most.
    pub node: NodeId,
    /// How they are spread; empty: all on `node`.
    pub weights: Vec<NodeWeight>,
}

impl Target {
    /// All new pages on one node.
    #[must_use]
    pub const fn all_on(node: NodeId) -> Self {
        Self { node, weights: Vec::new() }
    }
}

/// What was asked for, for each process that is observed. A process that is idle leaves the
/// observation while its rule stays in force, and may return; another process with the same pid may
/// appear as well. In either case the rule is asked for again, whatever the choice is.
#[derive(Clone, Debug, Default)]
pub struct Allocations {
    in_force: BTreeMap<Pid, InForce>,
    /// Pids not observed now for which something was asked.
    left: BTreeSet<Pid>,
    /// What was in force before this epoch, for the processes that it changed.
    before: BTreeMap<Pid, InForce>,
    refused: Refused,
}

/// What was asked for one process.
#[derive(Clone, Debug, Default)]
struct InForce {
    /// For the whole process.
    whole: Option<Target>,
    /// For its threads on a node; asked for later than `whole`.
    by_node: BTreeMap<NodeId, Target>,
    /// The process left and returned: only what was asked for since then is known.
    returned: bool,
}

impl InForce {
    /// Where threads on a node allocate, if that is known. If nothing was asked, they allocate on
    /// that node.
    fn of(&self, node: NodeId) -> Option<Target> {
        let asked = self.by_node.get(&node).or(self.whole.as_ref()).cloned();
        asked.or_else(|| (!self.returned).then(|| Target::all_on(node)))
    }

    /// Restores what was in force before, for threads on a node or for the whole process.
    fn take_back(&mut self, for_node: Option<NodeId>, before: &Self) {
        match for_node {
            None => *self = before.clone(),
            Some(node) => match before.by_node.get(&node) {
                Some(target) => drop(self.by_node.insert(node, target.clone())),
                None => drop(self.by_node.remove(&node)),
            },
        }
    }

    fn set(&mut self, for_node: Option<NodeId>, target: Target) {
        match for_node {
            Some(node) => drop(self.by_node.insert(node, target)),
            None => *self = Self { whole: Some(target), ..Self::default() },
        }
    }
}

impl Allocations {
    /// Adds the changes to a plan. `wanted` says where the new pages of threads on a node go, with
    /// the reason; `None`: no change. If a process runs on one node, one request covers the whole
    /// process.
    pub fn follow(&mut self, seen: &Observation, wanted: impl Fn(NodeId) -> Option<(Target, String)>, plan: &mut Plan) {
        self.refused.next_epoch(seen);
        self.before.clear();
        self.leave_and_return(seen);
        for process in &seen.processes {
            let Some(Running { nodes, .. }) = Running::of(process, &seen.machine) else { continue };
            if self.refused.waits(RequestKey::Allocation(process.pid)) {
                continue;
            }
            for &node in &nodes {
                let Some((target, reason)) = wanted(node) else { continue };
                let now = self.in_force.get(&process.pid).map_or_else(|| Some(Target::all_on(node)), |it| it.of(node));
                if now.as_ref() == Some(&target) {
                    continue;
                }
                let for_node = (nodes.len() > 1).then_some(node);
                let in_force = self.in_force.entry(process.pid).or_default();
                self.before.entry(process.pid).or_insert_with(|| in_force.clone());
                in_force.set(for_node, target.clone());
                let Target { node, weights } = target;
                plan.actions.push(Action::SetAllocation { pid: process.pid, for_node, node, weights, reason });
            }
        }
    }

    /// Takes the outcome of a plan: what was refused is not in force.
    pub fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.refused.applied(plan, outcome);
        for action in refused_of(plan, outcome) {
            let Action::SetAllocation { pid, for_node, .. } = action else { continue };
            if let (Some(now), Some(before)) = (self.in_force.get_mut(pid), self.before.get(pid)) {
                now.take_back(*for_node, before);
            }
        }
    }

    /// Keeps only the pids of processes that left. Nothing is taken to be known of those seen
    /// again.
    fn leave_and_return(&mut self, seen: &Observation) {
        let gone = |pid: &Pid| seen.process(*pid).is_none();
        self.left.extend(self.in_force.keys().copied().filter(gone));
        self.in_force.retain(|pid, _| !gone(pid));
        for process in &seen.processes {
            if self.left.remove(&process.pid) {
                self.in_force.insert(process.pid, InForce { returned: true, ..InForce::default() });
            }
        }
        while self.left.len() > REMEMBERED {
            self.left.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camm::test_kit::on_nodes;
    use crate::test_kit::{moved, observation, process, thread};
    use isobar_model::ActionOutcome;

    /// Decides that threads on node n allocate on `choices[n]`.
    fn asked(allocations: &mut Allocations, seen: &Observation, choices: [u32; 2]) -> Vec<String> {
        let mut plan = Plan::nothing("test");
        let to = |node: NodeId| Some((Target::all_on(NodeId(choices[node.0 as usize])), "because".to_owned()));
        allocations.follow(seen, to, &mut plan);
        moved(seen, &plan)
    }

    #[test]
    fn only_changes_are_asked_for() {
        let mut allocations = Allocations::default();
        let seen = observation("node:2 core:4", on_nodes(&[0, 1]));
        assert!(asked(&mut allocations, &seen, [0, 1]).is_empty(), "local is what the kernel does");
        assert_eq!(asked(&mut allocations, &seen, [1, 1]), ["1: new >1"]);
        assert!(asked(&mut allocations, &seen, [1, 1]).is_empty());
        assert_eq!(asked(&mut allocations, &seen, [0, 1]), ["1: new >0"], "back to local");
    }

    #[test]
    fn a_process_that_moves_or_is_new_is_asked_for_anew() {
        let mut allocations = Allocations::default();
        let at = |node| observation("node:2 core:4", on_nodes(&[node]));
        assert_eq!(asked(&mut allocations, &at(0), [1, 1]), ["1: new >1"]);
        assert!(asked(&mut allocations, &at(1), [1, 1]).is_empty(), "its new pages go to node 1 already");
        assert_eq!(asked(&mut allocations, &at(1), [1, 0]), ["1: new >0"]);
        assert!(asked(&mut allocations, &observation("node:2 core:4", vec![]), [1, 0]).is_empty());
        assert_eq!(
            asked(&mut allocations, &at(0), [1, 0]),
            ["1: new >1"],
            "another process with the pid of a dead one"
        );
    }

    /// While the process is idle, the rule of its last choice stays in force.
    #[test]
    fn a_process_that_returns_is_asked_for_also_where_its_own_node_is_the_choice() {
        let mut allocations = Allocations::default();
        let both = observation("node:2 core:4", vec![process(1, vec![thread(1, 0, 1.0), thread(2, 4, 1.0)])]);
        let one = observation("node:2 core:4", on_nodes(&[0]));
        let none = observation("node:2 core:4", vec![]);
        assert_eq!(asked(&mut allocations, &one, [1, 1]), ["1: new >1"]);
        for _ in 0..3 {
            assert!(asked(&mut allocations, &none, [0, 1]).is_empty());
        }
        assert_eq!(asked(&mut allocations, &one, [0, 1]), ["1: new >0"]);
        assert!(asked(&mut allocations, &one, [0, 1]).is_empty(), "ordinary again");
        asked(&mut allocations, &none, [0, 1]);
        assert_eq!(asked(&mut allocations, &both, [0, 1]), ["1: on 0 new >0", "1: on 1 new >1"]);
        assert!(asked(&mut allocations, &both, [0, 1]).is_empty());
    }

    #[test]
    fn a_process_that_returns_waits_for_a_choice_and_few_are_remembered() {
        let mut allocations = Allocations::default();
        let one = observation("node:2 core:4", on_nodes(&[0]));
        let none = observation("node:2 core:4", vec![]);
        asked(&mut allocations, &one, [1, 1]);
        asked(&mut allocations, &none, [1, 1]);
        let mut plan = Plan::nothing("test");
        allocations.follow(&one, |_| None, &mut plan);
        assert!(plan.actions.is_empty());
        assert_eq!(asked(&mut allocations, &one, [0, 1]), ["1: new >0"], "once there is a choice");
        allocations.left = (0..=5000).map(Pid).collect();
        asked(&mut allocations, &none, [0, 1]);
        assert_eq!((allocations.left.len(), allocations.left.first()), (REMEMBERED, Some(&Pid(905))));
    }

    #[test]
    fn what_was_refused_is_not_in_force_and_is_asked_for_again_later() {
        let mut allocations = Allocations::default();
        let seen = observation("node:2 core:4", on_nodes(&[0, 1]));
        let mut asked = |choices: [u32; 2], refused: bool| {
            let mut plan = Plan::nothing("test");
            let to = |node: NodeId| Some((Target::all_on(NodeId(choices[node.0 as usize])), "because".to_owned()));
            allocations.follow(&seen, to, &mut plan);
            let why = "no".to_owned();
            let each = if refused { ActionOutcome::LeftAlone { why } } else { ActionOutcome::Done };
            allocations.applied(&plan, &Outcome { actions: vec![each; plan.actions.len()] });
            moved(&seen, &plan)
        };
        assert_eq!(asked([1, 1], true), ["1: new >1"]);
        assert!(asked([1, 1], true).is_empty(), "it waits");
        assert_eq!(asked([1, 1], true), ["1: new >1"], "and is tried again");
        assert!((0..3).all(|_| asked([0, 1], true).is_empty()), "its own node is what the kernel does, after all");
        assert_eq!(asked([1, 1], false), ["1: new >1"]);
        assert!(asked([1, 1], true).is_empty(), "in force");
        assert_eq!(asked([0, 1], true), ["1: new >0"]);
        assert!((0..4).all(|_| asked([1, 1], true).is_empty()), "still in force");
    }

    #[test]
    fn a_process_on_several_nodes_is_asked_for_by_node() {
        let mut allocations = Allocations::default();
        let both = observation("node:2 core:4", vec![process(1, vec![thread(1, 0, 1.0), thread(2, 4, 1.0)])]);
        assert_eq!(asked(&mut allocations, &both, [1, 1]), ["1: on 0 new >1"]);
        assert_eq!(asked(&mut allocations, &both, [1, 0]), ["1: on 1 new >0"]);
        let one = observation("node:2 core:4", vec![process(1, vec![thread(1, 0, 1.0)])]);
        assert_eq!(asked(&mut allocations, &one, [0, 1]), ["1: new >0"], "as a whole, over what was asked by node");
        assert!(asked(&mut allocations, &one, [0, 1]).is_empty());
        assert_eq!(asked(&mut allocations, &both, [0, 1]), ["1: on 1 new >1"]);
    }
}
