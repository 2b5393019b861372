//! Random numbers: one stream for each target, so that its inputs do not depend on other targets.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::ops::Range;

/// The generator.
pub type Random = ChaCha8Rng;

/// The stream of a target.
pub fn stream(seed: u64, name: &str) -> Random {
    let mut whole = [0; 32];
    let given = seed.to_le_bytes().into_iter().chain(name.bytes());
    whole.iter_mut().zip(given).for_each(|(to, byte)| *to = byte);
    Random::from_seed(whole)
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

/// One of these, if there are any.
pub fn one_of<'a, T>(random: &mut Random, of: &'a [T]) -> Option<&'a T> {
    of.get(below(random, of.len()))
}

/// Any byte.
pub fn byte(random: &mut Random) -> u8 {
    random.next_u64().to_le_bytes()[0]
}

/// A part of something of this length: mostly short, and only empty where all is.
pub fn part(random: &mut Random, len: usize) -> Range<usize> {
    let most = (1 << below(random, 10)).min(len);
    let long = (1 + below(random, most)).min(len);
    let from = below(random, len - long + 1);
    from..from + long
}
