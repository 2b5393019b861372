//! Weighs candidate changes: what they are worth, what they cost, and how much they must bring to
//! be made.

use super::config::Config;
use super::harm::harms;
use super::math::ln;
use super::memory::Memory;
use super::predict::Predictor;
use super::scene::{Arrangement, Scene};
use super::step::{Step, To, with};

/// Number of changes for which the equations are solved in each round.
const ASKED: usize = 5;
/// Number of changes that are evaluated roughly in each round.
pub const LOOKED: usize = 32;

/// What a round of the search needs.
pub struct Round<'a> {
    /// Which changes are passed over.
    pub passed: &'a dyn Fn(&[Step]) -> bool,
    /// The changes that were taken before.
    pub taken: &'a [(Step, f64)],
    /// What those changes bring, over all programs and their horizons.
    pub value: f64,
    /// The least gain, as a fraction of the speed of each program that is moved.
    pub margin: f64,
    /// Maximum number of arrangements that may be solved.
    pub most: u32,
    /// The settings.
    pub config: &'a Config,
}

/// Changes that pay together.
#[derive(Debug)]
pub struct Found {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Speed-up of each program with these and the earlier changes, by position.
    pub gains: Vec<f64>,
    /// What all of these changes are worth.
    pub value: f64,
    /// What these steps add to the earlier changes, less what they cost.
    pub net: f64,
}

impl Round<'_> {
    /// Finds the candidate, of one step or several, that pays most by the equations from an
    /// arrangement, and those that do not pay. `ranked` holds the candidates with their rough
    /// scores, best first. Only a few of those with a good score are solved.
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

    /// What steps add to the earlier changes, less what copying costs and what is lost because the
    /// gain comes late. `value` is what all together are worth.
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
        // Pages that are spread are those of all threads of the program.
        let part = |unit: usize| if step.pages == Some(To::Spread) { 1.0 } else { scene.part(unit) };
        step.units().map(|unit| part(unit) * scene.wanted(scene.units[unit].program, margin)).sum()
    };
    steps.iter().map(one).sum()
}

/// What copying costs, and what is lost because the gain comes late.
fn loss(steps: &[Step], taken: &[(Step, f64)], gain: f64, (scene, memory): (&Scene, &Memory), config: &Config) -> f64 {
    if !config.cost {
        return 0.0;
    }
    let copied = |step: &Step| step.copied(scene, memory, &scene.base);
    let late = taken.iter().map(|(step, _)| step).chain(steps).map(copied).sum::<f64>() / scene.copied;
    let horizon = |unit: usize| scene.traits[scene.units[unit].program].horizon;
    let lasts = steps.iter().flat_map(Step::units).map(horizon).fold(0.0, f64::max);
    // A gain that comes late, after the pages that were asked for before, helps for less time.
    let missed = gain * (late / lasts.max(1e-9)).min(1.0);
    missed + steps.iter().map(|step| step.cost(scene, memory, &scene.base)).sum::<f64>()
}
