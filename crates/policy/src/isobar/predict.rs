//! Exact predictions: solves the equations of the contention model for an arrangement. The result
//! is how fast every program would be, relative to its present speed by the same equations. If
//! there is no solution within the budget, there is no prediction.

use super::config::Config;
use super::memory::Memory;
use super::reading::WRITE_BACK;
use super::scene::{Arrangement, Scene};
use isobar_contention::{Budget, Demand, Question, Solver};
use isobar_model::num;
use std::cell::OnceCell;

/// Fraction of a capacity to which the equations are solved: decisions about per cents need no
/// more, and the next round of Newton's method would square it.
const NEAR: f64 = 1e-4;

/// Maximum number of evaluations for one arrangement; ordinary ones take 3 to 20.
const BUDGET: Budget = Budget(120);

/// Number of arrangements that may be solved in an epoch. It is smaller for more units, because
/// each solution takes time in proportion to them.
#[must_use]
pub fn solutions(config: &Config, units: usize) -> u32 {
    let part = config.solutions.saturating_mul(40) / num::narrow(units.max(40));
    part.max(2)
}

/// Predictors of one scene. Each must first know how fast all programs are at present. That is
/// solved once, when the first predictor is asked for.
#[derive(Debug)]
pub struct Predictors<'a> {
    /// The scene that they predict for.
    pub scene: &'a Scene,
    /// The machine that they predict for.
    pub memory: &'a Memory,
    first: OnceCell<Predictor<'a>>,
}

impl<'a> Predictors<'a> {
    /// Predictors of a scene.
    #[must_use]
    pub const fn of(scene: &'a Scene, memory: &'a Memory) -> Self {
        Self { scene, memory, first: OnceCell::new() }
    }

    /// A predictor that has solved nothing but the present arrangement.
    #[must_use]
    pub fn one(&self) -> Predictor<'a> {
        self.first.get_or_init(|| Predictor::new(self.scene, self.memory)).clone()
    }
}

/// Predicts for one scene.
#[derive(Clone, Debug)]
pub struct Predictor<'a> {
    scene: &'a Scene,
    memory: &'a Memory,
    solver: Solver,
    /// Present speed of each program.
    base: Option<Vec<f64>>,
    /// Bytes of cache that each unit holds at present. In an arrangement that differs little, a
    /// unit holds about as much, so the solver starts close to the solution.
    held: Vec<f64>,
    /// Number of arrangements solved.
    pub solved: u32,
}

impl<'a> Predictor<'a> {
    /// A predictor of a scene.
    #[must_use]
    pub fn new(scene: &'a Scene, memory: &'a Memory) -> Self {
        let mut predictor = Self { scene, memory, solver: Solver::near(NEAR), base: None, held: Vec::new(), solved: 0 };
        predictor.base = predictor.speeds(&scene.base);
        predictor.held.clone_from(&predictor.solver.answer().held);
        predictor
    }

