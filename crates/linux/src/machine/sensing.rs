//! What the machine asks of its sensors, so that its tests need no kernel.

use crate::sensors::{Sampled, SensorError, Sensors};
use isobar_model::{Capabilities, Pid, Sample, Tid, Topology};
use std::sync::Arc;

/// The sensors, as the machine needs them.
pub trait Sensing {
    /// Why they cannot read at all.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Reads every sensor; see [`isobar_model::Machine::sample`].
    ///
    /// # Errors
    /// Where the machine cannot be read at all.
    fn sample(&mut self) -> Result<Sample, Self::Error>;

    /// What can be measured here.
    fn capabilities(&self) -> Arc<Capabilities>;

    /// Addresses that a process (or one thread of it) was seen to access since the last call.
    fn sampled_addresses(&mut self, pid: Pid, tid: Option<Tid>) -> Sampled;

    /// Pages of a process were moved, or were not where a sample had seen them: what was read of
    /// them does not stand.
    fn pages_moved(&mut self, pid: Pid);

    /// CPUs came or went.
    fn set_topology(&mut self, topology: Arc<Topology>);
}

impl Sensing for Sensors {
    type Error = SensorError;

    fn sample(&mut self) -> Result<Sample, SensorError> {
        Self::sample(self)
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        Self::capabilities(self)
    }

    fn sampled_addresses(&mut self, pid: Pid, tid: Option<Tid>) -> Sampled {
        Self::sampled_addresses(self, pid, tid)
    }

    fn pages_moved(&mut self, pid: Pid) {
        Self::pages_moved(self, pid);
    }

    fn set_topology(&mut self, topology: Arc<Topology>) {
        Self::set_topology(self, topology);
    }
}
