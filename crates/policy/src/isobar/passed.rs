//! Changes that were found not to pay lately: they are passed over for a while, so that each epoch
//! asks the equations about others.

use super::config::Config;
use super::predict::Predictors;
use super::program::Program;
use super::search::{Decision, search};
use super::step::Step;
use isobar_model::Pid;
use std::collections::BTreeMap;

/// Searches for which a change that did not pay is passed over.
const PASSED: u32 = 10;

/// A change by the programs that it is about.
type Key = (Pid, [usize; 2], Option<Pid>, Option<usize>, Option<usize>);

/// The changes that are passed over, and for how many searches.
#[derive(Clone, Debug, Default)]
pub struct Passed(BTreeMap<Key, u32>);

impl Passed {
    /// Looks for changes that pay, among those that are not passed over. `error` is what
    /// predictions were wrong by lately, `list` the programs by position.
    pub fn search(&mut self, predictors: &Predictors<'_>, config: &Config, error: f64, list: &[Program]) -> Decision {
        let scene = predictors.scene;
        let key = |step: &Step| {
            let pid = |unit: usize| list[scene.units[unit].program].pid;
            let way = [scene.base.domains[step.unit], step.to];
            (pid(step.unit), way, step.partner.map(pid), step.pages, step.partner_pages)
        };
        self.0.retain(|_, left| {
            *left -= 1;
            *left > 0
        });
        let decision = search(predictors, config, error, |step| self.0.contains_key(&key(step)));
        // A change that is made makes the others different ones.
        if !decision.steps.is_empty() {
            self.0.clear();
        }
        self.0.extend(decision.refused.iter().map(|step| (key(step), PASSED)));
        decision
    }
}
