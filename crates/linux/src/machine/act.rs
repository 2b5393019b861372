//! Carries out the actions of a plan through the actuators, one kind after another.

use super::outcomes::{left_alone, request};
use super::{LinuxMachine, MachineError, Sensing};
use crate::actuators::Intent;
use crate::actuators::allocation::AllocationRequest;
use crate::actuators::pages::Request;
use isobar_model::{Action, ActionOutcome, PageSelection, Pages, Plan};
use std::vec::IntoIter;

impl<S: Sensing> LinuxMachine<S> {
    /// Carries out one action. The first `set_ways` carries out all of them and stores their
    /// outcomes in `ways`.
    pub(super) fn act(
        &mut self,
        action: &Action,
        plan: &Plan,
        intents: &mut impl Iterator<Item = Intent>,
        ways: &mut Option<IntoIter<ActionOutcome>>,
    ) -> Result<ActionOutcome, MachineError> {
        Ok(match action {
            Action::MoveThread { .. } => self.move_thread(intents.next()),
            Action::MigratePages { .. } => self.migrate(action),
            Action::WithdrawPages { pid, from, to, .. } => match self.pages.withdraw(*pid, *from, *to) {
                0 => left_alone("no matching pages of the process are being moved".into()),
                _ => ActionOutcome::Done,
            },
            Action::SetWays { .. } => {
                let outcomes = match ways.take() {
                    Some(outcomes) => outcomes,
                    None => self.set_ways(plan)?.into_iter(),
                };
                ways.insert(outcomes).next().unwrap_or_else(|| left_alone("nothing was prepared for it".into()))
            }
            Action::SetAllocation { .. } => self.allocate(action),
        })
    }

    /// Carries out every `set_ways` of a plan together, so that a class of service that the plan
    /// frees is available to its other requests.
    fn set_ways(&mut self, plan: &Plan) -> Result<Vec<ActionOutcome>, MachineError> {
        let known = self.known.threads();
        let wishes = plan.actions.iter().filter_map(|action| request(action, known)).collect();
        let Some(actuators) = self.actuators.as_mut() else { return Ok(Vec::new()) };
        let asked = plan.actions.iter().filter(|action| matches!(action, Action::SetWays { .. })).count();
        let outcomes = match self.ways.apply(wishes, self.level, &mut |record| actuators.intend_resctrl(record)) {
            Ok(outcomes) => outcomes,
            Err(error) => return Ok(vec![self.outlived(error)?; asked]),
        };
        if let Some(record) = self.ways.record() {
            actuators.record_resctrl(record);
        }
        Ok(outcomes)
    }

    fn move_thread(&mut self, intent: Option<Intent>) -> ActionOutcome {
        match (self.actuators.as_mut(), intent) {
            (Some(actuators), Some(intent)) => actuators.carry_out(intent),
            _ => left_alone("nothing was prepared for it".into()),
        }
    }

    fn migrate(&mut self, action: &Action) -> ActionOutcome {
        let Action::MigratePages { pid, from, to, pages, select, for_thread, .. } = *action else {
            return left_alone("it is not a page migration".into());
        };
        if from == to {
            return left_alone(format!("the pages are on node {to} already"));
        }
        if self.waiter.is_interrupted() {
            return left_alone("isobar is being stopped".into());
        }
        let Some(pid_start) = self.known.process(pid) else {
            return left_alone(format!("process {pid} was not in the last sample"));
        };
        let fill_up = for_thread.is_none();
        let all_stay = |why: &str| ActionOutcome::Pages { moved: Pages(0), stayed: vec![(why.to_owned(), pages)] };
        let (mut addresses, mut accessed) = (Vec::new(), Vec::new());
        match select {
            PageSelection::ResidentSet => {}
            PageSelection::AroundSamples => {
                let sampled = self.sensing.sampled_addresses(pid, for_thread);
                match sampled.worth_moving_around(fill_up) {
                    Some(found) => addresses = found,
                    None => return all_stay("no address was sampled yet"),
                }
            }
            PageSelection::Accessed => match self.sensing.accessed(pid) {
                Some(found) => accessed = found,
                None => return all_stay("it is not known which pages are accessed"),
            },
        }
        self.pages.take_on(Request { pid, pid_start, from, to, pages, select, addresses, accessed, fill_up })
    }

    fn allocate(&mut self, action: &Action) -> ActionOutcome {
        let Action::SetAllocation { pid, for_node, node, weights, .. } = action else {
            return left_alone("it is not a decision about new pages".into());
        };
        let Some(start) = self.known.process(*pid) else {
            return left_alone(format!("process {pid} was not in the last sample"));
        };
        self.allocation.wish(&AllocationRequest { pid: *pid, start, for_node: *for_node, node: *node, weights })
    }
}
