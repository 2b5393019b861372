//! The options of a reproduction.

use crate::error::LabError;
use crate::reproduce::estimate::Varied;
use isobar_sim::Workload;
use isobar_sim::machine::MachineSpec;

/// The options of a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Shorter and fewer runs: signs are right, sizes are rough.
    pub quick: bool,
    /// Seed of the first repeat.
    pub seed: u64,
    /// Number of runs computed side by side; changes no result.
    pub jobs: usize,
    /// A kind of estimate at an end of its range; `None` leaves all estimates unchanged.
    pub varied: Option<Varied>,
}

impl Options {
    /// A workload with the estimates of these options. Every experiment passes its workloads
    /// through this function.
    pub(crate) fn vary(&self, workload: Workload) -> Result<Workload, LabError> {
        let Some(varied) = self.varied else { return Ok(workload) };
        Ok(varied.workload(&workload)?)
    }

    /// The same for an experiment that needs only a machine.
    pub(crate) fn vary_machine(&self, machine: MachineSpec) -> Result<MachineSpec, LabError> {
        let Some(varied) = self.varied else { return Ok(machine) };
        Ok(varied.machine(machine)?)
    }
}
