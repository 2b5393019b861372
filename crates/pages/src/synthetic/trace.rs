//! The iterator over accesses: it draws a zone for each access, and takes the page from the
//! thread's cursor in that zone.

use super::Access;
use super::cursor::{Cursor, fixed};
use super::error::RecipeError;
use super::recipe::Recipe;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A synthetic trace, made by [`Recipe::trace`]. It holds in memory only its cursors: threads times
/// zones.
#[derive(Clone, Debug)]
pub struct Trace {
    rng: ChaCha8Rng,
    /// Cursors by thread, then by zone.
    cursors: Vec<Cursor>,
    zones: usize,
    threads: u16,
    thread: u16,
    /// Accesses left.
    left: u64,
    /// Upper bound of each zone's share of 32 random bits, for the zones before the last one that
    /// has a weight.
    bounds: Vec<u32>,
}

impl Recipe {
    /// The trace of a seed. Another seed starts elsewhere in every pattern and draws other pages.
    ///
    /// # Errors
    /// [`RecipeError`] if the recipe contains an invalid value.
    pub fn trace(&self, seed: u64) -> Result<Trace, RecipeError> {
        self.validate()?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let cursors = cursors(self, &mut rng);
        let weights: Vec<_> = self.zones.iter().map(|zone| zone.weight).collect();
        let (zones, threads, left) = (self.zones.len(), self.threads, self.accesses);
        Ok(Trace { rng, cursors, zones, threads, thread: 0, left, bounds: bounds(&weights) })
    }
}

impl Iterator for Trace {
    type Item = Access;

    fn next(&mut self) -> Option<Access> {
        self.left = self.left.checked_sub(1)?;
        let random = self.rng.next_u64();
        let (high, low) = halves(random);
        let zone = self.bounds.iter().filter(|bound| high >= **bound).count();
        let page = self.cursors[usize::from(self.thread) * self.zones + zone].next(low);
        let access = Access { thread: self.thread, page };
        // The threads run side by side: one access of each thread in turn.
        self.thread = (self.thread + 1) % self.threads;
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

/// The upper bounds of the zones in 32 random bits. A zone is drawn if the random bits are at or
/// above the bounds of all zones before it. Zones after the last one with a weight are never drawn,
/// whatever rounding does, because the bounds end at that zone.
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
