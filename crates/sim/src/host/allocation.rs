//! Where new pages of a process go: to the node of the thread that touches them first, unless an
//! action or the workload spreads them over nodes by weights, as weighted interleave does.

use crate::machine::MachineSpec;
use crate::workload::App;
use std::collections::BTreeMap;

/// The rules that were set for the threads of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Allocation {
    /// For threads on a node that has no rule of its own.
    everywhere: Option<Rule>,
    /// By the position of the node that the threads run on.
    by_node: BTreeMap<usize, Rule>,
}

/// Nodes by position with their weights, and the number of pages given to each.
#[derive(Clone, Debug, PartialEq)]
struct Rule {
    weights: Vec<(usize, u64)>,
    dealt: Vec<u64>,
}

impl Allocation {
    /// The rules that an application starts with.
    pub fn of(app: &App, machine: &MachineSpec) -> Self {
        let weights = app.spread.iter();
        let weights = weights.filter_map(|to| Some((machine.node_position(to.node)?, u64::from(to.weight))));
        let mut allocation = Self::default();
        if !app.spread.is_empty() {
            allocation.set(None, weights.collect());
        }
        allocation
    }

    /// Sets the rule for the threads on a node. If it is for all threads, all other rules are
    /// removed.
    pub fn set(&mut self, for_node: Option<usize>, weights: Vec<(usize, u64)>) {
        let before = match for_node {
            None => {
                self.by_node.clear();
                self.everywhere.take()
            }
            Some(node) => self.by_node.remove(&node),
        };
        // Setting the same rule again continues where it was.
        let rule = before.filter(|rule| rule.weights == weights).unwrap_or_else(|| Rule::new(weights));
        match for_node {
            None => self.everywhere = Some(rule),
            Some(node) => drop(self.by_node.insert(node, rule)),
        }
    }

    /// Removes a rule; returns whether there was one.
    pub fn unset(&mut self, for_node: Option<usize>) -> bool {
        match for_node {
            None => self.everywhere.take().is_some(),
            Some(node) => self.by_node.remove(&node).is_some(),
        }
    }

    /// Distributes the next pages of a thread that runs on a node: nodes by position, with their
    /// pages.
    pub fn deal(&mut self, node: usize, pages: u64) -> Vec<(usize, u64)> {
        let rule = self.by_node.get_mut(&node).or(self.everywhere.as_mut());
        rule.map_or_else(|| vec![(node, pages)], |rule| rule.deal(pages))
    }
}

impl Rule {
    fn new(weights: Vec<(usize, u64)>) -> Self {
        Self { dealt: vec![0; weights.len()], weights }
    }

