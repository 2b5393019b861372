//! The loop: sample, derive, select, decide, check, apply, report the outcome to the policy, show,
//! wait; and at the end, on every path, restore.
//!
//! The loop knows the two interfaces (machine and policy) and nothing behind them: the same loop
//! drives the Linux machine and the simulated one. It owns no clock (the machine does) and prints
//! nothing (the observer may).

mod commands;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod holds;
mod journal;
mod observer;
mod partners;
mod repeated;
mod surroundings;
mod tally;
#[cfg(test)]
mod tests;

pub use commands::Commander;
pub use journal::{Applied, NotUndone, Undone};
pub use observer::{Epoch, Observer, Start};
pub use repeated::Repeated;
pub use surroundings::{Limits, Surroundings};
pub use tally::{Refusals, Tally, percent_of_one_cpu};

use crate::error::{BoxError, RunError};
use crate::missing::{self, Missing};
use crate::policies;
use crate::selection::{self, Memory, Rules};
use holds::Holds;
use isobar_model::plan::Plan;
use isobar_model::{ActionId, Machine, Observation, Outcome, Policy, Sample, Seconds, Sensor, Wake};
use journal::Journal;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};

/// A machine under the control of a policy.
///
/// [`Loop::run`] does everything: it begins, steps until the limits, an interruption or the end of
/// the workload, and puts everything back. A caller that controls the timing itself calls
/// [`Loop::step`] and, at the end, [`Loop::finish`]. A loop that is dropped before that puts back
/// what it can.
pub struct Loop<'a, M: Machine> {
    machine: M,
    policy: Box<dyn Policy + 'a>,
    limits: Limits,
    rules: Rules,
    surroundings: Surroundings<'a>,
    readings: Option<Readings>,
    memory: Memory,
    /// The tool's own CPU time at the end of the last epoch.
    own_cpu: Option<Seconds>,
    /// Sensors that the policy needs but has never had, so that it remembers nothing measured by
    /// them.
    without: BTreeSet<Sensor>,
    epoch: Option<Decided>,
    tally: Tally,
    journal: Journal,
    holds: Holds,
    /// Actions that were taken back since the last epoch.
    undone: Vec<Undone>,
    paused: bool,
    commander: Option<Box<dyn Commander<M> + 'a>>,
    /// Whether no further epoch may follow.
    over: bool,
    /// Whether nothing is left to put back, or putting back has been tried.
    finished: bool,
}

/// What the loop keeps of the machine's readings.
struct Readings {
    first: Seconds,
    latest: Sample,
}

/// The latest epoch, as the loop keeps it.
struct Decided {
    seen: Observation,
    /// The part that the policy decided on; `None` if that is everything that was seen.
    part: Option<Observation>,
    plan: Plan,
    outcome: Option<Outcome>,
    first_id: Option<ActionId>,
    undone: Vec<Undone>,
    own_cpu: Option<Seconds>,
}

impl<'a, M: Machine> Loop<'a, M> {
    /// A loop that manages every thread that is busy enough ([`Rules::default`]). Nothing is read
    /// yet.
    pub fn new(machine: M, policy: Box<dyn Policy + 'a>, limits: Limits) -> Self {
        Self {
            machine,
            policy,
            limits,
            rules: Rules::default(),
            surroundings: Surroundings::default(),
            readings: None,
            memory: Memory::default(),
            own_cpu: None,
            without: BTreeSet::new(),
            epoch: None,
            tally: Tally::default(),
            journal: Journal::default(),
            holds: Holds::default(),
            undone: Vec::new(),
            paused: false,
            commander: None,
            over: false,
            finished: false,
        }
    }

    /// The same loop with other rules for which threads are managed.
    #[must_use]
    pub fn selecting(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// The same loop in other surroundings.
    #[must_use]
    pub fn within(mut self, surroundings: Surroundings<'a>) -> Self {
        self.surroundings = surroundings;
        self
    }

    /// The machine.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// The policy.
    pub fn policy(&self) -> &dyn Policy {
        self.policy.as_ref()
    }

    /// Runs until the limits, an interruption or the end of the workload; then puts everything
    /// back. A failure, or a panic of the policy or the observer, ends the run in the same way.
    ///
    /// # Errors
    /// The first error; if there was none before, what could not be put back.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Tally, RunError> {
        let ended = caught(self.policy.name(), || {
            observer.begin(&self.begin()?).map_err(RunError::Observer)?;
            while let Some(epoch) = self.step()? {
                observer.epoch(&epoch).map_err(RunError::Observer)?;
            }
            Ok(())
        });
        match (ended, self.finish()) {
            (Ok(()), finished) => finished,
            (Err(run), Ok(_)) => Err(run),
            (Err(run), Err(restore)) => Err(RunError::RestoreAfter { restore: Box::new(restore), run: Box::new(run) }),
        }
    }

