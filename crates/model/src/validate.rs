//! Checks whether a plan can be carried out on the machine for which it was made. Property tests
//! check this for every policy, and the command checks it again before it acts.

use crate::change::Prediction;
use crate::cpuset::CpuSet;
use crate::ids::{CpuId, LlcId, NodeId, Pid, Tid};
use crate::observation::{Observation, Process};
use crate::plan::{Action, NodeWeight, Plan, PlanPart};
use std::collections::{BTreeMap, BTreeSet};

/// Why a plan is not valid for an observation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFault {
    /// a thread that was not observed
    #[error("thread {1} of process {0} was not observed")]
    UnknownThread(Pid, Tid),
    /// a process that was not observed
    #[error("process {0} was not observed")]
    UnknownProcess(Pid),
    /// a CPU that is not online
    #[error("cpu {0} is not online on this machine")]
    UnknownCpu(CpuId),
    /// a node that does not exist
    #[error("node {0} is not on this machine")]
    UnknownNode(NodeId),
    /// an LLC that does not exist
    #[error("llc {0} is not on this machine")]
    UnknownLlc(LlcId),
    /// a CPU that the thread may not use
    #[error("thread {0} may not run on cpu {1}")]
    NotAllowed(Tid, CpuId),
    /// a CPU that is not among those that the thread may run on afterwards
    #[error("`cpus` of thread {0} lacks cpu {1}, to which it goes")]
    Outside(Tid, CpuId),
    /// a thread that its owner pinned
    #[error("thread {0} was pinned by its owner")]
    Pinned(Tid),
    /// a process of which another policy decides
    #[error("another policy decides about process {0}")]
    Elsewhere(Pid),
    /// two moves of one thread
    #[error("thread {0} is moved twice")]
    MovedTwice(Tid),
    /// pages to the node where they are, or none
    #[error("the page migration of process {0} moves nothing")]
    EmptyMigration(Pid),
    /// more pages than there are
    #[error("process {0} has fewer than {2} pages on node {1}")]
    TooManyPages(Pid, NodeId, u64),
    /// a way mask with no bit, or with bits that the LLC lacks
    #[error("way mask {1:#x} does not fit llc {0}")]
    WayMask(LlcId, u64),
    /// a node twice among the weights, with the weight 0, or missing there
    #[error("weights of an allocation: expected node {0} once, with a weight of 1 to 255")]
    Weights(NodeId),
    /// no share of the memory bandwidth, or more than all of it
    #[error("memory_bandwidth_percent {1} on llc {0}: expected 1 to 100")]
    MemoryBandwidth(LlcId, u32),
    /// a thread in two clusters
    #[error("thread {0} is in two clusters")]
    TwoClusters(Tid),
    /// a part of the plan that names an action which is not there
    #[error("the part for {0} names action {1}, which the plan does not have")]
    NoSuchPart(String, usize),
    /// no reason in words
    #[error("action {0} carries no reason")]
    NoReason(usize),
    /// a prediction of an action that is not in the plan
    #[error("change {0} names action {1}, which the plan does not have")]
    NoSuchAction(u64, usize),
}

impl Plan {
    /// Checks every action against the observation, and every prediction against the actions.
    ///
    /// # Errors
    /// The first fault, in the order of the actions, then of the predictions.
    pub fn validate(&self, seen: &Observation) -> Result<(), PlanFault> {
        let mut check = Check::new(seen);
        self.actions.iter().enumerate().try_for_each(|(index, action)| check.action(index, action))?;
        self.parts.iter().try_for_each(|part| part.names_only(self.actions.len()))?;
        self.predictions.iter().try_for_each(|prediction| prediction.names_only(self.actions.len()))
    }
}

impl PlanPart {
    /// Checks that it names only actions among the first `count`.
    fn names_only(&self, count: usize) -> Result<(), PlanFault> {
        let beyond = self.actions.iter().find(|index| **index >= count);
        beyond.map_or(Ok(()), |index| Err(PlanFault::NoSuchPart(self.group.clone(), *index)))
    }
}

impl Prediction {
    /// Checks that it names only actions among the first `count`.
    fn names_only(&self, count: usize) -> Result<(), PlanFault> {
        let beyond = self.actions.iter().find(|index| **index >= count);
        beyond.map_or(Ok(()), |index| Err(PlanFault::NoSuchAction(self.change, *index)))
    }
}

