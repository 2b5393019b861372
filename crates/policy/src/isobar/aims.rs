//! Applies targets: how much slower than alone a program may be. A program beyond its target is
//! protected. One within its target may lose what is left. The slowdown is the one that
//! `isobar top` shows.

use super::alone::{open, slowdown};
use super::config::Config;
use super::isobar::Isobar;
use super::math::{exp, ln};
use super::memory::Memory;
use super::predict::Predictors;
use super::program::HARDLY;
use super::scene::Scene;
use isobar_model::Plan;

/// How far within its target a program must be, as a fraction of the target, before a note says
/// that it is within it again: readings vary by as much.
const WITHIN: f64 = 0.05;

impl Isobar {
    /// Adapts what programs with a target may lose to how slow they are, and notes which are beyond
    /// their target and which are within it again. Programs of which too little is known are left
    /// as they are.
    pub(super) fn aim(&mut self, scene: &mut Scene, memory: &Memory, plan: &mut Plan) {
        let list = &self.programs.list;
        let targets: Vec<(usize, f64)> = (0..list.len())
            .filter(|at| scene.traits[*at].known)
            .filter_map(|at| Some((at, self.config.target(&list[at].name, list[at].cgroup.as_deref())?)))
            .collect();
        self.beyond.retain(|pid| list.iter().any(|program| program.pid == *pid));
        if targets.is_empty() {
            return;
        }
        let mut found = Vec::with_capacity(targets.len());
        {
            let mut predictor = Predictors::of(scene, memory).one();
            let mut open = open(scene);
            let Some(now) = predictor.base().map(<[f64]>::to_vec) else { return };
            for (at, target) in targets.into_iter().filter(|(at, _)| now[*at] > 0.0) {
                found.extend(slowdown(&mut predictor, &mut open, &now, at).map(|one| (at, one.whole(), target)));
            }
        }
        for (at, is, target) in &found {
            let program = &list[*at];
            let who = format!("{} ({})", program.name, program.pid);
            if is > target && self.beyond.insert(program.pid) {
                plan.notes.push(format!("{who} takes {is:.2} times as long as alone, its target is {target:.2}"));
            } else if *is < target * (1.0 - WITHIN) && self.beyond.remove(&program.pid) {
                plan.notes.push(format!("{who} is within its target of {target:.2} again: {is:.2}"));
            }
        }
        scene.aim(&found, memory, &self.config);
    }
}

impl Scene {
    /// Sets what programs with a target may lose, and what gains weigh. Each entry of `found` is
    /// (position, slowdown, target): both factors are multiples of the time that the program takes
    /// alone.
    fn aim(&mut self, found: &[(usize, f64, f64)], memory: &Memory, config: &Config) {
        for (at, is, target) in found {
            let (one, most) = (&mut self.traits[*at], ln(target / is).max(0.0));
            (one.protected, one.most, one.least) = (is > target, Some(most), exp(-most).min(HARDLY));
        }
        self.weigh(memory, config);
    }
}
