//! What the actuators of the simulated machine do: bind threads, move pages, give clusters of
//! threads ways of an LLC, say where new pages go. Refusals are those of a real machine.
//!
//! **Moving pages takes time.** As `move_pages(2)` on Linux, an action comes back when its pages
//! have moved, and time passes for every process meanwhile: the copies compete for controllers and
//! links, and the process pays for shootdowns. What is reported is what is at its new place, and
//! the next sample shows it there.

use super::SimMachine;
use super::ways::ClusterError;
use crate::error::SimError;
use isobar_model::{Action, ActionOutcome, CpuId, LlcId, NodeId, NodeWeight, PageSelection, Pages, Pid, Tid, num};

/// Pages on their way, copied by a kernel thread.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub pid: Pid,
    pub thread: Option<usize>,
    pub select: PageSelection,
    pub from: usize,
    pub to: usize,
    /// Pages left to copy; a fraction is a page under way.
    pub left: f64,
    /// Pages that have moved.
    pub moved: u64,
}

/// A migration of the same process to the same node within this many epochs continues the one
/// before.
const SAME_MIGRATION: f64 = 1.5;

impl SimMachine {
    pub(super) fn act(&mut self, action: &Action) -> Result<ActionOutcome, SimError> {
        Ok(match action {
            Action::MoveThread { pid, tid, cpu, .. } => self.bind(*pid, *tid, *cpu),
            Action::MigratePages { pid, from, to, pages, select, for_thread, .. } => {
                return self.migrate(*pid, (*from, *to), *pages, *select, *for_thread);
            }
            // To accept it and do nothing would show a policy an effect that does not exist.
            Action::SetWays { memory_bandwidth_percent: Some(percent), .. } => refused(format!(
                "memory_bandwidth_percent {percent}: memory-bandwidth allocation is not simulated; leave it out"
            )),
            Action::SetWays { llc, cluster, way_mask, threads, .. } => self.set_ways(*llc, cluster, *way_mask, threads),
            Action::SetAllocation { pid, for_node, node, weights, .. } => {
                self.allocate(*pid, *for_node, *node, weights)
            }
        })
    }

    fn bind(&mut self, pid: Pid, tid: Tid, cpu: CpuId) -> ActionOutcome {
        if self.workload.machine.topology.cpu(cpu).is_none() {
            return refused(format!("cpu {cpu} is not on this machine"));
        }
        let Some(p) = self.position(pid) else {
            return ActionOutcome::Vanished;
        };
        let process = &mut self.processes[p];
        let app = process.app;
        let Some(t) = process.threads.iter().position(|thread| thread.tid == tid) else {
            return ActionOutcome::Vanished;
        };
        let thread = &mut process.threads[t];
        thread.bound = true;
        if thread.cpu != cpu {
            // Another core of the same LLC finds its lines; another LLC does not.
            let llc = |cpu: CpuId| self.workload.machine.places[&cpu].llc;
            let leaves = llc(thread.cpu) != llc(cpu);
            thread.cpu = cpu;
            self.totals[app].thread_migrations += 1;
            if leaves {
                self.totals[app].llc_migrations += 1;
                self.chill(p, t);
            }
        }
        self.changed = true;
        ActionOutcome::Done
    }

    /// Puts threads into a cluster and gives it ways.
    fn set_ways(&mut self, llc: LlcId, cluster: &str, mask: u64, threads: &[Tid]) -> ActionOutcome {
        let Some(position) = self.workload.machine.topology.llcs().iter().position(|other| other.id == llc) else {
            return refused(format!("llc {llc} is not on this machine"));
        };
        let alive = self.processes.iter().flat_map(|process| &process.threads).map(|thread| thread.tid);
        let there: Vec<_> = alive.filter(|tid| threads.contains(tid)).collect();
        if there.is_empty() && !threads.is_empty() {
            return ActionOutcome::Vanished;
        }
        self.changed = true;
        let machine = &self.workload.machine;
        let what = (machine.memory.llcs()[position], machine.classes[position]);
        match self.clusters.set(what, position, cluster, mask, &there) {
            Ok(()) => ActionOutcome::Done,
            Err(ClusterError(why)) => refused(format!("llc {llc}, cluster {cluster:?}: {why}")),
        }
    }