struct Check<'a> {
    seen: &'a Observation,
    moved: BTreeSet<Tid>,
    clustered: BTreeSet<Tid>,
    taken: BTreeMap<(Pid, NodeId), u64>,
    /// The threads that other policies manage, with their processes.
    elsewhere: BTreeMap<Tid, Pid>,
}

impl<'a> Check<'a> {
    fn new(seen: &'a Observation) -> Self {
        let others = seen.processes.iter().filter(|process| process.elsewhere);
        let threads = others.flat_map(|process| process.threads.iter().map(|thread| (thread.tid, process.pid)));
        let elsewhere = threads.collect();
        Self { seen, moved: BTreeSet::new(), clustered: BTreeSet::new(), taken: BTreeMap::new(), elsewhere }
    }

    fn action(&mut self, index: usize, action: &Action) -> Result<(), PlanFault> {
        if action.reason().trim().is_empty() {
            return Err(PlanFault::NoReason(index));
        }
        match action {
            Action::MoveThread { pid, tid, cpu, cpus, .. } => self.thread(*pid, *tid, *cpu, cpus.as_ref()),
            Action::MigratePages { pid, from, to, pages, .. } => self.pages(*pid, *from, *to, pages.0),
            Action::WithdrawPages { pid, from, to, .. } => self.withdrawal(*pid, *from, *to),
            Action::SetWays { llc, way_mask, memory_bandwidth_percent, threads, .. } => {
                share(*llc, *memory_bandwidth_percent)?;
                self.ways(*llc, *way_mask, threads)
            }
            Action::SetAllocation { pid, for_node, node, weights, .. } => {
                self.process(*pid)?;
                for_node.map_or(Ok(()), |node| self.node(node))?;
                self.node(*node)?;
                self.weights(*node, weights)
            }
        }
    }

    fn thread(&mut self, pid: Pid, tid: Tid, cpu: CpuId, cpus: Option<&CpuSet>) -> Result<(), PlanFault> {
        let thread = self.seen.thread(pid, tid).ok_or(PlanFault::UnknownThread(pid, tid))?;
        self.own(tid)?;
        let all = || std::iter::once(cpu).chain(cpus.into_iter().flat_map(CpuSet::iter));
        all().try_for_each(|cpu| self.seen.machine.cpu(cpu).map(|_| ()).ok_or(PlanFault::UnknownCpu(cpu)))?;
        if thread.pinned {
            return Err(PlanFault::Pinned(tid));
        }
        if let Some(cpu) = all().find(|cpu| !thread.may_run_on(*cpu)) {
            return Err(PlanFault::NotAllowed(tid, cpu));
        }
        if cpus.is_some_and(|cpus| !cpus.contains(cpu)) {
            return Err(PlanFault::Outside(tid, cpu));
        }
        if self.moved.insert(tid) { Ok(()) } else { Err(PlanFault::MovedTwice(tid)) }
    }

    fn pages(&mut self, pid: Pid, from: NodeId, to: NodeId, pages: u64) -> Result<(), PlanFault> {
        let process = self.process(pid)?;
        self.node(from)?;
        self.node(to)?;
        if from == to || pages == 0 {
            return Err(PlanFault::EmptyMigration(pid));
        }
        let taken = self.taken.entry((pid, from)).or_default();
        *taken = taken.saturating_add(pages);
        let present = process.pages.as_ref().map(|by_node| by_node.get(from).map_or(0, |pages| pages.0));
        if present.is_some_and(|present| *taken > present) {
            return Err(PlanFault::TooManyPages(pid, from, *taken));
        }
        Ok(())
    }

    /// Pages under way may belong to a process that is not managed any more.
    fn withdrawal(&self, pid: Pid, from: Option<NodeId>, to: Option<NodeId>) -> Result<(), PlanFault> {
        if self.seen.process(pid).is_some() || !self.seen.page_moves.iter().any(|flight| flight.pid == pid) {
            self.process(pid)?;
        }
        from.into_iter().chain(to).try_for_each(|node| self.node(node))
    }

    fn ways(&mut self, llc: LlcId, mask: u64, threads: &[Tid]) -> Result<(), PlanFault> {
        let ways = self.seen.machine.llc(llc).ok_or(PlanFault::UnknownLlc(llc))?.ways;
        let width = 64 - mask.leading_zeros();
        if mask == 0 || ways.is_some_and(|ways| width > ways.0) {
            return Err(PlanFault::WayMask(llc, mask));
        }
        threads.iter().try_for_each(|tid| self.own(*tid))?;
        let repeated = threads.iter().find(|tid| !self.clustered.insert(**tid));
        repeated.map_or(Ok(()), |tid| Err(PlanFault::TwoClusters(*tid)))
    }