    /// Takes the first reading, if there is none yet.
    ///
    /// # Errors
    /// [`RunError::Refused`] if the machine lacks what the policy needs; an error if the machine
    /// cannot be read.
    pub fn begin(&mut self) -> Result<Start<'_>, RunError> {
        let first = match self.readings.take() {
            Some(readings) => readings,
            None => self.first_reading()?,
        };
        let Readings { latest, .. } = self.readings.insert(first);
        let (policy, groups) = (self.policy.name(), self.policy.groups());
        let lacking = latest.capabilities.lacking(self.policy.needs());
        let recovered = self.surroundings.recovered.as_deref();
        Ok(Start { sample: latest, policy, groups, lacking, limits: self.limits, recovered })
    }

    fn first_reading(&mut self) -> Result<Readings, RunError> {
        let latest = self.machine.sample().map_err(of_machine)?;
        self.own_cpu = self.surroundings.own_cpu.map(|read| read());
        let lacking = latest.capabilities.lacking(self.policy.needs());
        if !self.limits.despite_missing {
            policies::could_decide(self.policy.as_ref(), &latest.capabilities).map_err(RunError::Refused)?;
        }
        self.without = lacking.iter().map(|(sensor, _)| *sensor).collect();
        Ok(Readings { first: latest.time, latest })
    }

    /// Waits for the end of the next epoch, decides and acts. Calls [`Loop::begin`] first if that
    /// was not done. `None` when it is time to stop, and from then on.
    ///
    /// # Errors
    /// As for [`Loop::begin`]; also if the machine fails, or if the policy panicked or made a plan
    /// that cannot be carried out. The loop is over then, and [`Loop::finish`] must still be
    /// called.
    pub fn step(&mut self) -> Result<Option<Epoch<'_>>, RunError> {
        let stepped = caught(self.policy.name(), || self.advance());
        self.over = !matches!(stepped, Ok(true));
        stepped.map(|more| if more { self.latest_epoch() } else { None })
    }

    /// Puts back everything that was changed, and returns the counts. A second call is harmless.
    ///
    /// # Errors
    /// [`RunError::Restore`] if a change could not be put back.
    pub fn finish(&mut self) -> Result<Tally, RunError> {
        self.over = true;
        if !std::mem::replace(&mut self.finished, true) && !self.limits.dry_run {
            let restored = self.machine.restore().map_err(|error| RunError::Restore(error.into()))?;
            self.tally.add_restored(restored);
        }
        Ok(self.tally.clone())
    }

    /// Runs the next epoch; false when it is time to stop.
    fn advance(&mut self) -> Result<bool, RunError> {
        self.begin()?;
        while let Some(left) = self.time_left() {
            let wake = self.machine.wait(left).map_err(of_machine)?;
            self.be_commanded();
            self.tally.interrupted = wake == Wake::Interrupted || (self.surroundings.stop)();
            self.tally.ended = wake == Wake::Ended;
            if self.tally.interrupted {
                break;
            }
            if wake == Wake::Called {
                continue;
            }
            let now = self.machine.sample().map_err(of_machine)?;
            self.tally.add_ended(&now.page_moves);
            let Some(readings) = &mut self.readings else { break };
            let seen = Observation::between(&readings.latest, &now);
            readings.latest = now;
            if seen.interval.0 > 0.0 {
                self.epoch = Some(self.decided(seen)?);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn decided(&mut self, seen: Observation) -> Result<Decided, RunError> {
        let part = self.selected(&seen);
        self.machine.managed(&part.processes.iter().map(|process| process.pid).collect());
        self.holds.retain_alive(&seen);
        self.repeat_undone();
        let paused = self.is_to_pause();
        let plan = match self.lost() {
            _ if paused => Plan::paused(self.policy.name()),
            Some(note) => Plan { notes: vec![note], ..Plan::nothing(self.policy.name()) },
            None => decide(self.policy.as_mut(), &part)?,
        };
        let part = if let Cow::Owned(part) = part { Some(part) } else { None };
        let outcome = self.outcome(&plan)?;
        if let Some(outcome) = outcome.as_ref().filter(|_| !paused) {
            self.policy.applied(&plan, outcome);
        }
        let own_cpu = self.own_cpu_since();
        self.tally.add(&plan, outcome.as_ref());
        self.tally.add_time(seen.interval, own_cpu);
        let when = (self.tally.epochs, seen.time);
        let first_id = outcome.as_ref().map(|outcome| self.journal.take(when, &plan, outcome));
        Ok(Decided { seen, part, plan, outcome, first_id, undone: std::mem::take(&mut self.undone), own_cpu })
    }

    fn is_to_pause(&self) -> bool {
        self.surroundings.repeated.map_or(self.paused, Repeated::is_paused)
    }

    fn selected<'o>(&mut self, seen: &'o Observation) -> Cow<'o, Observation> {
        if let Some(repeated) = self.surroundings.repeated {
            return selection::part(seen, &repeated.managed());
        }
        let (part, memory) = selection::select(seen, &self.rules, &self.memory, self.surroundings.lookups);
        self.memory = memory;
        part
    }

    /// The outcome of a plan; `None` in a dry run.
    fn outcome(&mut self, plan: &Plan) -> Result<Option<Outcome>, RunError> {
        match self.surroundings.repeated {
            Some(repeated) => Ok(repeated.outcome(plan)),
            None if self.limits.dry_run => Ok(None),
            None => self.applied_to_machine(plan).map(Some).map_err(of_machine),
        }
    }

    /// The latest epoch, if there was one.
    pub fn latest(&self) -> Option<Epoch<'_>> {
        self.latest_epoch()
    }

    fn latest_epoch(&self) -> Option<Epoch<'_>> {
        let (Readings { latest: sample, .. }, epoch) = (self.readings.as_ref()?, self.epoch.as_ref()?);
        let Decided { seen, part, plan, outcome, first_id, undone, own_cpu } = epoch;
        let first = self.tally.epochs == 1;
        Some(Epoch {
            number: self.tally.epochs,
            policy: self.policy.name(),
            interval: self.limits.interval,
            sample,
            seen,
            managed: part.as_ref().unwrap_or(seen),
            plan,
            outcome: outcome.as_ref(),
            first_id: *first_id,
            undone,
            lacking: sample.capabilities.lacking(self.policy.needs()),
            own_cpu: *own_cpu,
            unmatched: first.then(|| selection::without_match(&self.rules.only, seen, self.surroundings.lookups)),
            tally: &self.tally,
        })
    }

    /// If a reading that the policy needs is not available any more, says why the policy is not
    /// asked: it would continue from remembered rates that are no longer measured.
    fn lost(&mut self) -> Option<String> {
        let capabilities = &self.readings.as_ref()?.latest.capabilities;
        let lacking = capabilities.lacking(self.policy.needs());
        self.without.retain(|sensor| lacking.iter().any(|(lacks, _)| lacks == sensor));
        let lost = lacking.iter().filter(|(sensor, _)| missing::is_reading(*sensor) && !self.without.contains(sensor));
        let clauses: Vec<String> = missing::by_reason(lost.copied()).iter().map(Missing::clause).collect();
        (!clauses.is_empty())
            .then(|| format!("nothing is planned: policy {} cannot go on: {}", self.policy.name(), clauses.join("; ")))
    }

    /// The tool's own CPU time since the last call.
    fn own_cpu_since(&mut self) -> Option<Seconds> {
        let now = self.surroundings.own_cpu.map(|read| read())?;
        let before = self.own_cpu.replace(now)?;
        Some(Seconds(now.0 - before.0))
    }

    /// The length of the next wait: an interval, or the rest of the duration; `None` when it is
    /// time to stop.
    fn time_left(&self) -> Option<Seconds> {
        let Limits { interval, duration, epochs, until_action, .. } = self.limits;
        let acted = until_action && self.epoch.as_ref().is_some_and(|last| !last.plan.actions.is_empty());
        if self.over || self.tally.ended || acted || epochs.is_some_and(|most| self.tally.epochs >= most) {
            return None;
        }
        let Some(duration) = duration else { return Some(interval) };
        let Readings { first, latest } = self.readings.as_ref()?;
        let left = duration.0 - (latest.time.0 - first.0);
        // A last epoch of a few milliseconds would measure only noise.
        (left > interval.0 * SHORTEST_EPOCH).then(|| Seconds(left.min(interval.0)))
    }
}

