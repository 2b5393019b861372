//! The state of the kernel's NUMA balancing, which is off while isobar runs if that is requested. A
//! daemon whose state file cannot be written at its start leaves the switch as it is and tries
//! again: nothing is changed that is not on record.

use crate::actuators::{ActuatorError, Actuators};

/// What was done to the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Balancing {
    /// Nothing.
    Left,
    /// It is off until isobar ends.
    Off,
    /// It is to be switched off but cannot be yet, for this reason.
    Waits(String),
}

impl Balancing {
    /// Switches it off. If the previous value cannot be recorded and `outlives` is set, the switch
    /// stays as it is for now.
    ///
    /// # Errors
    /// If it cannot be switched, or if its previous value cannot be recorded.
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
            Self::Waits(why) => Some(format!("NUMA balancing is not switched off: {why}")),
        }
    }
}