    fn weights(&self, main: NodeId, weights: &[NodeWeight]) -> Result<(), PlanFault> {
        let mut named = BTreeSet::new();
        for NodeWeight { node, weight } in weights {
            self.node(*node)?;
            if *weight == 0 || !named.insert(*node) {
                return Err(PlanFault::Weights(*node));
            }
        }
        if weights.is_empty() || named.contains(&main) { Ok(()) } else { Err(PlanFault::Weights(main)) }
    }

    fn process(&self, pid: Pid) -> Result<&'a Process, PlanFault> {
        let process = self.seen.process(pid).ok_or(PlanFault::UnknownProcess(pid))?;
        if process.elsewhere { Err(PlanFault::Elsewhere(pid)) } else { Ok(process) }
    }

    /// Checks that a thread is one that this policy manages.
    fn own(&self, tid: Tid) -> Result<(), PlanFault> {
        self.elsewhere.get(&tid).map_or(Ok(()), |pid| Err(PlanFault::Elsewhere(*pid)))
    }

    fn node(&self, node: NodeId) -> Result<(), PlanFault> {
        self.seen.machine.node(node).map(|_| ()).ok_or(PlanFault::UnknownNode(node))
    }
}

fn share(llc: LlcId, percent: Option<u32>) -> Result<(), PlanFault> {
    let wrong = percent.filter(|percent| !(1..=100).contains(percent));
    wrong.map_or(Ok(()), |percent| Err(PlanFault::MemoryBandwidth(llc, percent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::NodeMap;
    use crate::observation::Thread;
    use crate::plan::PageSelection;
    use crate::topology::synthetic::synthetic;
    use crate::units::Pages;
    use std::sync::Arc;

    fn seen() -> Observation {
        let thread =
            Thread { cpu: Some(CpuId(0)), allowed_cpus: Some("0-1".parse().unwrap()), ..Thread::unmeasured(Tid(2)) };
        let pages = Some(NodeMap::from_iter([(NodeId(0), Pages(10))]));
        let process = Process { pid: Pid(1), pages, threads: vec![thread], ..Process::default() };
        Observation::bare(Arc::new(synthetic("node:2 core:2").unwrap()), vec![process])
    }

    fn fault(actions: Vec<Action>) -> Option<PlanFault> {
        Plan { actions, ..Plan::nothing("test") }.validate(&seen()).err()
    }

    fn to(tid: u32, cpu: u32) -> Action {
        Action::MoveThread { pid: Pid(1), tid: Tid(tid), cpu: CpuId(cpu), cpus: None, reason: "because".into() }
    }

    /// Thread 2 to CPU 1, and from then on it may run on these CPUs.
    fn among(cpus: &str) -> Action {
        let cpus = Some(cpus.parse().unwrap());
        Action::MoveThread { pid: Pid(1), tid: Tid(2), cpu: CpuId(1), cpus, reason: "because".into() }
    }

    fn migrate(to: u32, pages: u64) -> Action {
        Action::MigratePages {
            pid: Pid(1),
            from: NodeId(0),
            to: NodeId(to),
            pages: Pages(pages),
            select: PageSelection::AroundSamples,
            for_thread: None,
            reason: "because".into(),
        }
    }

    #[test]
    fn good_actions_pass() {
        assert_eq!(fault(vec![to(2, 1), migrate(1, 10)]), None);
    }

    #[test]
    fn predictions_name_actions_of_their_plan() {
        let fault = |named: Vec<usize>| {
            let predictions = vec![Prediction { change: 7, actions: named, ..Prediction::default() }];
            Plan { actions: vec![to(2, 1)], predictions, ..Plan::nothing("test") }.validate(&seen()).err()
        };
        assert_eq!(fault(vec![0]), None);
        assert_eq!(fault(vec![0, 1]), Some(PlanFault::NoSuchAction(7, 1)));
    }

    #[test]
    fn nothing_is_done_to_a_process_of_which_another_policy_decides() {
        let mut seen = seen();
        seen.processes[0].elsewhere = true;
        let (llc, cluster, reason) = (LlcId(0), "a".to_owned(), "because".to_owned());
        let ways = |threads| Action::SetWays {
            llc,
            cluster: cluster.clone(),
            way_mask: 1,
            memory_bandwidth_percent: None,
            threads,
            reason: reason.clone(),
        };
        let withdrawal = Action::WithdrawPages { pid: Pid(1), from: None, to: None, reason: reason.clone() };
        let (for_node, node, weights) = (None, NodeId(0), Vec::new());
        let allocation = Action::SetAllocation { pid: Pid(1), for_node, node, weights, reason: reason.clone() };
        for action in [to(2, 1), migrate(1, 10), ways(vec![Tid(2)]), withdrawal, allocation] {
            let plan = Plan { actions: vec![action], ..Plan::nothing("test") };
            assert_eq!(plan.validate(&seen), Err(PlanFault::Elsewhere(Pid(1))), "{plan:?}");
        }
        let none = Plan { actions: vec![ways(Vec::new())], ..Plan::nothing("test") };
        assert_eq!(none.validate(&seen), Ok(()), "a cluster is removed");
    }

    #[test]
    fn parts_name_actions_of_their_plan() {
        let part = PlanPart { group: "unit:a".into(), policy: "b".into(), actions: vec![0] };
        let mut plan = Plan { actions: vec![to(2, 1)], parts: vec![part], ..Plan::nothing("test") };
        assert_eq!((plan.validate(&seen()), plan.decided_by(0), plan.decided_by(1)), (Ok(()), "b", "test"));
        plan.parts[0].actions.push(1);
        assert_eq!(plan.validate(&seen()), Err(PlanFault::NoSuchPart("unit:a".into(), 1)));
    }

    #[test]
    fn each_fault_is_named() {
        assert_eq!(fault(vec![to(3, 1)]), Some(PlanFault::UnknownThread(Pid(1), Tid(3))));
        assert_eq!(fault(vec![to(2, 9)]), Some(PlanFault::UnknownCpu(CpuId(9))));
        assert_eq!(fault(vec![to(2, 2)]), Some(PlanFault::NotAllowed(Tid(2), CpuId(2))));
        assert_eq!(fault(vec![to(2, 1), to(2, 0)]), Some(PlanFault::MovedTwice(Tid(2))));
        assert_eq!(fault(vec![among("0-1")]), None);
        assert_eq!(fault(vec![among("0")]), Some(PlanFault::Outside(Tid(2), CpuId(1))));
        assert_eq!(fault(vec![among("1-2")]), Some(PlanFault::NotAllowed(Tid(2), CpuId(2))));
        assert_eq!(fault(vec![among("1,9")]), Some(PlanFault::UnknownCpu(CpuId(9))));
        assert_eq!(fault(vec![migrate(0, 1)]), Some(PlanFault::EmptyMigration(Pid(1))));
        assert_eq!(fault(vec![migrate(1, 6), migrate(1, 5)]), Some(PlanFault::TooManyPages(Pid(1), NodeId(0), 11)));
        let withdraw = |pid, to| Action::WithdrawPages { pid: Pid(pid), from: None, to, reason: "because".into() };
        assert_eq!(fault(vec![withdraw(1, None)]), None);
        assert_eq!(fault(vec![withdraw(7, None)]), Some(PlanFault::UnknownProcess(Pid(7))));
        assert_eq!(fault(vec![withdraw(1, Some(NodeId(9)))]), Some(PlanFault::UnknownNode(NodeId(9))));
        let silent = Action::MoveThread { pid: Pid(1), tid: Tid(2), cpu: CpuId(1), cpus: None, reason: " ".into() };
        assert_eq!(fault(vec![silent]), Some(PlanFault::NoReason(0)));
        let slowed = |mask, percent| Action::SetWays {
            llc: LlcId(0),
            cluster: "a".into(),
            way_mask: mask,
            memory_bandwidth_percent: percent,
            threads: vec![Tid(2)],
            reason: "because".into(),
        };
        let ways = |mask| slowed(mask, None);
        assert_eq!(fault(vec![slowed(1, Some(100))]), None);
        assert_eq!(fault(vec![slowed(1, Some(0))]), Some(PlanFault::MemoryBandwidth(LlcId(0), 0)));
        assert_eq!(fault(vec![slowed(1, Some(101))]), Some(PlanFault::MemoryBandwidth(LlcId(0), 101)));
        assert_eq!(fault(vec![ways(1 << 16)]), Some(PlanFault::WayMask(LlcId(0), 1 << 16)));
        assert_eq!(fault(vec![ways(1), ways(2)]), Some(PlanFault::TwoClusters(Tid(2))));
    }
}
