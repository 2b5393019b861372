//! The real sensors behind the seam that the machine asks for.

use super::Sensing;
use crate::sensors::{Sampled, SensorError, Sensors};
use isobar_model::{Capabilities, Pid, Sample, Tid, Topology};
use std::sync::Arc;

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
