//! Undoes one action, while the others stay in effect.

use super::SimMachine;
use super::actuators::left_alone;
use super::process::Hold;
use isobar_model::{Action, ActionOutcome, NodeId, PageSelection, Pages, Pid, Tid};

impl SimMachine {
    /// As [`isobar_model::Machine::undo`].
    pub(super) fn take_back(&mut self, action: &Action, outcome: &ActionOutcome) -> ActionOutcome {
        self.changed = true;
        match action {
            Action::MoveThread { pid, tid, .. } => self.free(*pid, *tid),
            Action::MigratePages { pid, from, to, .. } => match self.moved_by(outcome) {
                Some(0) => left_alone("none of its pages has moved"),
                Some(moved) => self.act(&back(*pid, (*to, *from), moved)),
                None => left_alone("isobar no longer knows which pages it moved"),
            },
            Action::WithdrawPages { .. } => left_alone("pages that were not moved stay where they are"),
            Action::SetWays { .. } => self.act(&without_threads(action)),
            Action::SetAllocation { pid, for_node, .. } => self.forget_allocation(*pid, *for_node),
        }
    }

    fn free(&mut self, pid: Pid, tid: Tid) -> ActionOutcome {
        let Some(p) = self.position(pid) else { return ActionOutcome::Vanished };
        let Some(thread) = self.processes[p].threads.iter_mut().find(|thread| thread.tid == tid) else {
            return ActionOutcome::Vanished;
        };
        if std::mem::replace(&mut thread.hold, Hold::Free) == Hold::Free {
            return left_alone("isobar's binding of the thread is already gone");
        }
        ActionOutcome::Done
    }

    /// Ends a migration, and returns how many pages it has moved.
    fn moved_by(&mut self, outcome: &ActionOutcome) -> Option<u64> {
        match outcome {
            ActionOutcome::Queued { number, .. } => self.copies.take_back(*number),
            ActionOutcome::Pages { moved, .. } => Some(moved.0),
            _ => None,
        }
    }

    fn forget_allocation(&mut self, pid: Pid, for_node: Option<NodeId>) -> ActionOutcome {
        let threads_on = for_node.and_then(|node| self.workload.machine.node_position(node));
        let Some(index) = self.position(pid) else { return ActionOutcome::Vanished };
        if self.processes[index].allocation.unset(threads_on) {
            ActionOutcome::Done
        } else {
            left_alone("isobar's decision about its new pages is already gone")
        }
    }
}

fn back(pid: Pid, (from, to): (NodeId, NodeId), moved: u64) -> Action {
    let (select, reason) = (PageSelection::ResidentSet, "taken back".to_owned());
    Action::MigratePages { pid, from, to, pages: Pages(moved), select, for_thread: None, reason }
}

/// The same cluster without threads, which removes the cluster.
fn without_threads(action: &Action) -> Action {
    let mut gone = action.clone();
    if let Action::SetWays { threads, memory_bandwidth_percent, .. } = &mut gone {
        (*threads, *memory_bandwidth_percent) = (Vec::<Tid>::new(), None);
    }
    gone
}
