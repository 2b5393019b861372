//! The loop of the program over a simulated machine: sample, observe, decide, check, apply, wait.

use crate::error::LabError;
use isobar_model::{Machine, Observation, Plan, Policy, Wake};
use isobar_sim::{RunReport, SimMachine, Workload};

/// Runs a workload under a policy to its end.
///
/// # Errors
/// [`LabError::Plan`] where the policy makes a plan that cannot be carried out: a fault of the policy;
/// [`LabError::Sim`] where the contention model has no answer.
pub fn run_policy(workload: &Workload, seed: u64, policy: &mut dyn Policy) -> Result<RunReport, LabError> {
    let mut machine = SimMachine::new(workload, seed);
    let epoch = machine.epoch();
    let mut before = machine.sample()?;
    loop {
        let wake = machine.wait(epoch)?;
        if wake == Wake::Ended {
            return Ok(machine.report());
        }
        let sample = machine.sample()?;
        let seen = Observation::between(&before, &sample);
        let plan = checked(policy.decide(&seen), &seen)?;
        machine.apply(&plan)?;
        before = sample;
    }
}

fn checked(plan: Plan, seen: &Observation) -> Result<Plan, LabError> {
    match plan.validate(seen) {
        Ok(()) => Ok(plan),
        Err(fault) => Err(LabError::Plan { policy: plan.policy, time: seen.time.0, fault }),
    }
}
