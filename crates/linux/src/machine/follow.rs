//! Follows changes of the machine itself while it is managed: if CPUs go offline or come back, or
//! resctrl is unmounted or mounted, the machine is described anew. It also tries again what could
//! not be done at the start because a disk was full.

use super::balancing::Balancing;
use super::{LinuxMachine, MachineError, Sensing};
use crate::kernel::cpu_model::online_cpus;
use crate::resctrl::Root;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// A CPU that goes offline while its files are read makes them contradict each other for a moment.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);

impl<S: Sensing> LinuxMachine<S> {
    /// Describes the machine anew if CPUs or resctrl came or went, which is rare.
    ///
    /// # Errors
    /// If the machine cannot be described any more.
    pub(super) fn follow_machine(&mut self) -> Result<(), MachineError> {
        // If it cannot be read, no descriptor is left; the CPUs are not gone.
        let Some(online) = online_cpus() else { return Ok(()) };
        let resctrl = Root::new(&self.options.resctrl).check().is_ok();
        if online != self.online || resctrl != self.resctrl {
            self.describe_anew()?;
            self.actuators.iter_mut().for_each(|actuators| actuators.follow_hotplug(&online));
            (self.online, self.resctrl) = (online, resctrl);
        }
        Ok(())
    }

    /// Switches NUMA balancing off, if that is requested.
    ///
    /// # Errors
    /// If it cannot be switched, or if the previous value cannot be recorded and the options do not
    /// tolerate that.
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

    /// Tries again what could not be recorded before.
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
