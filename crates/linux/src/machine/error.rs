//! What can go wrong with the machine as a whole.

use crate::actuators::ActuatorError;
use std::io;

pub use crate::resctrl::cache_ways::BoxedError;

/// Why the machine cannot be watched or changed at all.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// the sensors cannot read
    #[error("{0}")]
    Sensing(#[source] BoxedError),
    /// CPUs or resctrl came or went, and the topology cannot be read again
    #[error("CPUs or resctrl appeared or disappeared, and the topology cannot be read again: {0}")]
    Topology(#[source] BoxedError),
    /// the state file cannot be owned, read or written, or not everything was put back
    #[error(transparent)]
    Actuator(#[from] ActuatorError),
    /// cache ways are not put back
    #[error("{0}")]
    Ways(#[source] BoxedError),
    /// signals cannot be caught, so that an interrupt would leave threads where they are
    #[error("cannot catch termination signals: {0}; isobar changes nothing, because it could not put it back")]
    Signals(#[source] io::Error),
    /// waiting for the next epoch failed
    #[error("cannot wait: {0}")]
    Wait(#[source] io::Error),
}
