//! Programs that have a target: how much slower than alone they may be. One that is beyond its
//! target is protected; one within it may lose what is left to it. The slowdown is that which
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

/// The part of its target by which a program must be within it again before a note says so:
/// readings vary by as much.
const WITHIN: f64 = 0.05;

impl Isobar {
    /// Fits what programs with a target may lose to how slow they are, and says who is beyond it
    /// and who is within it again. One of which too little is known is left as it is.
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
    /// Fits what programs with a target may lose, and what gains weigh, to how many times as long
    /// as alone each takes, and may: (position, slowdown, target).
    fn aim(&mut self, found: &[(usize, f64, f64)], memory: &Memory, config: &Config) {
        for (at, is, target) in found {
            let (one, most) = (&mut self.traits[*at], ln(target / is).max(0.0));
            (one.protected, one.most, one.least) = (is > target, Some(most), exp(-most).min(HARDLY));
        }
        self.weigh(memory, config);
    }
}
