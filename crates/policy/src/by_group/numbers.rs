//! Gives each predicted change one number, although every policy counts its own changes from 1.

use std::collections::BTreeMap;

/// Maximum number of changes that are remembered until their effect is known; beyond it the oldest
/// are forgotten.
const OPEN: usize = 4096;

/// The common number by policy and by the policy's own number.
#[derive(Debug, Default)]
pub struct Numbers {
    last: u64,
    open: BTreeMap<(usize, u64), u64>,
}

impl Numbers {
    /// The number of a change of the policy at a place; a new number if the change is not known
    /// yet.
    pub fn of(&mut self, place: usize, change: u64) -> u64 {
        if let Some(number) = self.open.get(&(place, change)) {
            return *number;
        }
        self.last += 1;
        self.open.insert((place, change), self.last);
        while self.open.len() > OPEN {
            let oldest = self.open.iter().min_by_key(|(_, number)| **number).map(|(key, _)| *key);
            oldest.and_then(|key| self.open.remove(&key));
        }
        self.last
    }

    /// The same for a change whose effect is now known; the change is then forgotten.
    pub fn closed(&mut self, place: usize, change: u64) -> u64 {
        let number = self.of(place, change);
        self.open.remove(&(place, change));
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_up_whoever_predicts_and_one_policy_keeps_its_own() {
        let mut alone = Numbers::default();
        assert_eq!([1, 2, 3].map(|change| alone.of(0, change)), [1, 2, 3]);
        let mut both = Numbers::default();
        assert_eq!((both.of(0, 1), both.of(1, 1), both.of(0, 2)), (1, 2, 3));
        assert_eq!((both.closed(1, 1), both.of(0, 1), both.of(1, 2)), (2, 1, 4));
        (10..10_000).for_each(|change| assert!(both.of(0, change) > 4));
        assert_eq!(both.open.len(), OPEN);
    }
}
