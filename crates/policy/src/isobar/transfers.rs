//! How many of a program's misses are lines that pass between caches: its own threads' lines, and
//! those of other programs.

use super::reading::{FEW, Reading};

/// What the readings of a program show.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transfers {
    /// Misses per instruction that are lines which its threads pass to each other: see
    /// [`super::exchange`]. 0 if its threads are on one cache.
    pub passed: f64,
    /// Misses per instruction that another cache answered when all of its threads were on one:
    /// lines that other programs pass to it.
    foreign: f64,
}

impl Transfers {
    /// Reads an epoch, and how many lines the threads pass to each other: the fewer of two readings
    /// in a row with threads on several caches, less what other programs pass to the program.
    pub fn read(&mut self, last: Option<&Reading>, now: &Reading) {
        let apart = |one: &Reading| one.transfers.filter(|_| one.apart);
        if let Some(from_others) = now.transfers.filter(|_| !now.apart) {
            self.foreign = from_others;
        }
        let both = last.and_then(apart).zip(apart(now));
        let own = both.map_or(0.0, |(before, now)| before.min(now) - self.foreign);
        self.passed = if own < FEW { 0.0 } else { own };
    }
}
