//! The policy `isobar` itself, which is meant to be left running. In every epoch it reads all
//! programs. It then judges the change that is on trial and rolls it back if it did harm, or it
//! searches for a change that pays and tries it.
//!
//! ```text
//! every epoch:
//!     read every program, correct the machine                  programs, memory
//!     a change is on trial: wait until it has settled; judge it; take it back where it harmed
//!         and that pays; let it grow by what cannot wait       conclude, kept, grow
//!     else: look for changes that pay, and try them             search
//!     ask for the pages that still have to move                 pages
//! ```
//!
//! *Properties*: There is one trial at a time. A program's threads move at most `moves_per_hour`
//! times an hour, rollbacks included. Young programs, threads that their owners pinned, and
//! programs that rest after a failed change stay where they are. Nothing is done unless the
//! predicted gain exceeds its cost and the recent error of predictions. The same history gives the
//! same plan.

use super::carry::Seats;
use super::config::Config;
use super::crowded::frees;
use super::dry::Before;
use super::idle::Idle;
use super::math::exp;
use super::memory::Memory;
use super::new_pages::NewPages;
use super::pages::{self, Goal};
use super::passed::Passed;
use super::predict::Predictors;
use super::programs::Programs;
use super::scene::Scene;
use super::stable_programs::StablePrograms;
use super::trial::Trial;
use super::verdict::Verdict;
use super::ways::Ways;
use super::without_counters::{self, WithoutCounters};
use crate::entry::{Entry, Moves, PolicyMaker, as_registered};
use crate::kit::domains::{CachedDomains, Domains};
use crate::kit::refused::{Refused, refused_of};
use isobar_model::{Action, Observation, Outcome, Pid, Plan, Policy, Prediction, Sensor, Topology, num};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Canonical name.
pub const NAME: &str = "isobar";

/// The policy.
pub const ENTRY: Entry = Entry {
    name: NAME,
    paper: "none: isobar's own, on the models and lessons of the others (docs/choosing.md)",
    summary: "threads, pages and ways by predicted speed of all; what did not help is undone",
    moves: Moves::ThreadsAndPages,
    needs: &[],
    make: &PolicyMaker { defaults: Config::default, new: Isobar::new },
};

/// Error that predictions are taken to have before any was checked: 2 % of the speed of a program.
const FIRST_ERROR: f64 = 0.02;

/// Half-life, in seconds, of that part of the prediction error which is above the first error. A
/// large error has to decay with time: while it lasts, nothing is tried that could correct it.
const FORGOTTEN: f64 = 600.0;

/// Longest time, in epochs, to wait for programs to stop coming and going.
const PATIENCE: u32 = 30;

/// What the policy is doing.
#[derive(Clone, Debug)]
pub(super) enum Mode {
    /// No change is under way: the policy looks for one.
    Watching,
    /// A change is on trial.
    Trying(Trial),
    /// A change was rolled back, or was not carried out; the number of epochs until the next one.
    Settling(u32),
}

/// The policy.
#[derive(Debug)]
pub struct Isobar {
    pub(super) config: Config,
    domains: CachedDomains,
    pub(super) memory: Option<(Arc<Topology>, Memory)>,
    pub(super) programs: Programs,
    pub(super) mode: Mode,
    pub(super) goals: Vec<Goal>,
    new_pages: NewPages,
    pub(super) refused: Refused,
    blind: WithoutCounters,
    pub(super) ways: Ways,
    idle: Idle,
    calm: StablePrograms,
    /// Programs that are slower than their targets, as last reported in the notes.
    pub(super) beyond: BTreeSet<Pid>,
    /// Changes that were found not to pay.
    pub(super) passed: Passed,
    /// Number of changes so far.
    pub(super) changes: u64,
    /// The time of the last observation.
    pub(super) now: f64,
    /// How far changes fell short of their predictions lately, as a fraction of the speed of a
    /// program that was moved.
    pub(super) error: f64,
    /// A change that lost and stays for now, and what was measured.
    pub(super) kept: Option<(Trial, Verdict)>,
    /// What was before the last change, until it is known whether that was carried out.
    not_heard_of: Option<Before>,
}

