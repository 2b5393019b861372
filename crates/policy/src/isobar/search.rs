//! Which changes there are from where things are, and which of them pays. To do nothing is always
//! among them. Step by step: of all single changes the rough look picks a few, the equations say
//! what each would bring, the best is taken if it pays, and the next is looked for from there.
//! Deterministic, and bounded in what it costs.

use super::balance::Crowds;
use super::config::Config;
use super::likes;
use super::math::ln;
use super::memory::Memory;
use super::predict::{Predictor, Predictors, solutions};
use super::prices::Prices;
use super::rough::Rough;
use super::scene::{Arrangement, Scene};
use super::step::{Step, away, domain_of};
use isobar_model::num;

/// Programs, of those that wait most, whose changes are looked at in an epoch.
const MOVERS: usize = 24;
/// Programs of a domain, of those that wait least and of those that wait most, that each may change
/// places with.
const PARTNERS: usize = 3;
/// Changes that the equations are asked about in each round.
const ASKED: usize = 5;
/// Changes that the rough look is asked about in each round.
const LOOKED: usize = 32;
/// What looks may cost in an epoch beyond the first round's, in units looked at roughly; a look at
/// prices counts as [`AT_PRICES`] of them.
const ROUGH: usize = 6_000;
const AT_PRICES: usize = 2;
/// Changes that are looked at at prices in an epoch, at most.
const PRICED: usize = 4_000;
/// The most changes made at once: more could not be told apart when they are judged. Those of
/// programs that are alike count as one.
const STEPS: usize = 16;
/// The most of programs that are alike at once.
const LIKES: usize = 64;

/// What was decided.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// The changes, in order, each with the sum of the gains that it adds.
    pub steps: Vec<(Step, f64)>,
    /// Speed-up of each program with all of them, by position.
    pub gains: Vec<f64>,
    /// Changes that looked well roughly and did not pay by the equations.
    pub refused: Vec<Step>,
    /// Units looked at roughly, and arrangements solved.
    pub looked: (usize, u32),
}

/// The changes that pay; `error` is what predictions were wrong by lately, as a part of the speed
/// of a program that was moved.
#[must_use]
pub fn search(predictors: &Predictors<'_>, config: &Config, error: f64, passed: impl Fn(&Step) -> bool) -> Decision {
    let (scene, memory) = (predictors.scene, predictors.memory);
    let movers = movers(scene);
    if movers.is_empty() {
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
        let taken = |program: usize| decision.steps.iter().any(|(step, _)| step.programs().any(|one| one == program));
        let open: Vec<usize> = movers.iter().copied().filter(|program| !taken(*program)).collect();
        let steps = candidates(scene, memory, &at, &open, &free);
        let round = Round { passed: &passed, taken: &decision.steps, value, margin, most };
        let (found, refused) = best(&steps, &at, &round, &mut rough, &mut predictor, config);
        if decision.steps.is_empty() {
            decision.refused = refused;
        }
        let Some(best) = found else { break };
        decision.steps.push((best.step, best.value - value));
        let likes = likes::like(scene, &at, &best.step, &open);
        best.step.apply(scene, memory, &mut at);
        book(scene, &best.step, &mut free);
        (value, decision.gains) = (best.value, best.gains);
        if best.step.partner.is_none() {
            let from = (value, margin, most);
            value = repeat(&best.step, likes, from, (&mut at, &mut free), &mut predictor, config, &mut decision);
        }
    }
    decision.looked = (rough.spent, predictor.solved);
    decision
}

/// Programs that may be moved, those that wait most for memory first.
fn movers(scene: &Scene) -> Vec<usize> {
    let waits = |at: &usize| scene.traits[*at].waits();
    let mut list: Vec<usize> = (0..scene.traits.len())
        .filter(|at| {
            let one = &scene.traits[*at];
            one.alone.is_some() && one.known && (one.movable || one.pages_movable)
        })
        .collect();
    list.sort_by(|a, b| waits(b).total_cmp(&waits(a)).then(a.cmp(b)));
    list
}

/// What speed-ups are worth, over all programs and their horizons.
fn worth(scene: &Scene, gains: &[f64]) -> f64 {
    scene.traits.iter().zip(gains).map(|(one, gain)| one.stake() * ln(*gain)).sum()
}

struct Best {
    step: Step,
    gains: Vec<f64>,
    value: f64,
}

