//! Remembers changes that were found not to pay lately. They are passed over for a while, so that
//! each epoch solves the equations for others.

use super::config::Config;
use super::predict::Predictors;
use super::program::Program;
use super::scene::Scene;
use super::search::{Decision, search};
use super::step::{Step, To};
use isobar_model::Pid;
use std::collections::BTreeMap;

/// Number of searches for which a change that did not pay is passed over.
const PASSED: u32 = 10;

/// A step, identified by the programs that it is about.
type Key = (Pid, [usize; 2], Option<Pid>, Option<To>, Option<usize>);

/// The changes that are passed over, step by step, and the number of searches for which they still
/// are.
#[derive(Clone, Debug, Default)]
pub struct Passed(BTreeMap<Vec<Key>, u32>);

impl Passed {
    /// Looks for changes that pay, among those that are not passed over. `error` is the recent
    /// error of predictions, `list` the programs by position.
    pub fn search(&mut self, predictors: &Predictors<'_>, config: &Config, error: f64, list: &[Program]) -> Decision {
        let key = |steps: &[Step]| keys(steps, predictors.scene, list);
        self.0.retain(|_, left| {
            *left -= 1;
            *left > 0
        });
        let decision = search(predictors, config, error, |steps| self.0.contains_key(&key(steps)));
        // A change that is made alters the effect of all others.
        if !decision.steps.is_empty() {
            self.0.clear();
        }
        // What was refused because a program is in doubt may pay once it is read again.
        let scene = predictors.scene;
        let doubtful = |unit: usize| scene.traits[scene.units[unit].program].doubt > 0.0;
        let lasting = decision.refused.iter().filter(|steps| !steps.iter().flat_map(Step::units).any(doubtful));
        self.0.extend(lasting.map(|steps| (key(steps), PASSED)));
        decision
    }

    /// The same, without changes that move a unit which is `held`. What does not pay is not
    /// remembered.
    #[must_use]
    pub fn search_beside(
        &self,
        predictors: &Predictors<'_>,
        config: &Config,
        error: f64,
        list: &[Program],
        held: impl Fn(usize) -> bool,
    ) -> Decision {
        let skip = |steps: &[Step]| {
            let moves = steps.iter().flat_map(Step::units).any(&held);
            moves || self.0.contains_key(&keys(steps, predictors.scene, list))
        };
        search(predictors, config, error, skip)
    }
}

fn keys(steps: &[Step], scene: &Scene, list: &[Program]) -> Vec<Key> {
    steps.iter().map(|step| key(step, scene, list)).collect()
}

/// What distinguishes a step from others, whatever the positions of programs are.
fn key(step: &Step, scene: &Scene, list: &[Program]) -> Key {
    let pid = |unit: usize| list[scene.units[unit].program].pid;
    let way = [scene.base.domains[step.unit], step.to];
    (pid(step.unit), way, step.partner.map(pid), step.pages, step.partner_pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::kit::domains::Domains;
    use crate::test_kit::{observation, process, thread, with_pages};

    /// A program would gain by going to the node of its pages, but not as much as is wanted. That
    /// is remembered, unless what is wanted is much because the program is in doubt.
    #[test]
    fn what_was_refused_in_doubt_is_not_passed_over() {
        let mut seen = observation("node:2 core:2", vec![process(1, vec![thread(1, 0, 20.0)])]);
        with_pages(&mut seen, 1, &[0, 500]);
        let mut idle = Idle::default();
        (0..6).for_each(|_| idle.pass(&seen, &Domains::of(&seen.machine)));
        let passed = |doubt: f64, error: f64| {
            let (mut scene, memory, programs) = stage(&seen, 4, &idle);
            scene.traits[0].doubt = doubt;
            let mut passed = Passed::default();
            let predictors = Predictors::of(&scene, &memory);
            let decision = passed.search(&predictors, &Config::default(), error, &programs.list);
            (decision.refused.is_empty(), passed.0.is_empty())
        };
        assert_eq!([passed(0.0, 10.0), passed(10.0, 0.0)], [(false, false), (false, true)]);
    }

    /// A change of two steps that did not pay says nothing about its first step alone, nor the
    /// other way round.
    #[test]
    fn a_change_of_several_steps_is_passed_over_as_a_whole() {
        let running = (0..3).map(|cpu| process(cpu + 1, vec![thread(cpu + 1, cpu, 20.0)])).collect();
        let seen = observation("node:2 core:2", running);
        let (scene, _, programs) = stage(&seen, 1, &Idle::default());
        let step = |unit: usize, partner| Step { unit, to: 1, partner, pages: None, partner_pages: None };
        let both = [step(0, Some(2)), step(1, None)];
        let of = |steps: &[Step]| keys(steps, &scene, &programs.list);
        let passed = |refused: &[Step]| Passed([(of(refused), PASSED)].into());
        let is_passed = |refused: &[Step], asked: &[Step]| passed(refused).0.contains_key(&of(asked));
        assert!(is_passed(&both, &both) && is_passed(&both[..1], &both[..1]));
        assert!(!is_passed(&both, &both[..1]) && !is_passed(&both[..1], &both));
    }
}
