//! Runs a few epochs of a workload under every policy, with a bound on the work, because an input
//! that merely takes long is not a finding.

use crate::check::plan;
use isobar_model::{Machine, Observation, Policy, Sample, Seconds};
use isobar_policy::{Settings, registry};
use isobar_sim::{SimMachine, Workload};

/// Larger machines and workloads are correct or not for the same reasons as small ones.
const MOST_THREADS: u32 = 24;
const MOST_CPUS: usize = 64;
const EPOCHS: u32 = 4;
/// Maximum number of steps and events of a thread in one epoch.
const MOST_EVENTS: f64 = 20.0;

/// Checks that observations survive, plans are valid and reports are numbers.
pub fn briefly(workload: &Workload) {
    let threads = workload.apps.iter().fold(0u32, |sum, app| sum.saturating_add(app.threads));
    if threads > MOST_THREADS || workload.machine.topology.cpus().len() > MOST_CPUS {
        return;
    }
    let epoch = epoch(workload);
    for entry in registry::entries() {
        let mut policy = registry::build(entry.name, &Settings::default()).unwrap_or_else(|error| panic!("{error}"));
        run(workload, policy.as_mut(), epoch);
    }
}

/// The length of an epoch: the time that this number of the shortest events takes.
fn epoch(workload: &Workload) -> Seconds {
    let shortest = |app: &isobar_sim::App| {
        let goal = app.program.instructions_billion * workload.run.instructions_factor / f64::from(app.threads);
        let phases = app.program.phase.iter().map(|phase| phase.instructions_billion);
        let instructions = phases.fold(goal, f64::min) * 1e9;
        (instructions * app.program.base_cpi / workload.machine.hertz).max(1e-9)
    };
    let event = workload.apps.iter().map(shortest).fold(workload.run.step_seconds, f64::min);
    Seconds((event * MOST_EVENTS).min(workload.run.epoch_seconds))
}

fn run(workload: &Workload, policy: &mut dyn Policy, epoch: Seconds) {
    let mut machine = SimMachine::new(workload, 1);
    let mut before = sample(&mut machine);
    for _ in 0..EPOCHS {
        // If the contention model cannot be solved, the run ends there; it never gives a wrong
        // result.
        if machine.wait(epoch).is_err() {
            return;
        }
        let now = sample(&mut machine);
        assert!(now.time >= before.time, "time runs backwards");
        if now.time > before.time {
            decide(policy, &mut machine, &Observation::between(&before, &now));
        }
        before = now;
    }
    machine.restore().expect("nothing is solved here");
    let report = machine.report();
    assert!(report.seconds.is_finite(), "{report:?}");
}

fn sample(machine: &mut SimMachine) -> Sample {
    machine.sample().expect("nothing is solved here")
}

fn decide(policy: &mut dyn Policy, machine: &mut SimMachine, seen: &Observation) {
    let plan = plan(policy, seen);
    if let Ok(outcome) = machine.apply(&plan) {
        assert_eq!(outcome.actions.len(), plan.actions.len(), "an action without an outcome");
    }
}
