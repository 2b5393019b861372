//! What the actuators of the simulated machine do: bind threads, queue page migrations. Refusals are those of a real machine.

use super::SimMachine;
use isobar_model::{Action, ActionOutcome, CpuId, NodeId, PageSelection, Pages, Pid, Tid};

/// Pages on their way, copied by one kernel thread in the order in which they were asked for.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub pid: Pid,
    pub thread: Option<usize>,
    pub select: PageSelection,
    pub from: usize,
    pub to: usize,
    /// Pages left to copy; a fraction is a page under way.
    pub left: f64,
}

/// A migration of the same process to the same node within so many epochs continues the one before.
const SAME_MIGRATION: f64 = 1.5;

impl SimMachine {
    pub(super) fn act(&mut self, action: &Action) -> ActionOutcome {
        match action {
            Action::MoveThread { pid, tid, cpu, .. } => self.bind(*pid, *tid, *cpu),
            Action::MigratePages { pid, from, to, pages, select, for_thread, .. } => {
                self.migrate(*pid, (*from, *to), *pages, *select, *for_thread)
            }
            Action::SetWays { .. } => left_alone("LLC ways are not simulated yet"),
            Action::SetAllocation { .. } => left_alone("allocation policies are not simulated yet"),
        }
    }

    fn bind(&mut self, pid: Pid, tid: Tid, cpu: CpuId) -> ActionOutcome {
        if self.workload.machine.topology.cpu(cpu).is_none() {
            return refused(format!("cpu {cpu} is not on this machine"));
        }
        let process = self.processes.iter_mut().find(|process| process.pid == pid);
        let found = process.and_then(|p| Some((p.app, p.threads.iter_mut().find(|thread| thread.tid == tid)?)));
        let Some((app, thread)) = found else { return ActionOutcome::Vanished };
        thread.bound = true;
        if thread.cpu != cpu {
            // Another core of the same LLC finds its lines; another LLC does not.
            let llc = |cpu: CpuId| self.workload.machine.places[&cpu].llc;
            if llc(thread.cpu) != llc(cpu) {
                thread.occupancy = 0.0;
            }
            thread.cpu = cpu;
            self.totals[app].thread_migrations += 1;
        }
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
            return left_alone("the pages are on that node already");
        }
        let Some(index) = self.processes.iter().position(|process| process.pid == pid) else {
            return ActionOutcome::Vanished;
        };
        let asked: u64 = self.copies.iter().filter(|c| c.pid == pid && c.from == from).map(Copy::pages).sum();
        let room: u64 = self.copies.iter().filter(|copy| copy.to == to).map(Copy::pages).sum();
        let there = pages.0.min(self.processes[index].memory.on_node(from).saturating_sub(asked));
        let moved = there.min(self.free_pages()[to].saturating_sub(room));
        let thread = tid.and_then(|tid| self.processes[index].threads.iter().position(|thread| thread.tid == tid));
        if moved > 0 {
            self.copies.push_back(Copy { pid, thread, select, from, to, left: isobar_model::num::float(moved) });
            self.count_migration(index, to);
        }
        let stayed = [("no longer there", pages.0 - there), ("no memory on the target", there - moved)];
        let stayed = stayed.into_iter().filter(|(_, count)| *count > 0);
        ActionOutcome::Pages {
            moved: Pages(moved),
            stayed: stayed.map(|(why, count)| (why.to_owned(), Pages(count))).collect(),
        }
    }

    /// One memory migration is a stretch of epochs in which pages of a process go to one node (DINO, table 1, counts those).
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

impl Copy {
    fn pages(&self) -> u64 {
        isobar_model::num::round(self.left.ceil())
    }
}

fn refused(why: String) -> ActionOutcome {
    ActionOutcome::Refused { errno: None, why }
}

fn left_alone(why: &str) -> ActionOutcome {
    ActionOutcome::LeftAlone { why: why.to_owned() }
}
