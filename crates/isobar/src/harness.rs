//! The loop: sample, derive, select, decide, check, apply, tell, wait; and at the end, on every path, restore.
//!
//! It knows the two seams and nothing of who is behind them: the same loop drives the Linux machine and the simulated one.
//! It owns no clock (the machine does) and prints nothing (the reporter does).

use crate::lack::{self, Lack};
use crate::select::{self, CgroupsOf, Memory, Pattern, Rules};
use crate::truth::Truth;
use anyhow::Context as _;
use isobar_model::plan::Plan;
use isobar_model::{Machine, Observation, Outcome, Policy, Sample, Seconds, Sensor, Wake};
use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};

mod tally;

pub use tally::{Tally, percent_of_one_cpu};

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From decision to decision.
    pub interval: Seconds,
    /// Stop after so much time of the machine.
    pub duration: Option<Seconds>,
    /// Stop after so many epochs.
    pub epochs: Option<u64>,
    /// Decide and tell, change nothing.
    pub dry_run: bool,
}

/// From a pid to its cgroups.
pub type CgroupOf<'a> = &'a CgroupsOf<'a>;

/// From what a machine lacks to the message with which a policy refuses it, if it does.
pub type Refusal<'a> = &'a dyn Fn(&[(Sensor, &str)], &Sample) -> Option<anyhow::Error>;

/// What the loop asks of its surroundings.
pub struct Context<'a> {
    /// Who is managed.
    pub rules: Rules,
    /// Pid to cgroups.
    pub cgroup: CgroupOf<'a>,
    /// Whether a policy that lacks something may start; the error is the whole message.
    pub refusal: Refusal<'a>,
    /// Whether the user or the system asked to stop.
    pub stop: &'a dyn Fn() -> bool,
    /// CPU time that the tool itself has taken so far; `None` where it is not the cost of watching (a simulated machine).
    pub own_cpu: Option<&'a dyn Fn() -> Seconds>,
    /// What an earlier run had left changed and was put back before this one, in words.
    pub recovered: Option<String>,
}

/// What is known before the first epoch.
pub struct Start<'a> {
    /// The first reading: topology and capabilities.
    pub sample: &'a Sample,
    /// The policy's name.
    pub policy: &'a str,
    /// What it needs and the machine lacks, with the reason.
    pub lacking: Vec<(Sensor, &'a str)>,
    /// How it will run.
    pub limits: Limits,
    /// What an earlier run had left changed and was put back before this one, in words.
    pub recovered: Option<&'a str>,
}

/// One epoch, after it.
pub struct Epoch<'a> {
    /// 1, 2, ...
    pub number: u64,
    /// The reading at its end.
    pub sample: &'a Sample,
    /// All that was seen.
    pub seen: &'a Observation,
    /// The part that the policy decides on.
    pub managed: &'a Observation,
    /// The decision.
    pub plan: &'a Plan,
    /// What became of it; `None` in a dry run.
    pub outcome: Option<&'a Outcome>,
    /// What the policy needs and the machine lacks.
    pub lacking: &'a [(Sensor, &'a str)],
    /// CPU time that the tool itself took since the epoch before.
    pub own_cpu: Option<Seconds>,
    /// Patterns of `--only` that no process fits; looked for in the first epoch only.
    pub unmatched: Option<Vec<&'a Pattern>>,
    /// Counts so far, this epoch included.
    pub tally: &'a Tally,
}

/// Who tells what happens.
pub trait Reporter {
    /// Before the first epoch.
    ///
    /// # Errors
    /// Where it cannot be written; the loop then ends in order.
    fn begin(&mut self, start: &Start<'_>) -> anyhow::Result<()>;

    /// After each epoch.
    ///
    /// # Errors
    /// As [`Reporter::begin`].
    fn epoch(&mut self, epoch: &Epoch<'_>) -> anyhow::Result<()>;

    /// After the last one, and after what was changed is put back; with the truth, where the machine was simulated.
    ///
    /// # Errors
    /// As [`Reporter::begin`].
    fn end(&mut self, tally: &Tally, truth: Option<&Truth>) -> anyhow::Result<()>;
}

/// Runs the loop until its limits, an interruption or the end of the workload; then puts everything back. A failure, a
/// panic of a policy and a reader that went away end it the same way. What was counted comes back, for the reporter's end.
///
/// # Errors
/// The first thing that went wrong; what could not be put back, where nothing else did.
pub fn run<M: Machine>(
    machine: &mut M,
    policy: &mut dyn Policy,
    context: &Context<'_>,
    limits: Limits,
    reporter: &mut dyn Reporter,
) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let name = policy.name();
    let (memory, own_cpu, without) = (Memory::default(), None, BTreeSet::new());
    let mut run = Run { machine, policy, context, limits, reporter, memory, own_cpu, without, tally: &mut tally };
    let ended = panic::catch_unwind(AssertUnwindSafe(|| run.epochs()));
    let ended = ended.unwrap_or_else(|_| Err(anyhow::anyhow!("internal error in policy {name} or its surroundings")));
    let restored = if limits.dry_run { Ok(None) } else { machine.restore().map(Some) };
    let restored = restored.context("what was changed could not be put back whole; `isobar restore` tries again");
    tally.restored = match (ended, restored) {
        (Ok(()), restored) => restored?,
        (Err(error), Ok(_)) => return Err(error),
        // As text: a reader that went away is no failure, but what is left changed is.
        (Err(error), Err(left)) => return Err(anyhow::anyhow!("{left:#} (the run had ended with: {error:#})")),
    };
    Ok(tally)
}

/// The loop with what it holds.
struct Run<'a, M> {
    machine: &'a mut M,
    policy: &'a mut dyn Policy,
    context: &'a Context<'a>,
    limits: Limits,
    reporter: &'a mut dyn Reporter,
    memory: Memory,
    /// The tool's own CPU time at the end of the last epoch.
    own_cpu: Option<Seconds>,
    /// What the policy needs and has never been given: it remembers nothing of it.
    without: BTreeSet<Sensor>,
    tally: &'a mut Tally,
}