impl Isobar {
    /// The policy with validated settings.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            domains: CachedDomains::default(),
            memory: None,
            programs: Programs::default(),
            mode: Mode::Watching,
            goals: Vec::new(),
            new_pages: NewPages::default(),
            refused: Refused::default(),
            blind: WithoutCounters::default(),
            ways: Ways::default(),
            idle: Idle::default(),
            calm: StablePrograms::default(),
            beyond: BTreeSet::new(),
            passed: Passed::default(),
            changes: 0,
            now: 0.0,
            error: FIRST_ERROR,
            kept: None,
            not_heard_of: None,
        }
    }

    pub(super) fn seats<'a>(&self, seen: &'a Observation, domains: &'a Domains) -> Seats<'a> {
        Seats::new(seen, domains, &self.idle, self.config.watch_epochs)
    }

    /// Decides from what the counters show.
    fn manage(&mut self, seen: &Observation, domains: &Domains, memory: &Memory, scene: &Scene, plan: &mut Plan) {
        let predictors = Predictors::of(scene, memory);
        let calm = self.calm.pass(&self.programs, self.config.window_epochs, PATIENCE);
        match std::mem::replace(&mut self.mode, Mode::Watching) {
            Mode::Watching => {
                if !self.take_back_kept(seen, domains, scene, plan) && calm {
                    self.look(seen, domains, &predictors, plan);
                }
            }
            Mode::Trying(trial) => {
                self.watch(seen, (domains, scene), trial, plan);
                if calm {
                    self.grow(seen, domains, &predictors, plan);
                }
            }
            Mode::Settling(left) if left > 0 || !self.goals.is_empty() => {
                self.mode = Mode::Settling(if self.goals.is_empty() { left - 1 } else { left });
            }
            Mode::Settling(_) => {}
        }
        if plan.actions.is_empty() {
            plan.actions.extend(frees(seen, domains, scene, &self.idle, self.config.watch_epochs));
        }
        let on_trial = if let Mode::Trying(trial) = &self.mode { trial.divided } else { None };
        let bounds = (on_trial, self.config.max_loss_percent / 100.0);
        self.ways.follow(seen, domains, &predictors, bounds, &mut plan.actions);
        self.drop_ended(plan);
        let before = plan.actions.len();
        let grows = |pid: Pid| self.programs.list.iter().any(|one| one.pid == pid && one.growth.grows);
        self.new_pages.follow(&self.goals, seen, memory, grows, &self.refused, &mut plan.actions);
        pages::ask(&mut self.goals, seen, memory, &scene.free, &mut plan.actions);
        self.name_pages(before, plan);
    }

    /// Looks for a change that pays, and tries it.
    fn look(&mut self, seen: &Observation, domains: &Domains, predictors: &Predictors<'_>, plan: &mut Plan) {
        let decision = self.passed.search(predictors, &self.config, self.error, &self.programs.list);
        if decision.steps.is_empty() {
            self.try_ways(seen, domains, predictors, None, plan);
        } else {
            self.try_out(seen, domains, predictors.memory, predictors.scene, &decision, plan);
        }
    }

    /// Judges the change on trial as soon as that is possible: after a whole window of readings, or
    /// earlier if the change has clearly brought what was promised.
    fn watch(&mut self, seen: &Observation, at: (&Domains, &Scene), mut trial: Trial, plan: &mut Plan) {
        let Config { settle_epochs, window_epochs, max_loss_percent, .. } = self.config;
        trial.pass(seen, !self.goals.is_empty());
        let readings = trial.readings(settle_epochs).min(window_epochs);
        if readings > 0 && trial.waits_for_doubt(&self.programs) {
            self.mode = Mode::Trying(trial);
            return;
        }
        let verdict = match readings {
            0 => None,
            some => trial.judge(&self.programs, num::index(some)),
        };
        let over = readings == window_epochs || trial.is_moot(&self.programs);
        match verdict {
            Some(verdict) if over || verdict.is_clear(max_loss_percent / 100.0) => {
                self.conclude(seen, at, &trial, &verdict, plan);
            }
            None if over => {
                let change = trial.change;
                let why = "the programs that were to gain from it ended, or behave differently now";
                let stays = if trial.explores { "is taken back" } else { "stays" };
                plan.notes.push(format!("change {change} {stays}, unmeasured: {why}"));
                self.leave_unmeasured(seen, &trial, plan);
            }
            _ => self.mode = Mode::Trying(trial),
        }
    }

    /// Lists the page moves that a change of this epoch begins among the actions of its prediction.
    fn name_pages(&self, from: usize, plan: &mut Plan) {
        let (Mode::Trying(trial), Some(prediction)) = (&self.mode, plan.predictions.last_mut()) else { return };
        let moved = |pid: Pid| trial.touched.iter().any(|one| one.pid == pid && one.pages.is_some());
        let is_its = |(_, action): &(usize, &Action)| match action {
            Action::MigratePages { pid, .. } | Action::SetAllocation { pid, .. } => moved(*pid),
            _ => false,
        };
        prediction.actions.extend(plan.actions.iter().enumerate().skip(from).filter(is_its).map(|(index, _)| index));
    }

    /// Drops a division on trial that ended because other programs run on its cache now. Such a
    /// division did neither harm nor good.
    fn drop_ended(&mut self, plan: &mut Plan) {
        let Mode::Trying(trial) = &self.mode else { return };
        if trial.divided.is_some_and(|llc| !self.ways.is_divided(llc)) {
            plan.notes.push(format!("change {} ends unmeasured: other programs run on its cache now", trial.change));
            self.mode = Mode::Watching;
        }
    }

    /// What a change of this epoch would alter. `None` while a change is on trial: that one was
    /// carried out, so this is no dry run.
    fn before_a_change(&self) -> Option<Before> {
        (!matches!(self.mode, Mode::Trying(_))).then(|| Before {
            time: self.now,
            goals: self.goals.clone(),
            new_pages: self.new_pages.clone(),
            ways: self.ways.clone(),
        })
    }

    /// If a trial has begun, remembers what was before it until it is known whether the plan was
    /// carried out.
    fn wait_for_outcome(&mut self, before: Option<Before>) {
        self.not_heard_of = before.filter(|_| matches!(self.mode, Mode::Trying(_)));
    }

    /// Withdraws the last change if the plan with it had no outcome.
    fn withdraw_what_was_not_done(&mut self) {
        let Some(before) = self.not_heard_of.take() else { return };
        self.mode = Mode::Settling(self.config.trial_epochs());
        before.restore(&mut self.goals, &mut self.new_pages, &mut self.ways, &mut self.programs);
    }

    /// Learns what the machine refused.
    pub(super) fn hear(&mut self, plan: &Plan, outcome: &Outcome) {
        self.refused.applied(plan, outcome);
        self.new_pages.applied(refused_of(plan, outcome));
        let Some((machine, _)) = &self.memory else { return };
        for action in refused_of(plan, outcome) {
            if let Action::SetWays { llc, .. } = action {
                self.ways.forget(*llc, machine);
            }
        }
    }

    pub(super) fn forget_errors(&mut self, seconds: f64) {
        let above = (self.error - FIRST_ERROR).max(0.0);
        self.error -= above * (1.0 - exp(-seconds * std::f64::consts::LN_2 / FORGOTTEN));
    }

    /// A change is no trial if all of its actions are held back because the machine refused them
    /// before. In that case no other change is begun for as long as a trial takes. If the change
    /// was to make an earlier trial grow, the earlier trial goes on as it was.
    fn drop_trial(&mut self, begun: Option<u64>, left: &[Prediction]) {
        if begun.is_some() && left.is_empty() {
            let earlier = if let Mode::Trying(trial) = &mut self.mode { trial.take_earlier() } else { None };
            self.mode = earlier.map_or(Mode::Settling(self.config.trial_epochs()), Mode::Trying);
        }
    }
}

