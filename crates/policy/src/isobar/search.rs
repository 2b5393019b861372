//! Searches for the changes that pay, starting from the present arrangement. To do nothing is
//! always an option. The search is greedy: a rough evaluation picks a few of all candidate changes,
//! the equations of the contention model predict what each of these would bring, the best one is
//! taken if it pays, and the next round starts from there. The search is deterministic and its cost
//! is bounded.

use super::candidates::candidates;
use super::config::Config;
use super::gather::{gathers, spreads};
use super::harm::harms;
use super::home::homeward;
use super::likes;
use super::memory::Memory;
use super::predict::{Predictor, Predictors, solutions};
use super::prices::Prices;
use super::rough::Rough;
use super::scene::{Arrangement, Scene};
use super::step::{Step, To, coming, with};
use super::weigh::{Found, LOOKED, Round, wanted, worth};
use isobar_model::num;

/// Maximum cost of evaluations in an epoch beyond those of the first round, in units evaluated
/// roughly. A score by prices counts as [`AT_PRICES`] of them.
const ROUGH: usize = 6_000;
const AT_PRICES: usize = 2;
/// Maximum number of changes that are scored by prices in an epoch.
const PRICED: usize = 4_000;
/// Maximum number of changes made at once: the effects of more could not be told apart when they
/// are judged. Changes of programs that are alike count as one, and so do steps that are evaluated
/// together.
const STEPS: usize = 16;
/// Maximum number of programs that are alike for which one change is made at once.
const LIKES: usize = 64;

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// The changes, in order, each with the gain that it adds, summed over all programs.
    pub steps: Vec<(Step, f64)>,
    /// Speed-up of each program with all of the changes, by position.
    pub gains: Vec<f64>,
    /// Changes, of one step or several, that looked good roughly and did not pay by the equations.
    pub refused: Vec<Vec<Step>>,
    /// Units evaluated roughly, and arrangements solved.
    pub looked: (usize, u32),
}

/// Finds the changes that pay. `error` is the recent error of predictions, as a fraction of the
/// speed of a program that was moved.
#[must_use]
pub fn search(predictors: &Predictors<'_>, config: &Config, error: f64, passed: impl Fn(&[Step]) -> bool) -> Decision {
    let (scene, memory) = (predictors.scene, predictors.memory);
    let units = movers(scene);
    let whole: Vec<usize> = units.iter().copied().filter(|unit| scene.units[*unit].thread.is_none()).collect();
    let all: Vec<usize> = (0..scene.units.len()).collect();
    if units.is_empty() && spreads(scene, memory, &scene.base, &scene.free, &all).is_empty() {
        return Decision::default();
    }
    let mut rough = Rough::new(scene, memory);
    let mut predictor = predictors.one();
    let margin = (config.min_gain_percent / 100.0).max(config.error_weight * error);
    let most = solutions(config, scene.units.len());
    let mut at = scene.base.clone();
    let mut decision = Decision { gains: vec![1.0; scene.traits.len()], ..Decision::default() };
    let mut value = 0.0;
    let mut free = scene.free.clone();
    for _ in 0..STEPS {
        if predictor.solved >= most || rough.spent >= ROUGH {
            break;
        }
        let open = decision.open(scene, &whole);
        let steps = candidates(scene, memory, &at, &open, &free);
        let still = decision.open(scene, &units);
        let mut ways: Vec<Vec<Step>> = homeward(scene, memory, &at, &still).into_iter().collect();
        ways.extend(spreads(scene, memory, &at, &free, &decision.open(scene, &all)));
        ways.extend(gathers(scene, memory, &at, &free, &still));
        let round = Round { passed: &passed, taken: &decision.steps, value, margin, most, config };
        let (single, refused) = best(&steps, &at, &round, &mut rough, &mut predictor);
        let (together, torn) = best_together(ways, &at, &round, &mut rough, &mut predictor);
        // A change that does not pay beside others may pay by itself, so only the first round
        // counts.
        if decision.steps.is_empty() {
            decision.refused.extend(refused.into_iter().chain(torn));
        }
        let Some(found) = single.into_iter().chain(together).max_by(|a, b| a.net.total_cmp(&b.net)) else { break };
        let step = found.steps[0];
        let alone = found.steps.len() == 1 && step.partner.is_none() && step.pages != Some(To::Spread);
        let likes = likes::like(scene, &at, &step, &open);
        value = decision.take(found, value, scene, memory, (&mut at, &mut free));
        if alone {
            let from = (value, margin, most);
            value = repeat(&step, likes, from, (&mut at, &mut free), &mut predictor, config, &mut decision);
        }
    }
    decision.looked = (rough.spent, predictor.solved);
    decision
}