impl<M: Machine> Run<'_, M> {
    fn epochs(&mut self) -> anyhow::Result<()> {
        let first = self.machine.sample()?;
        self.own_cpu = self.context.own_cpu.map(|read| read());
        self.begin(&first)?;
        let mut before = first.clone();
        while let Some(left) = time_left(self.limits, &first, &before, self.tally.epochs) {
            let wake = self.machine.wait(left)?;
            self.tally.interrupted = wake == Wake::Interrupted || (self.context.stop)();
            self.tally.ended = wake == Wake::Ended;
            if self.tally.interrupted {
                break;
            }
            let now = self.machine.sample()?;
            self.epoch(&before, &now)?;
            before = now;
            if self.tally.ended {
                break;
            }
        }
        Ok(())
    }

    fn begin(&mut self, first: &Sample) -> anyhow::Result<()> {
        let lacking = first.capabilities.lacking(self.policy.needs());
        if let Some(refused) = (self.context.refusal)(&lacking, first) {
            return Err(refused);
        }
        self.without = lacking.iter().map(|(sensor, _)| *sensor).collect();
        let recovered = self.context.recovered.as_deref();
        let policy = self.policy.name();
        self.reporter.begin(&Start { sample: first, policy, lacking, limits: self.limits, recovered })
    }

    fn epoch(&mut self, before: &Sample, now: &Sample) -> anyhow::Result<()> {
        let seen = Observation::between(before, now);
        if seen.interval.0 <= 0.0 {
            return Ok(());
        }
        let Context { rules, cgroup, .. } = self.context;
        let (managed, memory) = select::select(&seen, rules, &self.memory, cgroup);
        self.memory = memory;
        let lacking = now.capabilities.lacking(self.policy.needs());
        let plan = match self.lost(&lacking) {
            Some(note) => Plan { notes: vec![note], ..Plan::nothing(self.policy.name()) },
            None => decide(self.policy, &managed)?,
        };
        let outcome = if self.limits.dry_run { None } else { Some(self.machine.apply(&plan)?) };
        let own_cpu = self.own_cpu_since();
        self.tally.add(&plan, outcome.as_ref());
        self.tally.add_time(seen.interval, own_cpu);
        self.reporter.epoch(&Epoch {
            number: self.tally.epochs,
            sample: now,
            seen: &seen,
            managed: &managed,
            plan: &plan,
            outcome: outcome.as_ref(),
            lacking: &lacking,
            own_cpu,
            unmatched: (self.tally.epochs == 1).then(|| select::without_match(&rules.only, &seen, cgroup)),
            tally: self.tally,
        })
    }
}

impl<M> Run<'_, M> {
    /// Why the policy is not asked, where a reading that it needs is not there any more: it would go on from what it
    /// remembers of rates that nobody measures now.
    fn lost(&mut self, lacking: &[(Sensor, &str)]) -> Option<String> {
        self.without.retain(|sensor| lacking.iter().any(|(lacks, _)| lacks == sensor));
        let lost = lacking.iter().filter(|(sensor, _)| lack::is_reading(*sensor) && !self.without.contains(sensor));
        let clauses: Vec<String> = lack::by_reason(lost.copied()).iter().map(Lack::clause).collect();
        (!clauses.is_empty())
            .then(|| format!("nothing is planned: policy {} cannot go on: {}", self.policy.name(), clauses.join("; ")))
    }

    /// The tool's own CPU time since this was last asked.
    fn own_cpu_since(&mut self) -> Option<Seconds> {
        let now = self.context.own_cpu.map(|read| read())?;
        let before = self.own_cpu.replace(now)?;
        Some(Seconds(now.0 - before.0))
    }
}

/// Decides, and holds the decision to the rules of plans: a policy that breaks them is a bug, and nothing is done.
///
/// # Errors
/// The fault, with the policy's name.
pub fn decide(policy: &mut dyn Policy, seen: &Observation) -> anyhow::Result<Plan> {
    let plan = policy.decide(seen);
    plan.validate(seen)
        .with_context(|| format!("internal error: policy {} made a plan that cannot be carried out", policy.name()))?;
    Ok(plan)
}

/// What is left of the duration makes an epoch from this part of an interval on.
const SHORTEST_EPOCH: f64 = 0.25;

/// The length of the next wait: an interval, or what is left of the duration; `None` when it is time to stop.
fn time_left(limits: Limits, first: &Sample, now: &Sample, epochs: u64) -> Option<Seconds> {
    if limits.epochs.is_some_and(|most| epochs >= most) {
        return None;
    }
    let Some(duration) = limits.duration else { return Some(limits.interval) };
    let left = duration.0 - (now.time.0 - first.time.0);
    // A last epoch of a few milliseconds would measure nothing but noise.
    (left > limits.interval.0 * SHORTEST_EPOCH).then(|| Seconds(left.min(limits.interval.0)))
}

#[cfg(test)]
pub mod fake;
#[cfg(test)]
mod tests;
