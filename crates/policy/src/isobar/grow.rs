//! Lets a trial grow. While a change is on trial nothing else is tried, so that the effects of
//! changes can be told apart. A small change that was made first would therefore delay one that
//! matters. So if another change promises at least as much as the one on trial, it is made at once,
//! and both are judged together.

use super::isobar::{Isobar, Mode};
use super::predict::Predictors;
use crate::kit::domains::Domains;
use isobar_model::{Observation, Plan};

impl Isobar {
    /// Lets the trial grow by a change of other programs that promises at least as much, if there
    /// is one.
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
