//! The actuators of the simulated machine: they bind threads, move pages, give clusters of threads
//! ways of an LLC, and set where new pages go. They refuse the same actions as a real machine.
//!
//! **Moving pages takes time.** An action accepts pages and returns at once. The pages are copied
//! in parallel with the loop (`copies.rs`), the copies compete for controllers and links, and the
//! process pays for shootdowns. Samples report the progress.

use super::SimMachine;
use super::copies::{Copy, NO_MEMORY, NOT_THERE, reasons};
use super::process::Hold;
use super::ways::{ClusterError, Part};
use isobar_model::{
    Action, ActionOutcome, CpuId, CpuSet, LlcId, NodeId, NodeWeight, PageSelection, Pages, Pid, Tid, num,
};
use std::collections::BTreeMap;

const NO_SHARES: &str = "memory_bandwidth_percent: this machine has no memory-bandwidth allocation; leave it out, or \
                         give the machine `bandwidth_shares`";

impl SimMachine {
    pub(super) fn act(&mut self, action: &Action) -> ActionOutcome {
        match action {
            Action::MoveThread { pid, tid, cpu, cpus, .. } => self.bind(*pid, *tid, *cpu, cpus.as_ref()),
            Action::MigratePages { pid, from, to, pages, select, for_thread, .. } => {
                self.migrate(*pid, (*from, *to), *pages, *select, *for_thread)
            }
            Action::WithdrawPages { pid, from, to, .. } => match self.withdraw(*pid, *from, *to) {
                0 => left_alone("no matching pages of the process are being moved"),
                _ => ActionOutcome::Done,
            },
            Action::SetWays { llc, cluster, way_mask, memory_bandwidth_percent, threads, .. } => {
                self.set_ways(*llc, cluster, (*way_mask, *memory_bandwidth_percent), threads)
            }
            Action::SetAllocation { pid, for_node, node, weights, .. } => {
                self.allocate(*pid, *for_node, *node, weights)
            }
        }
    }

    fn bind(&mut self, pid: Pid, tid: Tid, cpu: CpuId, cpus: Option<&CpuSet>) -> ActionOutcome {
        let mut all = std::iter::once(cpu).chain(cpus.into_iter().flat_map(CpuSet::iter));
        if let Some(cpu) = all.find(|cpu| self.workload.machine.topology.cpu(*cpu).is_none()) {
            return refused(format!("cpu {cpu} is not on this machine"));
        }
        let hold = cpus.map_or(Hold::Cpu, |cpus| self.among(cpu, cpus));
        let Some(p) = self.position(pid) else {
            return ActionOutcome::Vanished;
        };
        let process = &mut self.processes[p];
        let app = process.app;
        let Some(t) = process.threads.iter().position(|thread| thread.tid == tid) else {
            return ActionOutcome::Vanished;
        };
        let thread = &mut process.threads[t];
        if thread.pinned.is_some() {
            return left_alone("pinned by its owner");
        }
        let given_before = thread.hold == hold && matches!(hold, Hold::Among { .. });
        thread.hold = hold;
        if thread.cpu != cpu && !given_before {
            // A thread on another core of the same LLC finds its lines; on another LLC it does not.
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

    /// The hold for a thread that may run among `cpus` and is on one of them; no hold if these are
    /// all CPUs.
    fn among(&self, cpu: CpuId, cpus: &CpuSet) -> Hold {
        if self.workload.machine.topology.online().is_subset(cpus) {
            return Hold::Free;
        }
        let places = &self.workload.machine.places;
        let mut cache = places.iter().filter(|(_, place)| place.llc == places[&cpu].llc);
        Hold::Among { cpus: cpus.clone(), whole_cache: cache.all(|(cpu, _)| cpus.contains(*cpu)) }
    }

    /// Puts threads into a cluster and gives the cluster ways and a share of the memory bandwidth.
    fn set_ways(
        &mut self,
        llc: LlcId,
        cluster: &str,
        (mask, share): (u64, Option<u32>),
        threads: &[Tid],
    ) -> ActionOutcome {
        let Some(position) = self.workload.machine.topology.llcs().iter().position(|other| other.id == llc) else {
            return refused(format!("llc {llc} is not on this machine"));
        };
        let alive = self.processes.iter().flat_map(|process| &process.threads).map(|thread| thread.tid);
        let there: Vec<_> = alive.filter(|tid| threads.contains(tid)).collect();
        if there.is_empty() && !threads.is_empty() {
            return ActionOutcome::Vanished;
        }
        let machine = &self.workload.machine;
        let shares = machine.topology.allocation().and_then(|allocation| allocation.bandwidth);
        let Some(percent) = share.map_or(Some(100), |share| Some(shares?.rounded(share))) else {
            return refused(NO_SHARES.to_owned());
        };
        self.changed = true;
        let what = (machine.memory.llcs()[position], machine.classes[position]);
        match self.clusters.set(what, position, cluster, Part { mask, percent }, &there) {
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
            return left_alone("its owner set its memory policy");
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
    ) -> ActionOutcome {
        let machine = &self.workload.machine;
        let (Some(from), Some(to)) = (machine.node_position(from), machine.node_position(to)) else {
            return refused("one of the nodes is not on this machine".to_owned());
        };
        if from == to {
            return left_alone("the pages are already on that node");
        }
        let Some(index) = self.position(pid) else {
            return ActionOutcome::Vanished;
        };
        let staying = self.processes[index].memory.on_node(from).saturating_sub(self.copies.leaving(pid, from));
        let there = pages.0.min(staying);
        let room = there.min(self.free_pages()[to].saturating_sub(self.copies.arriving(to)));
        let thread = tid.and_then(|tid| self.processes[index].threads.iter().position(|thread| thread.tid == tid));
        let copy = Copy::new(pid, (from, to), room, (thread, select));
        let stayed = BTreeMap::from([(NOT_THERE, pages.0 - there), (NO_MEMORY, there - room)]);
        if self.workload.run.costs.page_copies {
            self.changed = true;
            return self.copies.take_on(copy, stayed, self.now);
        }
        ActionOutcome::Pages { moved: Pages(self.copy_at_once(index, &copy)), stayed: reasons(&stayed) }
    }

    /// Moves pages in no time, for a workload that leaves out the cost of copies.
    fn copy_at_once(&mut self, index: usize, copy: &Copy) -> u64 {
        let process = &mut self.processes[index];
        let moved = process.memory.migrate(copy.thread, copy.select, copy.from, copy.to, num::round(copy.left));
        self.totals[process.app].pages_moved += moved;
        self.changed = true;
        if moved > 0 {
            self.count_migration(index, copy.to);
        }
        moved
    }
}

fn refused(why: String) -> ActionOutcome {
    ActionOutcome::Refused { errno: None, why }
}

pub(super) fn left_alone(why: &str) -> ActionOutcome {
    ActionOutcome::LeftAlone { why: why.to_owned() }
}