    /// The scene that it predicts for.
    #[must_use]
    pub const fn scene(&self) -> &'a Scene {
        self.scene
    }

    /// The machine that it predicts for.
    #[must_use]
    pub const fn memory(&self) -> &'a Memory {
        self.memory
    }

    /// Present instructions per second of each program, by position.
    #[must_use]
    pub fn base(&self) -> Option<&[f64]> {
        self.base.as_deref()
    }

    /// Speed-up of each program in an arrangement, by position; 1 for programs of which too little
    /// is known.
    pub fn gains(&mut self, arrangement: &Arrangement) -> Option<Vec<f64>> {
        let speeds = self.speeds(arrangement)?;
        let base = self.base.as_ref()?;
        let gain = |(at, (now, before)): (usize, (&f64, &f64))| {
            let one = &self.scene.traits[at];
            if one.known && *before > 0.0 && *now > 0.0 { (now / before).min(one.most_gain()) } else { 1.0 }
        };
        Some(speeds.iter().zip(base).enumerate().map(gain).collect())
    }

    fn speeds(&mut self, arrangement: &Arrangement) -> Option<Vec<f64>> {
        self.speeds_among(arrangement, |_| true)
    }

    /// Instructions per second of each program, by position, if only some of them run; 0 for the
    /// others.
    pub fn speeds_among(&mut self, arrangement: &Arrangement, runs: impl Fn(usize) -> bool) -> Option<Vec<f64>> {
        self.solved += 1;
        let there = |unit: &usize| runs(self.scene.units[*unit].program);
        let units: Vec<usize> = (0..self.scene.units.len()).filter(there).collect();
        let crowding = self.scene.crowding(self.memory, arrangement, &runs);
        let demand = |unit: &usize| self.demand(*unit, arrangement, crowding[arrangement.domains[*unit]]);
        let threads: Vec<Demand> = units.iter().map(demand).collect();
        let question = Question { machine: &self.memory.machine, threads: &threads, copy: None };
        let answer = self.solver.ask(&question, BUDGET).ok()?;
        let mut speeds = vec![0.0; self.scene.traits.len()];
        units.iter().zip(&answer.rates).for_each(|(unit, rate)| speeds[self.scene.units[*unit].program] += rate);
        speeds.iter().all(|speed| speed.is_finite()).then_some(speeds)
    }

    /// The threads of a unit as one demand, because equal threads have equal shares of everything.
    fn demand(&self, at: usize, arrangement: &Arrangement, crowding: f64) -> Demand {
        let unit = &self.scene.units[at];
        let one = &self.scene.traits[unit.program];
        let stays = arrangement.domains[at] == self.scene.base.domains[at];
        let exchange = self.scene.exchange(self.memory, arrangement, unit.program);
        Demand {
            share: unit.share.max(1e-3),
            place: self.memory.places[arrangement.domains[at]],
            mask: arrangement.parts[at].mask,
            compute: (one.compute * crowding + exchange.seconds).max(1e-12),
            curve: one.curve.0.clone(),
            factor: one.curve.1 * exchange.left,
            mlp: 1.0 / one.wait,
            prefetch: one.read - 1.0,
            write_back: WRITE_BACK,
            footprint: one.footprint * unit.threads,
            reach: 1.0 / unit.threads,
            weights: arrangement.weights[unit.program].clone(),
            delay: self.memory.delay(arrangement.domains[at], arrangement.parts[at]),
            held: self.held.get(at).copied().filter(|_| stays).unwrap_or(unit.space),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isobar::idle::Idle;
    use crate::isobar::stage::stage;
    use crate::test_kit::{observation, process, thread, with_pages};

    /// By the equations a program does nothing but wait, and it goes to the node of its pages. If
    /// it was read to compute for ten elevenths of its time, it gains a tenth and no more, less the
    /// time to find in the cache what it always missed.
    #[test]
    fn no_gain_is_more_than_the_waits_that_were_read() {
        let mut seen = observation("node:2 core:2", vec![process(1, vec![thread(1, 0, 20.0)])]);
        with_pages(&mut seen, 1, &[0, 500]);
        let (mut scene, memory, _) = stage(&seen, 4, &Idle::default());
        let mut home = scene.base.clone();
        home.domains[0] = 1;
        let found = 0.2 * scene.traits[0].always * scene.traits[0].wait;
        let mut gain = |compute: f64| {
            (scene.traits[0].compute, scene.traits[0].least_compute) = (1e-10, compute);
            Predictor::new(&scene, &memory).gains(&home).unwrap()[0]
        };
        assert!(gain(1e-10) > 1.2, "{}", gain(1e-10));
        let computes = gain(1e-6 / 1.1);
        assert!((computes - 1e-6 / (1e-6 / 1.1 + found)).abs() < 1e-9 && found > 1e-10, "{computes} {found}");
    }
}
