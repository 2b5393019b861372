//! Decides which accesses are sampled: one at a random place in each stretch of `period` accesses.
//! Instruction-based sampling randomises its counter in the same way, so that it does not run in
//! step with a loop of the program.

use isobar_model::num;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Positions of sampled accesses, strictly ascending.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    rng: ChaCha8Rng,
    period: f64,
    stretch: u64,
    last: Option<u64>,
}

impl Sampler {
    /// Creates a sampler. A period below 1 samples every access.
    pub(super) fn new(period: f64, seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), period: period.max(1.0), stretch: 0, last: None }
    }
}

impl Iterator for Sampler {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            let within = f64::from(self.rng.next_u32()) / 4_294_967_296.0;
            let at = num::floor((num::float(self.stretch) + within) * self.period);
            self.stretch += 1;
            if self.last.is_none_or(|last| at > last) {
                self.last = Some(at);
                return self.last;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sampler;

    #[test]
    fn a_period_of_one_samples_every_access() {
        assert!(Sampler::new(1.0, 9).take(1000).eq(0..1000));
        assert!(Sampler::new(0.1, 9).take(1000).eq(0..1000));
    }

    #[test]
    fn each_stretch_has_one_sample() {
        let samples: Vec<_> = Sampler::new(100.0, 5).take(1000).collect();
        assert!(samples.iter().zip(0..).all(|(at, nth)| at / 100 == nth));
        let uneven: Vec<_> = Sampler::new(1.5, 5).take(1000).collect();
        assert!(uneven.is_sorted_by(|a, b| a < b));
    }
}
