//! What a machine that runs for months survives, and what it accepts without a restart.

use super::{LinuxMachine, MachineError, Sensing};
use crate::actuators::{ActuatorError, Actuators};
use isobar_model::ActionOutcome;

impl<S: Sensing> LinuxMachine<S> {
    /// The outcome for changes that cannot be recorded, if the machine goes on without them.
    ///
    /// # Errors
    /// If it does not go on, or if the error is a different one.
    pub(super) fn outlived(&self, error: ActuatorError) -> Result<ActionOutcome, MachineError> {
        match &error {
            ActuatorError::State { .. } if self.options.outlives_full_disks => {
                Ok(ActionOutcome::Refused { errno: None, why: error.to_string() })
            }
            _ => Err(error.into()),
        }
    }

    /// Brings the state file up to date. Its content is enough to put everything back in any case.
    pub(super) fn flush(&mut self) -> Result<(), MachineError> {
        match self.actuators.as_mut().map(Actuators::flush) {
            Some(Err(error)) => self.outlived(error).map(drop),
            _ => Ok(()),
        }
    }

    /// Sets other limits from the next plan on: threads moved per epoch, and whether threads that
    /// their owner pinned are moved.
    pub const fn bound_by(&mut self, moves_per_epoch: usize, move_pinned: bool) {
        (self.options.moves_per_epoch, self.options.move_pinned) = (moves_per_epoch, move_pinned);
    }
}