impl Decision {
    /// Those of some units that no change moves yet, and whose pages no change spreads.
    fn open(&self, scene: &Scene, units: &[usize]) -> Vec<usize> {
        let program = |unit: usize| scene.units[unit].program;
        let spread = |step: &Step, unit: usize| step.pages == Some(To::Spread) && program(step.unit) == program(unit);
        let takes = |step: &Step, unit: usize| spread(step, unit) || step.units().any(|one| one == unit);
        let taken = |unit: &usize| self.steps.iter().any(|(step, _)| takes(step, *unit));
        units.iter().copied().filter(|unit| !taken(unit)).collect()
    }

    /// Adds what was found to the decision, whose changes were worth `before`. Returns what all
    /// changes are worth then.
    fn take(
        &mut self,
        found: Found,
        before: f64,
        scene: &Scene,
        memory: &Memory,
        (at, free): (&mut Arrangement, &mut [f64]),
    ) -> f64 {
        let each = (found.value - before) / num::float_len(found.steps.len());
        for step in found.steps {
            step.apply(scene, memory, at);
            book(scene, memory, &step, free);
            self.steps.push((step, each));
        }
        self.gains = found.gains;
        found.value
    }
}

/// Units that may be moved; units of programs that wait most for memory come first.
fn movers(scene: &Scene) -> Vec<usize> {
    let waits = |at: &usize| scene.traits[scene.units[*at].program].waits();
    let mut list: Vec<usize> = (0..scene.units.len())
        .filter(|at| {
            let one = &scene.traits[scene.units[*at].program];
            scene.is_one(*at) && one.known && (one.movable || one.pages_movable)
        })
        .collect();
    list.sort_by(|a, b| waits(b).total_cmp(&waits(a)).then(a.cmp(b)));
    list
}

