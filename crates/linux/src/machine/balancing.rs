//! The kernel's NUMA balancing, which is off while isobar runs where that is asked for. A daemon
//! whose state file cannot be written at its start leaves the switch as it is, and tries again:
//! nothing is changed that is not on record.

use super::{LinuxMachine, MachineError, Sensing};
use crate::actuators::ActuatorError;

/// What was made of the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Balancing {
    /// Nothing.
    Left,
    /// It is off until the end.
    Off,
    /// It shall be off, and cannot be yet: why.
    Waits(String),
}

impl Balancing {
    pub(super) fn remark(&self) -> Option<String> {
        match self {
            Self::Left => None,
            Self::Off => Some("NUMA balancing is switched off until isobar ends (manage.numa_balancing)".to_owned()),
            Self::Waits(why) => Some(format!("NUMA balancing stays as it is: {why}")),
        }
    }
}

impl<S: Sensing> LinuxMachine<S> {
    /// Where that is asked for.
    ///
    /// # Errors
    /// Where it cannot be switched, or not be written down by who does not outlive that.
    pub(super) fn switch_balancing_off(&mut self) -> Result<(), MachineError> {
        if !self.options.balancing_off {
            return Ok(());
        }
        let Some(actuators) = self.actuators.as_mut() else {
            let why = self.observe_only.as_deref().unwrap_or("dry run");
            self.balancing = Balancing::Waits(why.to_owned());
            return Ok(());
        };
        self.balancing = match actuators.switch_balancing_off() {
            Ok(true) => Balancing::Off,
            Ok(false) => Balancing::Left,
            Err(error @ ActuatorError::State { .. }) if self.options.outlives_full_disks => {
                Balancing::Waits(error.to_string())
            }
            Err(error) => return Err(error.into()),
        };
        Ok(())
    }

    /// What could not be written down before may be by now.
    pub(super) fn try_again(&mut self) {
        let Some(actuators) = self.actuators.as_mut() else { return };
        actuators.try_to_write_again();
        if matches!(self.balancing, Balancing::Waits(_))
            && let Err(error) = self.switch_balancing_off()
        {
            self.balancing = Balancing::Waits(error.to_string());
        }
    }
}
