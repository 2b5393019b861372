//! Values that were remembered in the last interval, by ascending key. They are taken out while the
//! keys of this interval are visited in the same order. What is not asked for is forgotten.

use std::iter::Peekable;
use std::vec::IntoIter;

/// Values of the last interval.
#[derive(Clone, Debug)]
pub struct PreviousValues<K, V>(Peekable<IntoIter<(K, V)>>);

impl<K: Ord, V> PreviousValues<K, V> {
    /// Takes the values out of a list that is ascending by key; the list is empty afterwards.
    pub fn take_from(list: &mut Vec<(K, V)>) -> Self {
        Self(std::mem::take(list).into_iter().peekable())
    }

    /// The value of a key, which must be greater than all keys that were asked for before.
    pub fn take(&mut self, key: &K) -> Option<V> {
        while self.0.next_if(|(old, _)| old < key).is_some() {}
        self.0.next_if(|(old, _)| old == key).map(|(_, value)| value)
    }
}
