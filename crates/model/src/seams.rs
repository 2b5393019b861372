//! The two seams. `Machine` has three hosts (Linux, the simulator, a recording); `Policy` has as
//! many as the field has ideas. Neither knows the other: the harness carries observations and
//! outcomes one way and plans the other.

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
    /// What can go wrong with the machine as a whole. What goes wrong with one action is an
    /// [`Outcome`].
    type Error: std::error::Error + Send + Sync + 'static;

    /// Reads every sensor.
    ///
    /// # Errors
    /// Where the machine cannot be read at all; a sensor that is missing is not an error.
    fn sample(&mut self) -> Result<Sample, Self::Error>;

    /// Which processes decisions are about from now on. Sensors that change something in the kernel
    /// to see (accessed pages) leave all others alone.
    fn managed(&mut self, _pids: &BTreeSet<Pid>) {}

    /// Carries out a plan, action by action.
    ///
    /// # Errors
    /// Where nothing can be changed safely (the state file cannot be written); what the kernel
    /// refuses is an outcome.
    fn apply(&mut self, plan: &Plan) -> Result<Outcome, Self::Error>;

    /// Takes back one action that it carried out earlier, given what became of it then. A thread
    /// gets back what it had before any change of ours, if it is still the same and still has what
    /// we gave it; pages go back that are still where we put them and for which there is room;
    /// ways and allocations are as if they had never been set. What cannot be taken back is
    /// [`ActionOutcome::LeftAlone`], with the reason.
    ///
    /// # Errors
    /// As [`Machine::apply`].
    fn undo(&mut self, _action: &Action, _outcome: &ActionOutcome) -> Result<ActionOutcome, Self::Error> {
        Ok(ActionOutcome::LeftAlone { why: "this machine takes no single action back".to_owned() })
    }

    /// What has [`Machine::wait`] come back before its time, from any thread: the wait that goes
    /// on, or else the next one. `None` where waits take no time.
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
    /// Where something could not be put back; the state file is kept then.
    fn restore(&mut self) -> Result<Outcome, Self::Error>;
}

/// Why [`Machine::wait`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The interval is over.
    Elapsed,
    /// Someone called ([`Machine::caller`]); the next wait goes on to the same end.
    Called,
    /// The user or the system asked to stop.
    Interrupted,
    /// The workload or the recording has ended.
    Ended,
}

/// A contention-management policy: a pure function from an observation (and what it remembers of
/// earlier ones, and of what became of its plans) to a plan.
pub trait Policy {
    /// Its canonical name, as `--policy` takes it.
    fn name(&self) -> &'static str;

    /// The sensors without which it cannot decide.
    fn needs(&self) -> &'static [Sensor];

    /// Sensors that are switched on for it where they work, since they cost or change something in
    /// the kernel; it decides without them, too. What it needs is switched on in any case.
    fn uses(&self) -> &'static [Sensor] {
        &[]
    }

    /// Decides for the next epoch. The same history gives the same plan, to the byte, on any
    /// machine.
    fn decide(&mut self, seen: &Observation) -> Plan;

    /// Takes what became of the plan that it made last: `outcome` has one entry for each of its
    /// actions, in order. It is not called where nothing was carried out (a dry run). A policy that
    /// asks again for what was refused, or takes what it asked for as done, needs it.
    fn applied(&mut self, _plan: &Plan, _outcome: &Outcome) {}

    /// Why it cannot go on, where it has failed for good: a policy that asks another program may.
    /// The run ends in order then; the plan that came with it plans nothing.
    fn failed(&self) -> Option<&str> {
        None
    }

    /// A person had an action taken back that it had asked for. Whoever decides whether it may be
    /// asked for again at once is not the policy: the loop holds it off; but a policy may have
    /// reckoned with it. By default it is as if the machine had refused it now.
    fn undone(&mut self, action: &Action) {
        let plan = Plan { actions: vec![action.clone()], ..Plan::nothing(self.name()) };
        let refused = ActionOutcome::Refused { errno: None, why: UNDONE.to_owned() };
        self.applied(&plan, &Outcome { actions: vec![refused] });
    }

    /// The policies of groups of processes that decide beside it; none for a policy that decides
    /// about all of them.
    fn groups(&self) -> Vec<GroupPolicy> {
        Vec::new()
    }

    /// What it has measured of programs by giving them more and fewer LLC ways (LFOC+); none for
    /// policies that do not.
    fn learnt(&self) -> Vec<WayCurves> {
        Vec::new()
    }
}

/// A policy that is lent.
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