/// The change of one step that pays most by the equations, and the changes that did not pay.
fn best(
    steps: &[Step],
    at: &Arrangement,
    round: &Round<'_>,
    rough: &mut Rough<'_>,
    predictor: &mut Predictor<'_>,
) -> (Option<Found>, Vec<Vec<Step>>) {
    let (scene, memory) = (predictor.scene(), predictor.memory());
    let cost = |step: &Step| if round.config.cost { step.cost(scene, memory, &scene.base) } else { 0.0 };
    let mut trial = at.clone();
    let before = rough.value(at);
    let mut ranked: Vec<(f64, Vec<Step>)> = Vec::with_capacity(LOOKED);
    for step in promising(steps, at, round.passed, rough, predictor, cost) {
        trial.clone_from(at);
        step.apply(scene, memory, &mut trial);
        ranked.push((rough.value(&trial) - before - cost(&step), vec![step]));
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    // Of changes with the same score, such as those of equal programs, one is enough.
    ranked.dedup_by(|a, b| (a.0 - b.0).abs() < 1e-9 * b.0.abs().max(1.0));
    round.best(ranked, at, predictor)
}

/// The change of several steps that pays most by the equations, and the changes that did not pay.
fn best_together(
    ways: Vec<Vec<Step>>,
    at: &Arrangement,
    round: &Round<'_>,
    rough: &mut Rough<'_>,
    predictor: &mut Predictor<'_>,
) -> (Option<Found>, Vec<Vec<Step>>) {
    let (scene, memory) = (predictor.scene(), predictor.memory());
    let before = rough.value(at);
    let open = ways.into_iter().filter(|steps| !(round.passed)(steps)).take(LOOKED);
    let score = |steps: Vec<Step>| (rough.value(&with(&steps, scene, memory, at)) - before, steps);
    let mut ranked: Vec<(f64, Vec<Step>)> = open.map(score).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    round.best(ranked, at, predictor)
}

/// Repeats a change that pays for other units that are alike: for twice as many units each time
/// while that pays, then for half as many. `value`, `margin` and `most` are those of a [`Round`].
/// Returns what all changes are worth then.
fn repeat(
    step: &Step,
    mut likes: Vec<usize>,
    (mut value, margin, most): (f64, f64, u32),
    (at, free): (&mut Arrangement, &mut Vec<f64>),
    predictor: &mut Predictor<'_>,
    config: &Config,
    decision: &mut Decision,
) -> f64 {
    let (scene, memory) = (predictor.scene(), predictor.memory());
    let (mut batch, mut grows) = (1, true);
    while batch > 0 && predictor.solved < most {
        let room = LIKES.saturating_sub(decision.steps.len());
        let (mut trial, mut left) = (at.clone(), free.clone());
        let steps = likes::same(scene, memory, step, (&likes, batch.min(room)), &mut trial, &mut left);
        if steps.is_empty() {
            break;
        }
        let round = Round { passed: &|_| false, taken: &decision.steps, value, margin, most, config };
        let net = predictor.gains(&trial).filter(|gains| !harms(scene, memory, &steps, gains)).map(|gains| {
            let total = worth(scene, &gains);
            (round.net(&steps, total, (scene, memory)), total, gains)
        });
        if let Some((_, total, gains)) = net.filter(|(net, ..)| *net > wanted(&steps, scene, margin)) {
            likes.retain(|unit| steps.iter().all(|step| step.unit != *unit));
            let each = (total - value) / num::float_len(steps.len());
            decision.steps.extend(steps.into_iter().map(|step| (step, each)));
            (value, decision.gains, *at, *free) = (total, gains, trial, left);
            batch = if grows { 2 * batch } else { batch / 2 };
        } else {
            (batch, grows) = (steps.len() / 2, false);
        }
    }
    value
}

/// The changes that are worth a rough evaluation: those with the best scores by prices. Of changes
/// with the same score, such as those of equal programs, one is enough.
fn promising(
    steps: &[Step],
    at: &Arrangement,
    passed: &dyn Fn(&[Step]) -> bool,
    rough: &mut Rough<'_>,
    predictor: &Predictor<'_>,
    cost: impl Fn(&Step) -> f64,
) -> Vec<Step> {
    if steps.len() <= LOOKED {
        return steps.iter().copied().filter(|step| !passed(std::slice::from_ref(step))).collect();
    }
    let mut prices = Prices::of(predictor.scene(), predictor.memory(), at, rough);
    let score = |step: &Step| prices.value(step) - cost(step);
    let mut scored: Vec<(f64, usize)> = steps.iter().take(PRICED).map(score).zip(0..).collect();
    rough.spent += AT_PRICES * scored.len();
    let most_first = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if scored.len() > 4 * LOOKED {
        scored.select_nth_unstable_by(4 * LOOKED, most_first);
        scored.truncate(4 * LOOKED);
    }
    scored.sort_unstable_by(most_first);
    scored.retain(|(_, index)| !passed(std::slice::from_ref(&steps[*index])));
    scored.dedup_by(|a, b| (a.0 - b.0).abs() < 1e-9 * b.0.abs().max(1.0));
    scored.iter().take(LOOKED).map(|(_, index)| steps[*index]).collect()
}

/// Subtracts the memory that a change takes from what is free.
fn book(scene: &Scene, memory: &Memory, step: &Step, free: &mut [f64]) {
    let partner = step.partner.zip(step.partner_pages.map(To::Node));
    for (unit, to) in step.pages.map(|to| (step.unit, to)).into_iter().chain(partner) {
        let pages = coming(scene, memory, &scene.base, scene.units[unit].program, to);
        free.iter_mut().zip(pages).for_each(|(free, pages)| *free = (*free - pages).max(0.0));
    }
}