impl<M: Machine> Drop for Loop<'_, M> {
    fn drop(&mut self) {
        if self.readings.is_some() {
            // The result is dropped, because no caller is left. A caller that needs it calls
            // `finish`.
            let _ = self.finish();
        }
    }
}

/// The rest of the duration makes an epoch if it is at least this fraction of an interval.
const SHORTEST_EPOCH: f64 = 0.25;

/// Asks the policy, and checks the plan against the rules for plans. A policy that breaks them has
/// a bug, and nothing is done.
///
/// # Errors
/// [`RunError::Plan`]; [`RunError::Failed`].
pub fn decide(policy: &mut dyn Policy, seen: &Observation) -> Result<Plan, RunError> {
    let plan = policy.decide(seen);
    if let Some(why) = policy.failed() {
        return Err(RunError::Failed { policy: policy.name(), why: why.to_owned() });
    }
    let (policy, time) = (policy.name(), seen.time);
    plan.validate(seen).map(|()| plan).map_err(|fault| RunError::Plan { policy, time, fault })
}

fn of_machine(error: impl Into<BoxError>) -> RunError {
    RunError::Machine(error.into())
}

/// Turns a panic into an error.
fn caught<R>(policy: &'static str, work: impl FnOnce() -> Result<R, RunError>) -> Result<R, RunError> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(RunError::Panic { policy }))
}
