//! Requests to a running loop: to take an action back, to make no decisions for a while, to
//! continue with other settings. Each request is a method. Code outside the loop makes requests
//! through a [`Commander`], which the loop calls after every wait.

use super::journal::{self, Applied, NotUndone, Undone};
use super::{Loop, Tally, partners};
use crate::policies::{self, Refusal};
use crate::selection::{Memory, Rules};
use isobar_model::{ActionId, ActionOutcome, CpuId, Machine, Outcome, Pid, Plan, Policy, Seconds, Tid};

/// Commands a loop from within: it is called after every wait, including a wait that
/// [`Machine::caller`] ended. It should not wait itself.
pub trait Commander<M: Machine> {
    /// Carries out the pending requests.
    fn command(&mut self, run: &mut Loop<'_, M>);
}

impl<'a, M: Machine> Loop<'a, M> {
    /// The same loop with a commander.
    #[must_use]
    pub fn commanded_by(mut self, commander: Box<dyn Commander<M> + 'a>) -> Self {
        self.commander = Some(commander);
        self
    }

    /// Takes back an action, holds off actions that would do it again, and informs the policy.
    ///
    /// # Errors
    /// Why nothing was taken back.
    pub fn undo(&mut self, id: ActionId) -> Result<Undone, NotUndone> {
        if self.limits.dry_run {
            return Err(NotUndone::DryRun);
        }
        let Applied { action, outcome, .. } = self.journal.undoable(id)?.clone();
        let outcome = self.machine.undo(&action, &outcome).map_err(|error| NotUndone::Left(id, error.to_string()))?;
        if !outcome.is_effective() {
            return Err(NotUndone::Left(id, journal::in_words(&outcome)));
        }
        self.journal.undone(id, &outcome);
        self.holds.hold(&action, self.now());
        self.policy.undone(&action);
        let undone = Undone { id, action, outcome };
        self.undone.push(undone.clone());
        Ok(undone)
    }

    /// With `paused`, continues observing but makes no decisions until called again; changes stay
    /// in place.
    pub const fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Whether it makes no decisions now.
    pub const fn is_paused(&self) -> bool {
        self.paused
    }

    /// The actions that are remembered, ascending.
    pub fn applied(&self) -> impl DoubleEndedIterator<Item = &Applied> {
        self.journal.iter()
    }

    /// The counts so far.
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The machine's time at the last reading.
    pub fn now(&self) -> Seconds {
        self.readings.as_ref().map_or(Seconds(0.0), |readings| readings.latest.time)
    }

    /// The time between decisions.
    pub const fn interval(&self) -> Seconds {
        self.limits.interval
    }

    /// The machine, so that its bounds can be changed.
    pub const fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// Continues with another interval and other rules for which threads are managed.
    pub fn go_on_with(&mut self, interval: Seconds, rules: Rules) {
        self.limits.interval = interval;
        if self.rules != rules {
            self.rules = rules;
            // Threads that fit the new rules are treated as at the beginning of a run.
            self.memory = Memory::default();
        }
    }

    /// Whether a policy could continue on this machine.
    ///
    /// # Errors
    /// What the policy needs and the machine lacks.
    pub fn could_decide(&self, policy: &dyn Policy) -> Result<(), Refusal> {
        let Some(readings) = self.readings.as_ref().filter(|_| !self.limits.despite_missing) else { return Ok(()) };
        policies::could_decide(policy, &readings.latest.capabilities)
    }

    /// Continues with another policy, which knows nothing of earlier epochs.
    ///
    /// # Errors
    /// As for [`Loop::could_decide`]; the earlier policy stays then.
    pub fn decide_by(&mut self, policy: Box<dyn Policy + 'a>) -> Result<(), Refusal> {
        self.could_decide(policy.as_ref())?;
        if let Some(readings) = &self.readings {
            let lacking = readings.latest.capabilities.lacking(policy.needs());
            self.without = lacking.iter().map(|(sensor, _)| *sensor).collect();
        }
        self.policy = policy;
        Ok(())
    }

    /// Calls the commander.
    pub(super) fn be_commanded(&mut self) {
        if let Some(mut commander) = self.commander.take() {
            commander.command(self);
            self.commander = Some(commander);
        }
    }

    /// Tells the policy which actions had been taken back before this epoch in the run that is
    /// repeated.
    pub(super) fn repeat_undone(&mut self) {
        let repeated = self.surroundings.repeated.map(super::Repeated::undone).unwrap_or_default();
        repeated.iter().for_each(|action| self.policy.undone(action));
    }

    /// The CPU of a thread at the last reading.
    fn is_on(&self, pid: Pid, tid: Tid) -> Option<CpuId> {
        let sample = &self.readings.as_ref()?.latest;
        let process = sample.processes.iter().find(|process| process.pid == pid)?;
        process.threads.iter().find(|thread| thread.tid == tid)?.cpu
    }

    /// The outcome of a plan on the machine, without actions that are held off and those planned
    /// together with them.
    pub(super) fn applied_to_machine(&mut self, plan: &Plan) -> Result<Outcome, M::Error> {
        let now = self.now();
        let mut held: Vec<Option<String>> = plan.actions.iter().map(|action| self.holds.why_not(action, now)).collect();
        if held.iter().all(Option::is_none) {
            return self.machine.apply(plan);
        }
        partners::hold_off(plan, |pid, tid| self.is_on(pid, tid), &mut held);
        let free = plan.actions.iter().zip(&held).filter(|(_, why)| why.is_none());
        let part = Plan { actions: free.map(|(action, _)| action.clone()).collect(), ..Plan::nothing(&plan.policy) };
        let mut done = self.machine.apply(&part)?.actions.into_iter();
        let one = |why: Option<String>| match why {
            Some(why) => ActionOutcome::LeftAlone { why },
            None => done.next().unwrap_or_default(),
        };
        Ok(Outcome { actions: held.into_iter().map(one).collect() })
    }
}
