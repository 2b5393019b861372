//! One run of a workload under a policy, through the loop of the program: threads are selected as
//! `manage` selects them.

use isobar_model::Policy;
use isobar_runtime::{Limits, Loop, RunError};
use isobar_sim::{RunReport, SimMachine, Workload};

/// Runs a workload under a policy to its end. A policy also runs where the machine lacks what it
/// needs: a comparison shows what it makes of that.
///
/// # Errors
/// [`RunError`] where the policy panics or makes a plan that cannot be carried out: a fault of the
/// policy.
pub fn run_policy(workload: &Workload, seed: u64, policy: &mut dyn Policy) -> Result<RunReport, RunError> {
    let machine = SimMachine::new(workload, seed);
    let limits = Limits { despite_missing: true, ..Limits::every(machine.epoch()) };
    let mut run = Loop::new(machine, Box::new(policy), limits);
    run.run(&mut ())?;
    Ok(run.machine().report())
}
