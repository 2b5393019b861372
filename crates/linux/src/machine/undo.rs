//! Takes back one action, while the others stay in effect.

use super::outcomes::left_alone;
use super::{LinuxMachine, MachineError, Sensing};
use crate::resctrl::clusters::{Key, Threads};
use crate::resctrl::request::Request;
use isobar_model::{Action, ActionOutcome, NodeId, Pid, Tid};

impl<S: Sensing> LinuxMachine<S> {
    /// As [`isobar_model::Machine::undo`].
    pub(super) fn take_back(
        &mut self,
        action: &Action,
        outcome: &ActionOutcome,
    ) -> Result<ActionOutcome, MachineError> {
        if let Some(why) = self.hands_off() {
            return Ok(why);
        }
        let done = match action {
            Action::MoveThread { pid, tid, .. } => self.free_thread(*pid, *tid),
            Action::MigratePages { .. } => self.bring_back(outcome),
            Action::WithdrawPages { .. } => left_alone("pages that were not moved stay where they are".into()),
            Action::SetWays { .. } => self.take_ways(action)?,
            Action::SetAllocation { pid, for_node, .. } => self.free_allocation(*pid, *for_node),
        };
        self.flush()?;
        Ok(done)
    }

    fn free_thread(&mut self, pid: Pid, tid: Tid) -> ActionOutcome {
        match self.actuators.as_mut() {
            Some(actuators) => actuators.undo_thread(pid, tid),
            None => left_alone("isobar changes nothing on this machine".into()),
        }
    }

    fn bring_back(&mut self, outcome: &ActionOutcome) -> ActionOutcome {
        match outcome {
            ActionOutcome::Queued { number, .. } => self.pages.take_back(*number),
            _ => left_alone("the pages were moved in the decision loop, which does not record them".into()),
        }
    }

    /// A cluster without threads does not exist: its threads go back to where they were.
    fn take_ways(&mut self, action: &Action) -> Result<ActionOutcome, MachineError> {
        let Action::SetWays { llc, cluster, way_mask, memory_bandwidth_percent, .. } = action else {
            return Ok(left_alone("it is not a change of cache ways".into()));
        };
        let Some(actuators) = self.actuators.as_mut() else {
            return Ok(left_alone("isobar changes nothing on this machine".into()));
        };
        let (key, threads) = (Key::new(*llc, cluster), Threads::new());
        let request = Request { key, way_mask: *way_mask, percent: *memory_bandwidth_percent, threads, asked: 0 };
        let outcomes = match self.ways.apply(vec![request], self.level, &mut |record| actuators.intend_resctrl(record))
        {
            Ok(outcomes) => outcomes,
            Err(error) => return self.outlived(error),
        };
        if let Some(record) = self.ways.record() {
            actuators.record_resctrl(record);
        }
        Ok(outcomes.into_iter().next_back().unwrap_or_default())
    }

    fn free_allocation(&mut self, pid: Pid, for_node: Option<NodeId>) -> ActionOutcome {
        if !self.allocation.forget(pid, for_node) {
            return left_alone("isobar's decision about its new pages is already gone".into());
        }
        self.allocation.flush(|pid| self.known.nodes(pid));
        ActionOutcome::Done
    }
}
