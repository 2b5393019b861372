//! What changes are worth, and what they must bring to be made.

use super::config::Config;
use super::harm::harms;
use super::math::ln;
use super::memory::Memory;
use super::predict::Predictor;
use super::scene::{Arrangement, Scene};
use super::step::{Step, To, with};

/// Changes that the equations are asked about in each round.
const ASKED: usize = 5;
/// Changes that the rough look is asked about in each round.
pub const LOOKED: usize = 32;

/// What changes are looked for with.
pub struct Round<'a> {
    /// Changes that are passed over.
    pub passed: &'a dyn Fn(&[Step]) -> bool,
    /// Those that were taken before.
    pub taken: &'a [(Step, f64)],
    /// What they bring, over all programs and their horizons.
    pub value: f64,
    /// The least gain, as a part of the speed of each program that is moved.
    pub margin: f64,
    /// Arrangements that may be solved.
    pub most: u32,
    /// The settings.
    pub config: &'a Config,
}

/// Changes that pay together.
#[derive(Debug)]
pub struct Found {
    /// One after another.
    pub steps: Vec<Step>,
    /// Speed-up of each program with them and those before, by position.
    pub gains: Vec<f64>,
    /// What all of these are worth.
    pub value: f64,
    /// What these add to those before, less what they cost.
    pub net: f64,
}

impl Round<'_> {
    /// The changes, of some that are one or several steps each, that pay most by the equations from
    /// an arrangement; and those that do not pay. `ranked`: best first, each with what a rough look
    /// saw in it; of those that look well a few are asked about.
    pub fn best(
        &self,
        ranked: Vec<(f64, Vec<Step>)>,
        at: &Arrangement,
        predictor: &mut Predictor<'_>,
    ) -> (Option<Found>, Vec<Vec<Step>>) {
        let (scene, memory) = (predictor.scene(), predictor.memory());
        let mut best: Option<Found> = None;
        let mut refused = Vec::new();
        for (_, steps) in ranked.into_iter().filter(|(score, _)| *score > 0.0).take(ASKED) {
            if predictor.solved >= self.most {
                break;
            }
            let Some(gains) =
                predictor.gains(&with(&steps, scene, memory, at)).filter(|gains| !harms(scene, memory, &steps, gains))
            else {
                refused.push(steps);
                continue;
            };
            let value = worth(scene, &gains);
            let net = self.net(&steps, value, (scene, memory));
            if net <= wanted(&steps, scene, self.margin) {
                refused.push(steps);
                continue;
            }
            if best.as_ref().is_none_or(|best| net > best.net) {
                best = Some(Found { steps, gains, value, net });
            }
        }
        (best, refused)
    }

    /// What changes add to those before, of which all together are worth `value`, less what copying
    /// costs and what comes late because of it.
    #[must_use]
    pub fn net(&self, steps: &[Step], value: f64, (scene, memory): (&Scene, &Memory)) -> f64 {
        let gain = value - self.value;
        gain - loss(steps, self.taken, gain, (scene, memory), self.config)
    }
}

/// What speed-ups are worth, over all programs and their horizons.
#[must_use]
pub fn worth(scene: &Scene, gains: &[f64]) -> f64 {
    scene.traits.iter().zip(gains).map(|(one, gain)| one.stake() * ln(*gain)).sum()
}

/// The least that changes must bring.
#[must_use]
pub fn wanted(steps: &[Step], scene: &Scene, margin: f64) -> f64 {
    let one = |step: &Step| -> f64 {
        // Pages that are spread are those of all its threads.
        let part = |unit: usize| if step.pages == Some(To::Spread) { 1.0 } else { scene.part(unit) };
        step.units().map(|unit| part(unit) * scene.wanted(scene.units[unit].program, margin)).sum()
    };
    steps.iter().map(one).sum()
}

/// What copying costs, and what comes late because of it.
fn loss(steps: &[Step], taken: &[(Step, f64)], gain: f64, (scene, memory): (&Scene, &Memory), config: &Config) -> f64 {
    if !config.cost {
        return 0.0;
    }
    let copied = |step: &Step| step.copied(scene, memory, &scene.base);
    let late = taken.iter().map(|(step, _)| step).chain(steps).map(copied).sum::<f64>() / scene.copied;
    let horizon = |unit: usize| scene.traits[scene.units[unit].program].horizon;
    let lasts = steps.iter().flat_map(Step::units).map(horizon).fold(0.0, f64::max);
    // What comes late, after the pages that were asked for before, helps for less long.
    let missed = gain * (late / lasts.max(1e-9)).min(1.0);
    missed + steps.iter().map(|step| step.cost(scene, memory, &scene.base)).sum::<f64>()
}
