//! The iterator: draws a zone for each access, takes the page from the thread's cursor there, keeps
//! the instruction counts.

use super::cursor::{Cursor, fixed};
use super::recipe::Recipe;
use crate::{Access, TraceError};
use isobar_model::num;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A synthetic trace; made by [`Recipe::trace`]. Its memory is that of its cursors: threads times
/// zones.
#[derive(Clone, Debug)]
pub struct Trace {
    rng: ChaCha8Rng,
    /// By thread, then zone.
    cursors: Vec<Cursor>,
    zones: usize,
    threads: u16,
    thread: u16,
    /// Accesses left.
    left: u64,
    /// Instructions of each thread so far, and to the next round of accesses.
    instruction: f64,
    gap: f64,
    steady_gap: f64,
    stages: Vec<Stage>,
    stage: usize,
    /// Accesses left of the stage.
    stage_left: u64,
}

/// A phase, ready to draw from.
#[derive(Clone, Debug)]
struct Stage {
    accesses: u64,
    /// Upper bounds of each zone's part of 32 random bits, all but the last zone's.
    bounds: Vec<u32>,
    pace: f64,
}

impl Recipe {
    /// The trace; another seed starts elsewhere in every pattern and draws other pages.
    ///
    /// # Errors
    /// [`TraceError`] where the recipe holds a value that cannot be.
    pub fn trace(&self, seed: u64) -> Result<Trace, TraceError> {
        self.validate()?;
        Ok(Trace::new(self, seed))
    }
}

impl Trace {
    /// Of a recipe that was checked.
    fn new(recipe: &Recipe, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let stages = stages(recipe);
        let cursors = cursors(recipe, &mut rng);
        let mut trace = Self {
            rng,
            cursors,
            zones: recipe.zones.len(),
            threads: recipe.threads,
            thread: 0,
            left: recipe.accesses,
            instruction: 0.0,
            gap: recipe.instructions_per_access,
            steady_gap: recipe.instructions_per_access,
            stages,
            stage: 0,
            stage_left: 0,
        };
        trace.enter(0);
        trace
    }

    fn enter(&mut self, stage: usize) {
        self.stage = if stage < self.stages.len() { stage } else { 0 };
        let entered = &self.stages[self.stage];
        self.stage_left = entered.accesses;
        self.gap = self.steady_gap * entered.pace;
    }

    /// The threads run side by side: a round of accesses, one of each thread, takes the
    /// instructions of one gap.
    fn turn(&mut self) {
        self.thread += 1;
        if self.thread == self.threads {
            self.thread = 0;
            self.instruction += self.gap;
        }
        self.stage_left -= 1;
        if self.stage_left == 0 {
            self.enter(self.stage + 1);
        }
    }
}

impl Iterator for Trace {
    type Item = Access;

    fn next(&mut self) -> Option<Access> {
        self.left = self.left.checked_sub(1)?;
        let random = self.rng.next_u64();
        let (high, low) = halves(random);
        let zone = self.stages[self.stage].bounds.iter().filter(|bound| high >= **bound).count();
        let page = self.cursors[usize::from(self.thread) * self.zones + zone].next(low);
        let access = Access { instruction: num::floor(self.instruction), thread: self.thread, page };
        self.turn();
        Some(access)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        usize::try_from(self.left).map_or((usize::MAX, None), |left| (left, Some(left)))
    }
}

#[allow(clippy::cast_possible_truncation)]
const fn halves(random: u64) -> (u32, u32) {
    ((random >> 32) as u32, random as u32)
}

fn stages(recipe: &Recipe) -> Vec<Stage> {
    let steady = recipe.zones.iter().map(|zone| zone.weight).collect::<Vec<_>>();
    let phases = recipe.phases.iter();
    let mut stages: Vec<_> = phases
        .map(|phase| Stage { accesses: phase.accesses, bounds: bounds(&phase.weights), pace: phase.pace })
        .collect();
    if stages.is_empty() {
        stages.push(Stage { accesses: u64::MAX, bounds: bounds(&steady), pace: 1.0 });
    }
    stages
}

/// A zone is drawn when the random bits are at or above the bounds of all zones before it. Zones
/// after the last one that has any weight can never be drawn, whatever rounding does: their bounds
/// lie above all random bits.
fn bounds(weights: &[f64]) -> Vec<u32> {
    let sum: f64 = weights.iter().sum();
    let last = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
    let mut passed = 0.0;
    let before_last = weights[..last].iter().map(|weight| {
        passed += weight;
        fixed(passed / sum)
    });
    before_last.collect()
}

fn cursors(recipe: &Recipe, rng: &mut ChaCha8Rng) -> Vec<Cursor> {
    let mut cursors = Vec::with_capacity(usize::from(recipe.threads) * recipe.zones.len());
    for thread in 0..recipe.threads {
        let mut first = 0;
        for zone in &recipe.zones {
            let (start, phase) = (rng.next_u32(), rng.next_u32());
            cursors.push(Cursor::new(zone, first, thread, recipe.threads, start, phase));
            first += zone.pages;
        }
    }
    cursors
}
