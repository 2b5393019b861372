//! Counts how often pages were asked to move that are still there. Libraries that other processes
//! share and locked pages never move, and asking for them in every interval would only cost time.

use isobar_model::{NodeId, Pid};
use std::collections::BTreeMap;

/// Intervals in a row without a change after which pages are taken to be immovable.
const PATIENCE: u32 = 3;
/// Intervals after which they are tried again, because the page budget may have gone to others.
const REST: u32 = 60;

/// The process, the node that its pages leave, and the node that they go to.
pub type Key = (Pid, NodeId, NodeId);

/// The requests of the last interval and of this one.
#[derive(Clone, Debug, Default)]
pub struct Tries {
    before: BTreeMap<Key, Try>,
    now: BTreeMap<Key, Try>,
}

#[derive(Clone, Copy, Debug)]
struct Try {
    left: u64,
    without_change: u32,
}

impl Tries {
    /// Begins a new interval; what was not asked for in the last one is forgotten.
    pub fn next_interval(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }

    /// Records that pages are under way: whether they move is not known yet.
    pub fn wait(&mut self, key: Key) {
        self.now.extend(self.before.get(&key).map(|before| (key, *before)));
    }

    /// Whether to ask for pages again; `left` of them are on the wrong node.
    pub fn ask(&mut self, key: Key, left: u64) -> bool {
        let same = self.before.get(&key).filter(|before| before.left == left);
        let without_change = same.map_or(0, |before| before.without_change.saturating_add(1));
        self.now.insert(key, Try { left, without_change });
        without_change < PATIENCE || without_change.is_multiple_of(REST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `!` asks, `.` rests.
    fn timeline(counts: impl IntoIterator<Item = u64>) -> String {
        let mut tries = Tries::default();
        let ask = |left| {
            tries.next_interval();
            if tries.ask((Pid(1), NodeId(0), NodeId(1)), left) { '!' } else { '.' }
        };
        counts.into_iter().map(ask).collect()
    }

    #[test]
    fn what_is_under_way_is_no_try() {
        let (mut tries, key) = (Tries::default(), (Pid(1), NodeId(0), NodeId(1)));
        for _ in 0..9 {
            tries.next_interval();
            assert!(tries.ask(key, 5), "never three in a row");
            tries.next_interval();
            assert!(tries.ask(key, 5));
            tries.next_interval();
            tries.wait(key);
            tries.next_interval();
            assert!(tries.ask(key, 4));
        }
        tries.next_interval();
        tries.wait(key);
        tries.next_interval();
        assert!(
            tries.ask(key, 4) && {
                tries.next_interval();
                tries.ask(key, 4)
            }
        );
        tries.next_interval();
        tries.wait(key);
        tries.next_interval();
        assert!(!tries.ask(key, 4), "waiting has not made us forget");
    }

    #[test]
    fn in_time() {
        assert_eq!(timeline([9, 5, 5, 5, 5, 5]), "!!!!..", "what stays is asked for three times");
        assert_eq!(timeline([9, 8, 7, 6, 5, 9]), "!!!!!!", "what changes goes on");
        assert_eq!(timeline([5, 5, 5, 5, 6, 6, 6, 6]), "!!!.!!!.", "new pages get their chance");
        assert_eq!(timeline([5; 124]).matches('!').count(), 5, "three tries, and one more every 60 intervals");
    }
}
