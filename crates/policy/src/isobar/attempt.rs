//! The beginning of a trial: turns a decision into actions, adds the prediction of their effect to
//! the plan, and notes what they change.

use super::carry::{Carried, to_domain};
use super::isobar::{Isobar, Mode};
use super::mates::mates;
use super::memory::Memory;
use super::pages::Goal;
use super::predict::Predictors;
use super::programs::weights;
use super::scene::Scene;
use super::search::Decision;
use super::step::{Step, To, aimed, with};
use super::traits::Traits;
use super::trial::{Touched, Trial};
use super::wording::{self, percent};
use crate::kit::domains::Domains;
use crate::kit::refused::RequestKey;
use isobar_model::{Observation, Pid, Plan, num};

impl Isobar {
    /// Carries out a decision, and begins to watch what comes of it.
    pub(super) fn try_out(
        &mut self,
        seen: &Observation,
        domains: &Domains,
        memory: &Memory,
        scene: &Scene,
        decision: &Decision,
        plan: &mut Plan,
    ) {
        let mut seats = self.seats(seen, domains);
        let mut touched: Vec<Touched> = Vec::new();
        let before = plan.actions.len();
        let seated: Vec<(Step, Vec<Carried>)> =
            decision.steps.iter().filter_map(|(step, _)| Some((*step, seats.take(scene, step)?))).collect();
        let steps: Vec<Step> = seated.iter().map(|(step, _)| *step).collect();
        let after = with(&steps, scene, memory, &scene.base);
        let united: Vec<Pid> = scene.united(memory, &after).map(|program| self.programs.list[program].pid).collect();
        let mut opened = Vec::new();
        for (step, carried) in &seated {
            let both = [(Some(step.unit), step.pages), (step.partner, step.partner_pages.map(To::Node))];
            if !carried.is_empty() {
                let caches = step.caches(scene, memory);
                opened.extend(self.ways.open(seen, memory, &caches, &after, &mut plan.actions));
            }
            for (unit, pages) in both.into_iter().filter_map(|(unit, pages)| Some((unit?, pages))) {
                let program = scene.units[unit].program;
                let pid = self.programs.list[program].pid;
                let mut why = self.why(step.partner.is_some(), decision.gains[program]);
                if united.contains(&pid) {
                    why.push_str(&shares(&scene.traits[program]));
                }
                let own: Vec<Carried> = carried.iter().filter(|one| one.pid == pid).copied().collect();
                plan.actions.extend(own.iter().map(|one| to_domain(seen, domains, one, &why)));
                // However many of its threads go now, that counts as one move.
                let moves = &mut self.programs.list[program].moves;
                if !own.is_empty() && moves.last() != Some(&seen.time.0) {
                    moves.push(seen.time.0);
                }
                let was = pages.and_then(|_| weights(&seen.processes[program], memory));
                if let (Some(to), Some(_)) = (pages, &was) {
                    let aim = aimed(scene, memory, &after, program, to);
                    let to = match to {
                        To::Node(node) => format!("to node {}", memory.nodes[node]),
                        To::Spread => "over the nodes of its threads".to_owned(),
                    };
                    self.goals.retain(|goal| goal.pid != pid);
                    self.goals.push(Goal::new(pid, aim, format!("pages {to}: {why}")));
                }
                match touched.iter_mut().find(|one| one.pid == pid) {
                    Some(one) => {
                        one.carried.extend(own);
                        one.pages = one.pages.take().or(was);
                    }
                    None => touched.push(Touched { pid, carried: own, pages: was }),
                }
            }
        }
        let mates = if self.config.threads { mates(seen, domains, scene, memory, &steps) } else { Vec::new() };
        for mate in mates {
            let at = touched.iter().position(|one| one.pid == mate.pid).unwrap_or_else(|| {
                touched.push(Touched { pid: mate.pid, carried: Vec::new(), pages: None });
                touched.len() - 1
            });
            let one = &mut touched[at];
            // If the machine refuses to move its pages, they do not come, and the thread need not
            // stay.
            if one.pages.is_some()
                && !one.carried.iter().any(Carried::goes)
                && self.refused.waits(RequestKey::Pages(mate.pid))
            {
                continue;
            }
            plan.actions.push(to_domain(seen, domains, &mate, one.why_it_stays()));
            one.carried.push(mate);
        }
        if !touched.is_empty() {
            let mut trial = self.begin(seen, touched, &decision.gains, before, plan);
            trial.opened = opened;
            let caches: Vec<usize> = steps.iter().flat_map(|step| step.caches(scene, memory)).collect();
            let beside = scene.pids_on(memory, &caches, &self.programs);
            trial.watch(&beside, &united, self.config.judged_after(seen));
            self.mode = Mode::Trying(trial);
        }
    }

