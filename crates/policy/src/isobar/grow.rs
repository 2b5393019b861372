//! A trial that grows. While a change is on trial nothing else is tried, so that each can be told
//! apart; a small one, made first, would keep one that matters waiting. Where something else
//! promises as much as what is on trial, it is made at once, and both are judged together.

use super::isobar::{Isobar, Mode};
use super::predict::Predictors;
use crate::kit::domains::Domains;
use isobar_model::{Observation, Plan};

impl Isobar {
    /// Lets the trial grow by what promises as much as it does, where there is such a change of
    /// other programs.
    pub(super) fn grow(&mut self, seen: &Observation, domains: &Domains, predictors: &Predictors<'_>, plan: &mut Plan) {
        let old = match std::mem::replace(&mut self.mode, Mode::Watching) {
            Mode::Trying(trial) if trial.divided.is_none() => trial,
            other => {
                self.mode = other;
                return;
            }
        };
        let (scene, memory) = (predictors.scene, predictors.memory);
        let least = old.promised().max(0.0);
        let touched = |unit: usize| old.touches(self.programs.list[scene.units[unit].program].pid);
        let (error, list) = (self.error, &self.programs.list);
        let decision = self.passed.search_beside(predictors, &self.config, error, list, touched);
        let others = !decision.steps.iter().flat_map(|(step, _)| step.units()).any(touched);
        if decision.steps.is_empty() {
            self.try_ways(seen, domains, predictors, Some(least), plan);
        } else if others && scene.sum(&decision.gains) >= least {
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
