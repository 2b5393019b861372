//! How a reproduction runs.

use crate::error::LabError;
use crate::reproduce::estimate::Varied;
use isobar_sim::Workload;
use isobar_sim::machine::MachineSpec;

/// How a reproduction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Shorter runs and fewer of them: signs come out, sizes are rough.
    pub quick: bool,
    /// Seed of the first repeat.
    pub seed: u64,
    /// Runs computed side by side; changes no result.
    pub jobs: usize,
    /// A kind of estimate at an end of its range; `None` leaves all as they are.
    pub varied: Option<Varied>,
}

impl Options {
    /// A workload with the estimates of these options: every experiment passes its workloads
    /// through here.
    pub(crate) fn vary(&self, workload: Workload) -> Result<Workload, LabError> {
        let Some(varied) = self.varied else { return Ok(workload) };
        Ok(varied.workload(&workload)?)
    }

    /// The same for an experiment that needs a machine alone.
    pub(crate) fn vary_machine(&self, machine: MachineSpec) -> Result<MachineSpec, LabError> {
        let Some(varied) = self.varied else { return Ok(machine) };
        Ok(varied.machine(machine)?)
    }
}
