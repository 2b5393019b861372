//! Random numbers: one stream for the order of the ends and one for each end, so that any end can
//! be repeated alone.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::time::Duration;

/// The generator.
pub type Random = ChaCha8Rng;

/// The stream of an end; number 0 is the stream of the order.
pub fn stream(seed: u64, number: u32) -> Random {
    let mut random = Random::seed_from_u64(seed);
    random.set_stream(u64::from(number));
    random
}

/// A number from 0 to `limit` - 1; 0 if `limit` is 0.
pub fn below(random: &mut Random, limit: usize) -> usize {
    let limit = u64::try_from(limit).unwrap_or(1).max(1);
    usize::try_from(random.next_u64() % limit).unwrap_or(0)
}

/// True on average once in this number of times.
pub fn one_in(random: &mut Random, times: usize) -> bool {
    below(random, times) == 0
}

/// A time between two limits, in milliseconds.
pub fn millis(random: &mut Random, from: u64, to: u64) -> Duration {
    Duration::from_millis(from + random.next_u64() % (to - from + 1))
}

/// Puts the items in random order.
pub fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(random, last + 1));
    }
}
