//! Lets a trial grow. While a change is on trial nothing else is tried, so that the effects of
//! changes can be told apart. A small change that was made first would therefore delay one that
//! matters. So if another change promises at least as much as the one on trial, it is made at once,
//! and both are judged together. Less is enough if its programs are young, because they may end
//! before the trial does, or soon after. That holds for as long as a trial takes, so that many
//! small changes do not put the verdict off.

use super::isobar::{Isobar, Mode};
use super::predict::Predictors;
use super::scene::Scene;
use super::search::Decision;
use crate::kit::domains::Domains;
use isobar_model::{Observation, Plan};

/// Programs that are expected to go on for as long as this number of trials can wait for the end of
/// one: they lose an eighth of the gain.
const TRIALS: f64 = 8.0;

impl Isobar {
    /// Lets the trial grow by a change of other programs that promises at least as much, or that
    /// can wait less well, if there is one.
    pub(super) fn grow(&mut self, seen: &Observation, domains: &Domains, predictors: &Predictors<'_>, plan: &mut Plan) {
        let old = match std::mem::replace(&mut self.mode, Mode::Watching) {
            Mode::Trying(trial) if trial.divided.is_none() => trial,
            other => {
                self.mode = other;
                return;
            }
        };
        let (scene, memory) = (predictors.scene, predictors.memory);
        let is_new = old.age(seen.time.0) <= self.config.judged_after(seen);
        let promised = old.promised().max(0.0);
        let touched = |unit: usize| old.touches(self.programs.list[scene.units[unit].program].pid);
        let (error, list) = (self.error, &self.programs.list);
        let decision = self.passed.search_beside(predictors, &self.config, error, list, touched);
        let others = !decision.steps.iter().flat_map(|(step, _)| step.units()).any(touched);
        let least = if is_new { patience(scene, &decision) } else { 1.0 };
        if decision.steps.is_empty() {
            self.try_ways(seen, domains, predictors, Some(promised), plan);
        } else if others && scene.sum(&decision.gains) >= promised * least {
            self.try_out(seen, domains, memory, scene, &decision, plan);
        }
        self.mode = match std::mem::replace(&mut self.mode, Mode::Watching) {
            Mode::Trying(mut grown) => {
                grown.join(old);
                Mode::Trying(grown)
            }
            _ => Mode::Trying(old),
        };
    }
}

/// How well a change can wait for the end of a trial, from 0 to 1: the longest time for which one
/// of its programs is expected to go on, as a fraction of [`TRIALS`] trials.
fn patience(scene: &Scene, decision: &Decision) -> f64 {
    let horizon = |unit: usize| scene.traits[scene.units[unit].program].horizon;
    let lasts = decision.steps.iter().flat_map(|(step, _)| step.units()).map(horizon).fold(0.0, f64::max);
    (lasts / (TRIALS * scene.watch)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::isobar::step::Step;
    use crate::test_kit::{observation, process, thread};

    /// A trial takes 5 s. Programs that go on for 2 and 10 s can wait a quarter as well as one that
    /// goes on for 40 s or more.
    #[test]
    fn the_young_wait_less_well() {
        let running = (0..3).map(|cpu| process(cpu + 1, vec![thread(cpu + 1, cpu, 20.0)])).collect();
        let seen = observation("node:2 core:2", running);
        let (mut scene, ..) = stage(&seen, 1, &Idle::default());
        assert_eq!(scene.watch, 5.0);
        let step = |unit, partner| (Step { unit, to: 1, partner, pages: None, partner_pages: None }, 1.0);
        let decision = Decision { steps: vec![step(0, Some(2))], ..Decision::default() };
        let mut with = |horizons: [f64; 3]| {
            scene.traits.iter_mut().zip(horizons).for_each(|(one, horizon)| one.horizon = horizon);
            patience(&scene, &decision)
        };
        assert_eq!([with([2.0, 60.0, 10.0]), with([40.0, 1.0, 1.0]), with([0.0, 0.0, 90.0])], [0.25, 1.0, 1.0]);
    }
}
