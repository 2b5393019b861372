//! A machine that goes on for months: what it outlives, and what it takes without a new start.

use super::{LinuxMachine, MachineError, Sensing};
use crate::actuators::{ActuatorError, Actuators};
use isobar_model::ActionOutcome;

impl<S: Sensing> LinuxMachine<S> {
    /// What becomes of changes that cannot be written down, where the machine goes on without them.
    ///
    /// # Errors
    /// Where it does not, or the fault is another.
    pub(super) fn outlived(&self, error: ActuatorError) -> Result<ActionOutcome, MachineError> {
        match &error {
            ActuatorError::State { .. } if self.options.outlives_full_disks => {
                Ok(ActionOutcome::Refused { errno: None, why: error.to_string() })
            }
            _ => Err(error.into()),
        }
    }

    /// Brings the state file up to date: what is in it is enough to put everything back in any
    /// case.
    pub(super) fn flush(&mut self) -> Result<(), MachineError> {
        match self.actuators.as_mut().map(Actuators::flush) {
            Some(Err(error)) => self.outlived(error).map(drop),
            _ => Ok(()),
        }
    }

    /// Other bounds from the next plan on: threads moved in an epoch, and whether threads are moved
    /// that their owner pinned.
    pub const fn bound_by(&mut self, moves_per_epoch: usize, move_pinned: bool) {
        (self.options.moves_per_epoch, self.options.move_pinned) = (moves_per_epoch, move_pinned);
    }
}
