//! The kernel's NUMA balancing, which is off while isobar runs where that is asked for. A daemon
//! whose state file cannot be written at its start leaves the switch as it is, and tries again:
//! nothing is changed that is not on record.

use crate::actuators::{ActuatorError, Actuators};

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
    /// Switches it off. Who `outlives` that it cannot be written down leaves it as it is for now.
    ///
    /// # Errors
    /// Where it cannot be switched, or not be written down.
    pub(super) fn switched_off(actuators: &mut Actuators, outlives: bool) -> Result<Self, ActuatorError> {
        match actuators.switch_balancing_off() {
            Ok(true) => Ok(Self::Off),
            Ok(false) => Ok(Self::Left),
            Err(error @ ActuatorError::State { .. }) if outlives => Ok(Self::Waits(error.to_string())),
            Err(error) => Err(error),
        }
    }

    pub(super) fn remark(&self) -> Option<String> {
        match self {
            Self::Left => None,
            Self::Off => Some("NUMA balancing is switched off until isobar ends (manage.numa_balancing)".to_owned()),
            Self::Waits(why) => Some(format!("NUMA balancing stays as it is: {why}")),
        }
    }
}