    /// Gives every node the pages that it still lacks of its share of all pages dealt so far. Pages
    /// left by rounding go to the nodes that lack most, the first among equals.
    fn deal(&mut self, pages: u64) -> Vec<(usize, u64)> {
        let all: u64 = self.weights.iter().map(|(_, weight)| weight).sum::<u64>().max(1);
        let total = pages + self.dealt.iter().sum::<u64>();
        let due: Vec<_> = self.weights.iter().map(|(_, weight)| u128::from(total) * u128::from(*weight)).collect();
        let mut given = vec![0; due.len()];
        let mut left = pages;
        for (index, due) in due.iter().enumerate() {
            let due = u64::try_from(due / u128::from(all)).unwrap_or(u64::MAX);
            given[index] = due.saturating_sub(self.dealt[index]).min(left);
            left -= given[index];
        }
        while left > 0 {
            let lack = |index: &usize| {
                due[*index].saturating_sub(u128::from(self.dealt[*index] + given[*index]) * u128::from(all))
            };
            let most = (0..due.len()).rev().max_by_key(lack).unwrap_or_default();
            given[most] += 1;
            left -= 1;
        }
        self.dealt.iter_mut().zip(&given).for_each(|(dealt, given)| *dealt += given);
        self.weights.iter().zip(given).map(|((node, _), given)| (*node, given)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights 60 and 40: of every five pages three and two, even if pages come one by one.
    #[test]
    fn weights_hold_for_many_pages_and_for_single_ones() {
        let mut many = Allocation::default();
        many.set(None, vec![(0, 60), (1, 40)]);
        assert_eq!(many.deal(0, 1000), [(0, 600), (1, 400)]);
        let mut single = many.clone();
        let mut sum = [0, 0];
        for _ in 0..50 {
            single.deal(1, 1).into_iter().for_each(|(node, pages)| sum[node] += pages);
        }
        assert_eq!(sum, [30, 20]);
        assert_eq!(many.deal(0, 7).iter().map(|(_, pages)| pages).sum::<u64>(), 7);
    }

    #[test]
    fn first_touch_unless_a_rule_says_otherwise_and_the_last_rule_counts() {
        let mut allocation = Allocation::default();
        assert_eq!(allocation.deal(3, 9), [(3, 9)]);
        allocation.set(Some(3), vec![(1, 1)]);
        assert_eq!((allocation.deal(3, 9), allocation.deal(2, 4)), (vec![(1, 9)], vec![(2, 4)]));
        allocation.set(None, vec![(0, 1)]);
        assert_eq!((allocation.deal(3, 9), allocation.deal(2, 4)), (vec![(0, 9)], vec![(0, 4)]));
    }

    use super::super::SimMachine;
    use crate::workload::Workload;
    use isobar_model::{Action, ActionOutcome, Machine, NodeId, NodeWeight, Pid, Plan, Seconds};

    fn machine(app: &str) -> SimMachine {
        let run = "[run]\nruns = 1\nrestart = false\ninstructions_factor = 0.1\n";
        let apps = format!("[[app]]\nprogram = \"milc\"\ncpu = 0\ntouch_share = 1.0\n{app}\n");
        let text = format!("machine = \"haswell-2x18\"\n{run}{apps}[[app]]\nprogram = \"namd\"\ncpu = 1\n");
        SimMachine::new(&Workload::from_toml("w.toml", &text).unwrap(), 1)
    }

    fn set(machine: &mut SimMachine, for_node: Option<u32>, node: u32, weights: &[(u32, u8)]) -> ActionOutcome {
        let weights = weights.iter().map(|(node, weight)| NodeWeight { node: NodeId(*node), weight: *weight });
        let action = Action::SetAllocation {
            pid: Pid(1000),
            for_node: for_node.map(NodeId),
            node: NodeId(node),
            weights: weights.collect(),
            reason: "test".into(),
        };
        let plan = Plan { actions: vec![action], ..Plan::nothing("test") };
        machine.apply(&plan).unwrap().actions.remove(0)
    }

    fn pages(machine: &SimMachine) -> [u64; 2] {
        let memory = &machine.processes[0].memory;
        [memory.on_node(0), memory.on_node(1)]
    }

    /// A program that touches memory as long as it runs: pages touched after the action go where
    /// the action says, earlier pages stay.
    #[test]
    fn new_pages_follow_the_action_and_old_ones_stay() {
        let mut machine = machine("");
        machine.wait(Seconds(1.0)).unwrap();
        let before = pages(&machine);
        assert!(before[0] > 1000 && before[1] == 0, "{before:?}");
        assert_eq!(set(&mut machine, Some(1), 1, &[]), ActionOutcome::Done);
        machine.wait(Seconds(1.0)).unwrap();
        let other_node = pages(&machine);
        assert!(other_node[0] > before[0] && other_node[1] == 0, "for threads on node 1 only: {other_node:?}");
        assert_eq!(set(&mut machine, None, 1, &[(0, 1), (1, 3)]), ActionOutcome::Done);
        machine.wait(Seconds(1.0)).unwrap();
        let after = pages(&machine);
        let new = [after[0] - other_node[0], after[1]];
        assert!(new[1] > 1000 && new[1].abs_diff(3 * new[0]) <= 4, "{new:?}");
        machine.restore().unwrap();
        machine.wait(Seconds(0.5)).unwrap();
        assert!(pages(&machine)[0] > after[0] && pages(&machine)[1] == after[1], "put back");
    }

    #[test]
    fn owners_come_first_and_what_cannot_be_is_refused() {
        let own = "spread = [{ node = 0, weight = 70 }, { node = 1, weight = 30 }]";
        let mut spread = machine(own);
        spread.wait(Seconds(1.0)).unwrap();
        let [home, away] = pages(&spread);
        assert!(away > 1000 && (3 * home).abs_diff(7 * away) <= 20, "{home} {away}");
        let left = set(&mut spread, None, 1, &[]);
        assert!(matches!(&left, ActionOutcome::LeftAlone { why } if why.contains("owner")), "{left:?}");
        let refused = set(&mut machine(""), None, 7, &[]);
        assert!(matches!(refused, ActionOutcome::Refused { .. }), "{refused:?}");
    }

    /// A process that has ended and is not started again is gone with its memory, and the other
    /// goes on.
    #[test]
    fn what_is_not_started_again_is_gone() {
        let mut machine = machine("");
        machine.wait(Seconds(1e6)).unwrap();
        let report = machine.report();
        assert!(report.apps.iter().all(|app| app.completed == 1), "{report:?}");
        let gone = machine.processes.iter().filter(|process| process.gone).count();
        assert_eq!((gone, machine.sample().unwrap().processes.len()), (2, 0));
        let spec = &machine.workload.machine;
        assert_eq!(machine.free_pages(), spec.pages);
    }
}
