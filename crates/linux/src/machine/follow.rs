//! What of the machine itself changes while it is managed: CPUs go offline and come back, resctrl is
//! unmounted and mounted. Then it is described anew.

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