impl Policy for Isobar {
    as_registered!();

    fn uses(&self) -> &'static [Sensor] {
        &[Sensor::Instructions, Sensor::LlcMisses, Sensor::PagesByNode, Sensor::Latency]
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        let mut plan = Plan::nothing(NAME);
        self.withdraw_what_was_not_done();
        self.refused.next_epoch(seen);
        self.now = seen.time.0;
        let before = self.before_a_change();
        self.forget_errors(seen.interval.0);
        let domains = self.domains.of(&seen.machine).clone();
        let Some(mut memory) = Memory::renewed(self.memory.take(), seen, &domains) else {
            plan.notes.push("the observation has no memory node: nothing to decide".to_owned());
            return plan;
        };
        let part = |llc: usize, pid: Pid| self.ways.part(llc, pid);
        self.programs.read(seen, &domains, &memory, part);
        self.goals.retain(|goal| seen.process(goal.pid).is_some());
        self.idle.pass(seen, &domains);
        let mut scene = Scene::of(seen, &self.programs, &memory, &domains, &self.config, &self.idle, part);
        self.aim(&mut scene, &memory, &mut plan);
        scene.guests = self.ways.guests(seen, &scene);
        for unit in &scene.units {
            self.programs.hold(unit.program, unit.space / unit.threads);
        }
        for (program, one) in self.programs.list.iter_mut().zip(&scene.traits) {
            (program.weight, program.most) = (one.weight, one.most);
        }
        let counted = self.programs.list.iter().any(|program| program.last.is_some());
        self.blind.pass(counted || seen.processes.is_empty());
        if self.blind.is_so() {
            without_counters::act(seen, &self.refused, &mut plan);
        } else if counted {
            self.manage(seen, &domains, &memory, &scene, &mut plan);
        }
        memory.correct(seen, &scene.flows);
        self.memory = Some((Arc::clone(&seen.machine), memory));
        let begun = plan.predictions.last().map(|prediction| prediction.change);
        self.refused.hold_back(&mut plan);
        self.drop_trial(begun, &plan.predictions);
        self.wait_for_outcome(before);
        plan
    }

    fn undone(&mut self, action: &Action) {
        self.fail_by_hand(action);
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.not_heard_of = None;
        self.hear(plan, outcome);
    }
}

#[cfg(test)]
#[path = "division_tests.rs"]
mod division_tests;
#[cfg(test)]
#[path = "isobar_tests.rs"]
mod tests;