    /// Begins a trial, with its prediction in the plan. Its actions are those from index `from` on.
    fn begin(
        &mut self,
        seen: &Observation,
        touched: Vec<Touched>,
        gains: &[f64],
        from: usize,
        plan: &mut Plan,
    ) -> Trial {
        self.changes += 1;
        self.forget_kept(touched.iter().map(|one| one.pid));
        let own = (from..plan.actions.len()).collect();
        plan.predictions.push(wording::prediction(self.changes, &self.programs, gains, own));
        let window = num::index(self.config.window_epochs);
        Trial::new(self.changes, touched, &self.programs, gains, window, seen.time.0)
    }

    /// Divides the ways of a cache if that pays, and begins to watch what comes of it.
    pub(super) fn try_ways(
        &mut self,
        seen: &Observation,
        domains: &Domains,
        predictors: &Predictors<'_>,
        least: Option<f64>,
        plan: &mut Plan,
    ) {
        let (scene, memory) = (predictors.scene, predictors.memory);
        if !self.config.ways {
            return;
        }
        let margin = (self.config.min_gain_percent / 100.0).max(self.config.error_weight * self.error);
        let Some(proposal) =
            self.ways.propose(seen, (predictors, &self.programs), &self.config, margin, least.is_none())
        else {
            return;
        };
        if least.is_some_and(|least| scene.sum(&proposal.gains) < least) {
            return;
        }
        // While a division is on trial nothing else is tried. If its programs have just begun, a
        // program that is not known yet may matter more.
        let young =
            |pid: Pid| self.programs.list.iter().zip(&scene.traits).any(|(one, its)| one.pid == pid && its.young);
        let all_young = proposal.division.members.iter().all(|(pid, _)| young(*pid));
        if all_young && scene.traits.iter().any(|one| one.fresh) {
            return;
        }
        let asked = RequestKey::Ways(seen.machine.llcs()[proposal.llc].id);
        if self.refused.waits(asked) {
            return;
        }
        let sum: f64 = proposal.gains.iter().map(|gain| gain - 1.0).sum();
        let why = match proposal.hoped {
            Some(hoped) => format!(
                "to measure what cache space is worth to the programs: at best {} summed over all \
                 programs, expected {}",
                percent(hoped),
                percent(sum)
            ),
            None if scene.traits.iter().all(|one| one.weight == 1.0) => {
                format!("predicted {} summed over all programs", percent(sum))
            }
            None => {
                let weighed = scene.traits.iter().zip(&proposal.gains).map(|(one, gain)| one.weight * (gain - 1.0));
                let weighed = percent(weighed.sum());
                format!("predicted {weighed} summed over all programs by weight, {} with equal weights", percent(sum))
            }
        };
        let before = plan.actions.len();
        self.ways.divide(seen, domains, memory, &proposal, &why, &mut plan.actions);
        let untouched = |(pid, _): &(Pid, bool)| Touched { pid: *pid, carried: Vec::new(), pages: None };
        let touched = proposal.division.members.iter().map(untouched).collect();
        let mut trial = self.begin(seen, touched, &proposal.gains, before, plan);
        (trial.divided, trial.explores) = (Some(proposal.llc), proposal.hoped.is_some());
        let beside = scene.pids_on(memory, &[proposal.llc], &self.programs);
        trial.watch(&beside, &[], self.config.judged_after(seen));
        self.mode = Mode::Trying(trial);
    }

    fn why(&self, exchange: bool, gain: f64) -> String {
        let epochs = self.config.trial_epochs();
        let gain = percent(gain - 1.0);
        let exchange = if exchange { " as part of an exchange" } else { "" };
        format!("predicted {gain} for it{exchange}, to be measured {epochs} epochs after the last page has moved")
    }
}

/// Why a program gains whose threads come to one cache, in words.
fn shares(one: &Traits) -> String {
    let part = 100.0 * one.passed / one.misses.max(1e-12);
    format!("; {part:.0} % of its misses are lines that its threads pass to each other")
}