/// What one change is looked for with.
struct Round<'a> {
    /// Changes that are passed over.
    passed: &'a dyn Fn(&Step) -> bool,
    /// Those that were taken before.
    taken: &'a [(Step, f64)],
    /// What they bring, over all programs and their horizons.
    value: f64,
    /// The least gain, as a part of the speed of each program that is moved.
    margin: f64,
    /// Arrangements that may be solved.
    most: u32,
}

/// The change that pays most, by the equations.
fn best(
    steps: &[Step],
    at: &Arrangement,
    round: &Round<'_>,
    rough: &mut Rough<'_>,
    predictor: &mut Predictor<'_>,
    config: &Config,
) -> (Option<Best>, Vec<Step>) {
    let Round { passed, taken, value, margin, most } = *round;
    let (scene, memory) = (predictor.scene(), predictor.memory());
    let cost = |step: &Step| if config.cost { step.cost(scene, &scene.base) } else { 0.0 };
    let mut trial = at.clone();
    let before = rough.value(at);
    let mut ranked: Vec<(f64, Step)> = Vec::with_capacity(LOOKED);
    for step in promising(steps, at, passed, rough, predictor, cost) {
        trial.clone_from(at);
        step.apply(scene, memory, &mut trial);
        ranked.push((rough.value(&trial) - before - cost(&step), step));
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut best: Option<(f64, Best)> = None;
    let mut refused = Vec::new();
    // Of changes that look the same, such as those of equal programs, one is enough.
    ranked.dedup_by(|a, b| (a.0 - b.0).abs() < 1e-9 * b.0.abs().max(1.0));
    for (_, step) in ranked.into_iter().filter(|(score, _)| *score > 0.0).take(ASKED) {
        if predictor.solved >= most {
            break;
        }
        trial.clone_from(at);
        step.apply(scene, memory, &mut trial);
        refused.push(step);
        let Some(gains) = predictor.gains(&trial) else { continue };
        if scene.harms(&gains) {
            continue;
        }
        let total = worth(scene, &gains);
        let net = total - value - loss(&[step], taken, total - value, scene, config);
        if net <= wanted(&[step], scene, margin) {
            continue;
        }
        refused.pop();
        if best.as_ref().is_none_or(|(score, _)| net > *score) {
            best = Some((net, Best { step, gains, value: total }));
        }
    }
    (best.map(|(_, best)| best), refused)
}

/// Makes a change that pays for others that are alike as well: for more and more of them at once
/// while that pays, then for fewer. `value`, `margin` and `most` are those of a [`Round`]; what all
/// changes are worth with these.
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
        let net = predictor.gains(&trial).filter(|gains| !scene.harms(gains)).map(|gains| {
            let total = worth(scene, &gains);
            let gain = total - value;
            (gain - loss(&steps, &decision.steps, gain, scene, config), total, gains)
        });
        if let Some((_, total, gains)) = net.filter(|(net, ..)| *net > wanted(&steps, scene, margin)) {
            likes.retain(|program| steps.iter().all(|step| step.program != *program));
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

/// The least that changes must bring.
fn wanted(steps: &[Step], scene: &Scene, margin: f64) -> f64 {
    steps.iter().flat_map(Step::programs).map(|program| scene.wanted(program, margin)).sum()
}

/// What copying costs, and what comes late because of it.
fn loss(steps: &[Step], taken: &[(Step, f64)], gain: f64, scene: &Scene, config: &Config) -> f64 {
    if !config.cost {
        return 0.0;
    }
    let copied = |step: &Step| step.copied(scene, &scene.base);
    let late = taken.iter().map(|(step, _)| step).chain(steps).map(copied).sum::<f64>() / scene.copied;
    let programs = steps.iter().flat_map(Step::programs);
    let lasts = programs.map(|program| scene.traits[program].horizon).fold(0.0, f64::max);
    // What comes late, after the pages that were asked for before, helps for less long.
    let missed = gain * (late / lasts.max(1e-9)).min(1.0);
    missed + steps.iter().map(|step| step.cost(scene, &scene.base)).sum::<f64>()
}

/// The changes that are worth a rough look: those that bring most at prices. Of such that look the
/// same there, as those of equal programs do, one is enough.
fn promising(
    steps: &[Step],
    at: &Arrangement,
    passed: &dyn Fn(&Step) -> bool,
    rough: &mut Rough<'_>,
    predictor: &Predictor<'_>,
    cost: impl Fn(&Step) -> f64,
) -> Vec<Step> {
    if steps.len() <= LOOKED {
        return steps.iter().copied().filter(|step| !passed(step)).collect();
    }
    let prices = Prices::of(predictor.scene(), predictor.memory(), at, rough);
    let mut changed = Vec::new();
    let score = |step: &Step| prices.value(step, &mut changed) - cost(step);
    let mut scored: Vec<(f64, usize)> = steps.iter().take(PRICED).map(score).zip(0..).collect();
    rough.spent += AT_PRICES * scored.len();
    let most_first = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if scored.len() > 4 * LOOKED {
        scored.select_nth_unstable_by(4 * LOOKED, most_first);
        scored.truncate(4 * LOOKED);
    }
    scored.sort_unstable_by(most_first);
    scored.retain(|(_, index)| !passed(&steps[*index]));
    scored.dedup_by(|a, b| (a.0 - b.0).abs() < 1e-9 * b.0.abs().max(1.0));
    scored.iter().take(LOOKED).map(|(_, index)| steps[*index]).collect()
}

/// Every single change of the programs that are open to it.
fn candidates(scene: &Scene, memory: &Memory, at: &Arrangement, open: &[usize], free: &[f64]) -> Vec<Step> {
    let mut steps = Vec::new();
    // What a change of its cache does to a program of which too little is known, no one can say.
    let fresh: Vec<bool> =
        (0..memory.machine.llcs().len()).map(|llc| scene.on(memory, llc).any(|one| scene.traits[one].fresh)).collect();
    let fresh = |domain: usize| fresh[memory.places[domain].llc];
    let crowds = Crowds::of(scene, memory, at);
    let mut by_domain: Vec<Vec<usize>> = vec![Vec::new(); memory.places.len()];
    for program in open.iter().copied().filter(|program| scene.traits[*program].movable) {
        by_domain[domain_of(scene, at, program)].push(program);
    }
    for &program in open.iter().take(MOVERS) {
        let one = &scene.traits[program];
        let here = domain_of(scene, at, program);
        let room = |who: usize, node: usize| away(scene, at, who, node) <= free[node];
        let fits = |who: usize, node: usize| scene.traits[who].pages_movable && room(who, node);
        if one.pages_movable && !one.follows {
            let nodes = (0..memory.nodes.len()).filter(|node| at.weights[program][*node] < 0.9 && fits(program, *node));
            steps.extend(nodes.map(|node| Step {
                program,
                to: here,
                partner: None,
                pages: Some(node),
                partner_pages: None,
            }));
        }
        if !one.movable || fresh(here) {
            continue;
        }
        for to in (0..memory.places.len()).filter(|to| *to != here && !fresh(*to)) {
            let node = memory.places[to].node;
            if one.follows && !room(program, node) {
                continue;
            }
            let own = [fits(program, node).then_some(node), None];
            // Where the kernel moves pages after threads, they come in any case.
            let own = if one.follows || own[0].is_none() { &own[..1] } else { &own[..] };
            if at.idle_cores[to] >= one.threads && crowds.might_start(program, to) {
                steps.extend(own.iter().map(|pages| Step {
                    program,
                    to,
                    partner: None,
                    pages: *pages,
                    partner_pages: None,
                }));
            }
            for partner in partners(&by_domain[to], scene, one.threads) {
                let back = memory.places[here].node;
                if scene.traits[partner].follows && !room(partner, back) {
                    continue;
                }
                let other = [fits(partner, back).then_some(back), None];
                let other = if scene.traits[partner].follows || other[0].is_none() { &other[..1] } else { &other[..] };
                for pages in own {
                    steps.extend(other.iter().map(|partner_pages| Step {
                        program,
                        to,
                        partner: Some(partner),
                        pages: *pages,
                        partner_pages: *partner_pages,
                    }));
                }
            }
        }
    }
    steps
}

/// Of the programs of a domain, which are sorted by how much they wait, the first and last that
/// have as many threads.
fn partners(there: &[usize], scene: &Scene, threads: usize) -> Vec<usize> {
    let equal: Vec<usize> = there.iter().copied().filter(|program| scene.traits[*program].threads == threads).collect();
    if equal.len() <= 2 * PARTNERS {
        return equal;
    }
    let last = equal.len() - PARTNERS;
    equal[..PARTNERS].iter().chain(&equal[last..]).copied().collect()
}

/// Books the memory that a change takes.
fn book(scene: &Scene, step: &Step, free: &mut [f64]) {
    for (program, node) in [(Some(step.program), step.pages), (step.partner, step.partner_pages)] {
        if let (Some(program), Some(node)) = (program, node) {
            free[node] = (free[node] - away(scene, &scene.base, program, node)).max(0.0);
        }
    }
}