    /// Sends the new pages of a process to a node, or spreads them over several.
    fn allocate(&mut self, pid: Pid, for_node: Option<NodeId>, node: NodeId, weights: &[NodeWeight]) -> ActionOutcome {
        let machine = &self.workload.machine;
        let one = [NodeWeight { node, weight: 1 }];
        let weights = if weights.is_empty() { &one } else { weights };
        let position = |weight: &NodeWeight| Some((machine.node_position(weight.node)?, u64::from(weight.weight)));
        let spread: Option<Vec<_>> = weights.iter().map(position).collect();
        let threads_on = for_node.map(|node| machine.node_position(node));
        let (Some(spread), false) = (spread, threads_on == Some(None)) else {
            return refused("one of the nodes is not on this machine".to_owned());
        };
        if spread.iter().all(|(_, weight)| *weight == 0) {
            return refused("no node has a weight above 0".to_owned());
        }
        let Some(index) = self.position(pid) else { return ActionOutcome::Vanished };
        let process = &mut self.processes[index];
        let app = &self.workload.apps[process.app];
        if app.memory_node.is_some() || !app.spread.is_empty() {
            return left_alone("its owner set where its memory goes");
        }
        process.allocation.set(threads_on.flatten(), spread);
        ActionOutcome::Done
    }

    fn migrate(
        &mut self,
        pid: Pid,
        (from, to): (NodeId, NodeId),
        pages: Pages,
        select: PageSelection,
        tid: Option<Tid>,
    ) -> Result<ActionOutcome, SimError> {
        let machine = &self.workload.machine;
        let (Some(from), Some(to)) = (machine.node_position(from), machine.node_position(to)) else {
            return Ok(refused("one of the nodes is not on this machine".to_owned()));
        };
        if from == to {
            return Ok(left_alone("the pages are on that node already"));
        }
        let Some(index) = self.position(pid) else {
            return Ok(ActionOutcome::Vanished);
        };
        let there = pages.0.min(self.processes[index].memory.on_node(from));
        let room = there.min(self.free_pages()[to]);
        let thread = tid.and_then(|tid| self.processes[index].threads.iter().position(|thread| thread.tid == tid));
        if room > 0 {
            self.count_migration(index, to);
        }
        let copy = Copy { pid, thread, select, from, to, left: num::float(room), moved: 0 };
        let moved =
            if self.workload.run.costs.page_copies { self.copy_now(copy)? } else { self.copy_at_once(index, &copy) };
        let stayed = [
            ("no longer there", pages.0 - there),
            ("no memory on the target", there - room),
            ("the process or the run ended first", room - moved),
        ];
        Ok(ActionOutcome::Pages {
            moved: Pages(moved),
            stayed: stayed
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(why, count)| (why.to_owned(), Pages(count)))
                .collect(),
        })
    }

    /// Moves pages in no time: a workload that leaves out the cost of copies.
    fn copy_at_once(&mut self, index: usize, copy: &Copy) -> u64 {
        let process = &mut self.processes[index];
        let moved = process.memory.migrate(copy.thread, copy.select, copy.from, copy.to, num::round(copy.left));
        self.totals[process.app].pages_moved += moved;
        self.changed = true;
        moved
    }

    /// Copies pages while time passes, until all have moved or cannot any more; returns how many
    /// have.
    fn copy_now(&mut self, copy: Copy) -> Result<u64, SimError> {
        if copy.left <= 0.0 {
            return Ok(0);
        }
        self.copy = Some(copy);
        self.changed = true;
        self.balance();
        while !self.ended() && self.copy.as_ref().is_some_and(|copy| copy.left > 0.0) {
            self.step_by(self.workload.run.step_seconds)?;
        }
        self.changed = true;
        Ok(self.copy.take().map_or(0, |copy| copy.moved))
    }

    /// One memory migration is a stretch of epochs in which pages of a process go to one node
    /// (DINO, table 1, counts those).
    fn count_migration(&mut self, index: usize, to: usize) {
        let process = &mut self.processes[index];
        let horizon = self.now - SAME_MIGRATION * self.workload.run.epoch_seconds;
        let same = process.migrating.is_some_and(|(node, time)| node == to && time >= horizon);
        if !same {
            self.totals[process.app].memory_migrations += 1;
        }
        process.migrating = Some((to, self.now));
    }
}

fn refused(why: String) -> ActionOutcome {
    ActionOutcome::Refused { errno: None, why }
}

pub(super) fn left_alone(why: &str) -> ActionOutcome {
    ActionOutcome::LeftAlone { why: why.to_owned() }
}
