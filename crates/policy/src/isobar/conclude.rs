//! The end of a trial: the change is kept or rolled back, and its effect is recorded.

use super::carry::{Carried, freed, to_domain};
use super::isobar::{Isobar, Mode};
use super::pages::Goal;
use super::scene::Scene;
use super::trial::Trial;
use super::verdict::{CLEARLY, Verdict};
use super::wording;
use crate::kit::domains::Domains;
use isobar_model::{Observation, Plan, Seconds, Tid};
use std::collections::BTreeSet;

/// Weight of a new error in the running mean.
const TAKEN: f64 = 0.3;
/// The largest error that counts for a change which clearly brought something, if less than
/// promised. A prediction of several times the speed is wrong by more than other changes are
/// predicted to gain at all. Counted in full, its error would block all other changes, although the
/// change did a program much good.
const MOST_COUNTED: f64 = 0.1;

/// How far a change fell short, as it counts in the error of predictions.
fn counted(verdict: &Verdict) -> f64 {
    let helped = verdict.measured > CLEARLY * verdict.error;
    verdict.shortfall().min(if helped { MOST_COUNTED } else { f64::INFINITY })
}

impl Isobar {
    /// Keeps a change or rolls it back.
    pub(super) fn conclude(
        &mut self,
        seen: &Observation,
        (domains, scene): (&Domains, &Scene),
        trial: &Trial,
        verdict: &Verdict,
        plan: &mut Plan,
    ) {
        // Whose caches answer a program's misses is not known before its threads share one, so that
        // promise says nothing about the next prediction.
        if !verdict.disturbed && !verdict.jumped && !trial.explores && !trial.unites() {
            self.error += TAKEN * (counted(verdict) - self.error);
        }
        // Rolling a division back costs nothing, so any measured loss is reason enough.
        let idle = trial.divided.is_some() && verdict.measured < 0.0;
        let most = self.config.max_loss_percent / 100.0;
        let harmed = idle || verdict.harmed(most);
        let must = idle || verdict.wronged(most) || !self.config.cost;
        let undone = harmed && self.config.guard && (must || self.back_pays(scene, trial, verdict));
        if harmed && !undone && self.config.guard {
            self.keep_for_now(trial, verdict, plan);
        }
        plan.effects.push(wording::effect(trial.change, verdict, !undone));
        if !undone {
            self.book(verdict, 1.0);
        }
        let rest = Seconds(self.config.rest_seconds);
        if let Some(llc) = trial.divided {
            if undone {
                self.ways.fail(llc, trial.explores, seen.time.0, rest.0);
                self.ways.take_back(seen, llc, "a loss was measured", &mut plan.actions);
            } else if trial.explores && verdict.measured < verdict.error {
                self.ways.stay(llc);
                self.ways.fail(llc, true, seen.time.0, rest.0);
            } else {
                self.ways.keep(llc);
            }
        }
        for touched in trial.touched.iter().filter(|one| one.is_moved()) {
            let Some(program) = self.programs.list.iter_mut().find(|program| program.pid == touched.pid) else {
                continue;
            };
            if harmed {
                program.fail(seen.time.0, rest);
            } else {
                program.failures = 0;
            }
        }
        if undone {
            let why = plan.effects.last().map(wording::taken_back).unwrap_or_default();
            self.take_back(seen, domains, trial, &why, plan);
            self.mode = Mode::Settling(self.config.trial_epochs());
        }
    }

    /// A division whose effect could not be measured stays, unless it was an exploration.
    pub(super) fn leave_unmeasured(&mut self, seen: &Observation, trial: &Trial, plan: &mut Plan) {
        match trial.divided {
            Some(llc) if trial.explores => {
                self.ways.take_back(seen, llc, "its effect could not be measured", &mut plan.actions);
            }
            Some(llc) => self.ways.keep(llc),
            None => {}
        }
    }

    /// Records what a change that stays did to each program. With -1 `times` it stays no longer,
    /// and the record is cancelled.
    pub(super) fn book(&mut self, verdict: &Verdict, times: f64) {
        for (pid, effect) in verdict.effects() {
            let its = self.programs.list.iter_mut().filter(|one| one.pid == pid);
            its.for_each(|one| one.balance += times * effect);
        }
    }

    /// Takes a change back.
    pub(super) fn take_back(
        &mut self,
        seen: &Observation,
        domains: &Domains,
        trial: &Trial,
        why: &str,
        plan: &mut Plan,
    ) {
        self.ways.close(&trial.opened);
        let all: Vec<Carried> = trial.touched.iter().flat_map(|one| one.carried.iter().copied()).collect();
        let back = self.seats(seen, domains).take_back(&all);
        plan.actions.extend(back.iter().map(|one| to_domain(seen, domains, one, why)));
        // In a trial that grew, a thread may have been bound first and moved later, or bound twice.
        let mut done: BTreeSet<Tid> = back.iter().map(|one| one.tid).collect();
        let stayed = all.iter().filter(|one| !one.goes() && done.insert(one.tid));
        plan.actions.extend(stayed.filter_map(|one| freed(seen, one, why)));
        for program in &mut self.programs.list {
            if back.iter().any(|one| one.pid == program.pid) {
                program.moves.push(seen.time.0);
            }
        }
        for touched in &trial.touched {
            if let Some(was) = touched.pages.clone() {
                self.goals.retain(|goal| goal.pid != touched.pid);
                self.goals.push(Goal::new(touched.pid, was, why.to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::config::Config;

    /// Two programs were predicted to become 27 times as fast: e^3.3. A measured factor of 1.9 is
    /// e^0.64.
    #[test]
    fn what_helped_less_than_promised_counts_for_a_tenth_at_most() {
        let of = |measured| Verdict { predicted: 3.3, measured, error: 0.02, moved: 2.0, ..Verdict::default() };
        assert_eq!([0.64, 3.2, 4.0].map(|measured| counted(&of(measured))), [0.1, (3.3 - 3.2) / 2.0, 0.0]);
        assert_eq!(counted(&of(0.03)), (3.3 - 0.03) / 2.0, "that may be chance");
    }

    /// 42 % is 40 above the first error: 22 after ten minutes, in one epoch or in many.
    #[test]
    fn half_of_a_great_error_is_forgotten_in_ten_minutes() {
        let after = |epochs: u32| {
            let mut policy = Isobar::new(Config::default());
            policy.error = 0.42;
            (0..epochs).for_each(|_| policy.forget_errors(600.0 / f64::from(epochs)));
            policy.error
        };
        assert!([1, 600].iter().all(|epochs| (after(*epochs) - 0.22).abs() < 1e-6), "{} {}", after(1), after(600));
        let mut policy = Isobar::new(Config::default());
        policy.error = 0.01;
        policy.forget_errors(600.0);
        assert_eq!(policy.error, 0.01, "a small one is no reason to be more careful");
    }
}
