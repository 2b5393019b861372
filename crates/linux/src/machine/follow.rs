//! What of the machine itself changes while it is managed: CPUs go offline and come back, resctrl
//! is unmounted and mounted. Then it is described anew. And what could not be done at the start,
//! since a disk was full, which is tried again.

use super::balancing::Balancing;
use super::{LinuxMachine, MachineError, Sensing};
use crate::kernel::cpu_model::online_cpus;
use crate::resctrl::Root;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// A CPU that goes while its files are read makes them contradict each other for a moment.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);

impl<S: Sensing> LinuxMachine<S> {
    /// CPUs come and go rarely, and so does resctrl.
    ///
    /// # Errors
    /// Where the machine cannot be described any more.
    pub(super) fn follow_machine(&mut self) -> Result<(), MachineError> {
        let online = online_cpus().unwrap_or_default();
        let resctrl = Root::new(&self.options.resctrl).check().is_ok();
        if online != self.online || resctrl != self.resctrl {
            self.describe_anew()?;
            self.actuators.iter_mut().for_each(|actuators| actuators.follow_hotplug(&online));
            (self.online, self.resctrl) = (online, resctrl);
        }
        Ok(())
    }

    /// Switches NUMA balancing off, where that is asked for.
    ///
    /// # Errors
    /// Where it cannot be switched, or not be written down by who does not outlive that.
    pub(super) fn switch_balancing_off(&mut self) -> Result<(), MachineError> {
        if !self.options.balancing_off {
            return Ok(());
        }
        self.balancing = match self.actuators.as_mut() {
            Some(actuators) => Balancing::switched_off(actuators, self.options.outlives_full_disks)?,
            None => Balancing::Waits(self.observe_only.as_deref().unwrap_or("dry run").to_owned()),
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

    fn describe_anew(&mut self) -> Result<(), MachineError> {
        let mut read = (self.read_topology)();
        for _ in 1..TRIES {
            if read.is_ok() {
                break;
            }
            sleep(PAUSE);
            read = (self.read_topology)();
        }
        self.sensing.set_topology(Arc::new(read.map_err(MachineError::Topology)?));
        Ok(())
    }
}
