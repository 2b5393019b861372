//! The two seams, `Machine` and `Policy`. `Machine` has three implementations (Linux, the
//! simulator, a recording); `Policy` has one for every policy. Neither knows the other: the harness
//! carries observations and outcomes one way and plans the other.

use crate::capabilities::Sensor;
use crate::ids::Pid;
use crate::observation::{CacheClass, Observation};
use crate::outcome::{ActionOutcome, Outcome, UNDONE};
use crate::plan::{Action, Plan};
use crate::profile::Profile;
use crate::sample::Sample;
use crate::units::Seconds;
use std::collections::BTreeSet;

/// A machine that can be watched and changed.
pub trait Machine {
    /// An error of the machine as a whole. A failure of one action is an [`Outcome`].
    type Error: std::error::Error + Send + Sync + 'static;

    /// Reads every sensor.
    ///
    /// # Errors
    /// If the machine cannot be read at all. A missing sensor is not an error.
    fn sample(&mut self) -> Result<Sample, Self::Error>;

    /// Sets the processes about which decisions are made from now on. Sensors that change something
    /// in the kernel in order to measure (accessed pages) leave all other processes alone.
    fn managed(&mut self, _pids: &BTreeSet<Pid>) {}

    /// Carries out a plan, action by action.
    ///
    /// # Errors
    /// If nothing can be changed safely (the state file cannot be written). What the kernel refuses
    /// is an outcome.
    fn apply(&mut self, plan: &Plan) -> Result<Outcome, Self::Error>;

    /// Takes back one action that it carried out earlier, given the action's outcome at that time.
    /// A thread gets back what it had before any change by isobar, if it is still the same thread
    /// and still has what isobar gave it. Pages go back if they are still where isobar put them and
    /// if there is memory for them. Ways and allocations become as if they had never been set. What
    /// cannot be taken back is [`ActionOutcome::LeftAlone`], with the reason.
    ///
    /// # Errors
    /// As [`Machine::apply`].
    fn undo(&mut self, _action: &Action, _outcome: &ActionOutcome) -> Result<ActionOutcome, Self::Error> {
        Ok(ActionOutcome::LeftAlone { why: "this machine cannot take back single actions".to_owned() })
    }

    /// A function that makes [`Machine::wait`] return early. It can be called from any thread, and
    /// ends the present wait, or else the next one. `None` if waits take no time.
    fn caller(&self) -> Option<Box<dyn Fn() + Send + Sync>> {
        None
    }

    /// Lets time pass until the next epoch: sleeps, simulates or skips ahead.
    ///
    /// # Errors
    /// As [`Machine::sample`].
    fn wait(&mut self, interval: Seconds) -> Result<Wake, Self::Error>;

    /// Puts back everything that was changed. Doing so twice is harmless.
    ///
    /// # Errors
    /// If something could not be put back. The state file is then kept.
    fn restore(&mut self) -> Result<Outcome, Self::Error>;
}

/// Why [`Machine::wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The interval is over.
    Elapsed,
    /// A function from [`Machine::caller`] was called; the next wait goes on to the same end.
    Called,
    /// The user or the system asked to stop.
    Interrupted,
    /// The workload or the recording has ended.
    Ended,
}

/// A contention-management policy: a pure function from an observation (and what it remembers of
/// earlier ones, and of the outcomes of its plans) to a plan.
pub trait Policy {
    /// Its canonical name, as `--policy` accepts it.
    fn name(&self) -> &'static str;

    /// The sensors without which it cannot decide.
    fn needs(&self) -> &'static [Sensor];

    /// Sensors that are switched on for it if they work, because they cost something or change
    /// something in the kernel. The policy can also decide without them. The sensors that it needs
    /// are switched on in any case.
    fn uses(&self) -> &'static [Sensor] {
        &[]
    }

    /// Decides for the next epoch. The same history gives the same plan, to the byte, on any
    /// machine.
    fn decide(&mut self, seen: &Observation) -> Plan;

    /// Takes the outcome of the plan that it made last: `outcome` has one entry for each of its
    /// actions, in order. It is not called if nothing was carried out (a dry run), so a policy may
    /// conclude from a missing call that its plan had no effect, and a policy that asks another one
    /// must forward the call. It must be implemented by policies that repeat refused requests, or
    /// that take what they asked for as done.
    fn applied(&mut self, _plan: &Plan, _outcome: &Outcome) {}

    /// Why it cannot go on, if it has failed for good, as a policy that asks another program may.
    /// The run then ends in order, and the plan that was returned at that time plans nothing.
    fn failed(&self) -> Option<&str> {
        None
    }

    /// Records that a person had an action taken back that this policy had asked for. The policy
    /// need not hold the action off: the loop decides whether it may be asked for again. But the
    /// policy may have relied on the action. By default, the policy is told that the machine
    /// refused the action now.
    fn undone(&mut self, action: &Action) {
        let plan = Plan { actions: vec![action.clone()], ..Plan::nothing(self.name()) };
        let refused = ActionOutcome::Refused { errno: None, why: UNDONE.to_owned() };
        self.applied(&plan, &Outcome { actions: vec![refused] });
    }

    /// The policies of groups of processes that decide beside it; none for a policy that decides
    /// about all processes.
    fn groups(&self) -> Vec<GroupPolicy> {
        Vec::new()
    }

    /// What it has measured of programs by giving them more and fewer LLC ways (LFOC+); none for
    /// policies that do not measure that.
    fn learnt(&self) -> Vec<WayCurves> {
        Vec::new()
    }
}

/// A borrowed policy.
impl<P: Policy + ?Sized> Policy for &mut P {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn needs(&self) -> &'static [Sensor] {
        (**self).needs()
    }

    fn uses(&self) -> &'static [Sensor] {
        (**self).uses()
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        (**self).decide(seen)
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        (**self).applied(plan, outcome);
    }

    fn failed(&self) -> Option<&str> {
        (**self).failed()
    }

    fn undone(&mut self, action: &Action) {
        (**self).undone(action);
    }

    fn groups(&self) -> Vec<GroupPolicy> {
        (**self).groups()
    }

    fn learnt(&self) -> Vec<WayCurves> {
        (**self).learnt()
    }
}

/// The policy of a group of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPolicy {
    /// The group, as the user named it.
    pub group: String,
    /// The policy's canonical name.
    pub policy: &'static str,
    /// The sensors without which it cannot decide.
    pub needs: &'static [Sensor],
}

/// A program over LLC ways, as a policy measured it.
#[derive(Clone, Debug, PartialEq)]
pub struct WayCurves {
    /// Its class.
    pub class: CacheClass,
    /// Its IPC and misses; a policy measures no other column.
    pub profile: Profile,
}
