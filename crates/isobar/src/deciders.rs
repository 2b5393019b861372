//! Builds policies by the names that `--policy` takes: those that ship, and programs of the user
//! (`exec:CMD`). It knows how programs are called in each situation, and nothing of how they
//! decide.

use crate::failure::{bad_input, notify};
use crate::signals::StopFlag;
use isobar_external::{Costs, DecisionCost, External, OnFault, Options, Program};
use isobar_model::Policy;
use isobar_runtime::policies::{self, Groups};
use isobar_runtime::settings::{Config, ExecConfig, Read};
use rustix::process::geteuid;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Where a policy decides. This determines what a program's faults mean and how long a decision may
/// take.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// On a machine that runs on while the policy decides.
    AtWork {
        /// Seconds between two decisions.
        interval: f64,
        /// Whether it is this machine rather than a simulated one.
        here: bool,
        /// Raised when the run is to stop, which must not wait for a program.
        stop: &'a StopFlag,
    },
    /// In a simulation or over a recording, whose time stands still during a decision.
    Apart,
}

/// Makes new instances of a policy, and reports at the end what programs cost.
pub struct Maker {
    make: Make,
    costs: Vec<(&'static str, Costs)>,
}

type Make = Box<dyn Fn() -> Box<dyn Policy> + Sync>;

/// The longest decision if time stands still, in seconds: only a program that hangs takes longer.
const APART: f64 = 60.0;

/// The fraction of an interval that a decision may take on a machine at work.
const PART: f64 = 0.5;

/// The longest decision on this machine, in seconds, however long the interval is. It is well below
/// the patience of whoever waits for the loop: 10 s after a signal (`manage.stop_seconds`), 30 s
/// for the watchdog of the service.
const MOST_HERE: f64 = 5.0;

/// The policy of this name, together with the policies of groups.
///
/// # Errors
/// Bad input: no such policy or program, or a setting that it refuses.
pub fn build(name: &str, config: &Config, read: Read<'_>, place: Place<'_>) -> anyhow::Result<Box<dyn Policy>> {
    Ok(maker(name, config, read, place)?.make())
}

/// A maker of any number of instances of a policy.
///
/// # Errors
/// As [`build`].
pub fn maker(name: &str, config: &Config, read: Read<'_>, place: Place<'_>) -> anyhow::Result<Maker> {
    let main = alone(name, config, read, place)?;
    if config.manage.group.is_empty() { Ok(main) } else { with_groups(name, main, config, read, place) }
}

/// The policy of this name, without regard to groups.
fn alone(name: &str, config: &Config, read: Read<'_>, place: Place<'_>) -> anyhow::Result<Maker> {
    let Some(program) = Program::of_policy(name) else {
        let make = policies::maker(name, config, read).map_err(bad_input)?;
        return Ok(Maker { make: Box::new(make), costs: Vec::new() });
    };
    checked(config, read)?;
    let program = program.map_err(bad_input)?;
    let (options, costs) = (options(&config.exec, place), Costs::default());
    let costs_of = vec![(program.name(), costs.clone())];
    Ok(Maker { make: Box::new(move || Box::new(External::start(&program, &options, &costs))), costs: costs_of })
}

/// A main policy, with the groups that have policies of their own.
fn with_groups(name: &str, main: Maker, config: &Config, read: Read<'_>, place: Place<'_>) -> anyhow::Result<Maker> {
    let is_program = |name: &str| Program::of_policy(name).is_some();
    let groups = Groups::of(name, config, &is_program, read).map_err(bad_input)?;
    let Maker { make, mut costs } = main;
    let mut programs: BTreeMap<String, Make> = BTreeMap::new();
    for program in groups.programs() {
        let one = alone(program, config, read, place)?;
        costs.extend(one.costs);
        programs.insert(program.to_owned(), one.make);
    }
    #[expect(clippy::expect_used, reason = "every program of the groups was put in")]
    let fresh = move || groups.around(make(), &|name| programs.get(name).expect("a program that was put in")());
    Ok(Maker { make: Box::new(fresh), costs })
}

/// Checks that a policy can be built. Nothing is started.
///
/// # Errors
/// As [`build`].
pub fn check(name: &str, config: &Config, read: Read<'_>) -> anyhow::Result<()> {
    maker(name, config, read, Place::Apart).map(drop)
}

impl Maker {
    /// A new instance.
    pub fn make(&self) -> Box<dyn Policy> {
        (self.make)()
    }

    /// Reports on stderr what calling programs cost. Policies that ship are not reported.
    pub fn tell_costs(&self) {
        for (name, cost) in self.costs.iter().map(|(name, costs)| (name, costs.sum())) {
            let Some(DecisionCost { elapsed, program, isobar }) = cost.each() else { continue };
            notify(&format!(
                "{name}: {} decisions of {elapsed:.2} ms: {program:.2} ms of CPU time in the program, {isobar:.2} ms in isobar",
                cost.decisions
            ));
        }
    }
}

/// Checks the settings of the policies that ship, whichever policy is used.
fn checked(config: &Config, read: Read<'_>) -> anyhow::Result<()> {
    policies::build(isobar_lab::BASE, config, read).map(drop).map_err(bad_input)
}

fn options(exec: &ExecConfig, place: Place<'_>) -> Options {
    let (usual, on_fault, here, stop) = match place {
        Place::AtWork { interval, here: true, stop } => {
            ((interval * PART).min(MOST_HERE), OnFault::GoOn, true, stop.shared())
        }
        Place::AtWork { interval, here: false, stop } => (interval * PART, OnFault::GoOn, false, stop.shared()),
        Place::Apart => (APART, OnFault::End, false, Arc::default()),
    };
    let at_work = matches!(place, Place::AtWork { .. });
    let remark = "the policy's program runs as root, like isobar: use only a program that you trust as much";
    Options {
        timeout: Duration::from_secs_f64(exec.timeout_seconds.unwrap_or(usual)),
        stop,
        restarts: exec.restarts,
        needs: exec.needs.clone().leak(),
        uses: exec.uses.clone().leak(),
        on_fault,
        here,
        remark: (at_work && geteuid().is_root()).then(|| remark.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_takes_half_of_the_interval_and_on_this_machine_at_most_five_seconds() {
        let stop = StopFlag::default();
        let seconds = |exec: &ExecConfig, interval, here| {
            options(exec, Place::AtWork { interval, here, stop: &stop }).timeout.as_secs_f64()
        };
        let unset = ExecConfig::default();
        assert!((seconds(&unset, 1.0, true) - 0.5).abs() < 1e-9);
        assert!((seconds(&unset, 60.0, true) - 5.0).abs() < 1e-9);
        assert!((seconds(&unset, 20.0, false) - 10.0).abs() < 1e-9, "a simulated machine stands still meanwhile");
        let set = ExecConfig { timeout_seconds: Some(8.0), ..unset };
        assert!((seconds(&set, 60.0, true) - 8.0).abs() < 1e-9);
    }
}
