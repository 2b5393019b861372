//! Pages that were asked to move and do not: shared libraries, locked pages. Asking for them in
//! every interval would only cost time.

use super::previous::PreviousValues;
use isobar_model::{NodeId, Pid};

/// Process, from, to.
pub type Key = (Pid, NodeId, NodeId);

/// After this number of intervals without fewer remote pages, what is left is taken as immovable.
const PATIENCE: u32 = 3;

/// Pages that were asked to move and are still there; only the last interval is remembered.
#[derive(Clone, Debug)]
pub struct ImmovablePages {
    before: PreviousValues<Key, Tries>,
    now: Vec<(Key, Tries)>,
}

#[derive(Clone, Copy, Debug)]
struct Tries {
    left: u64,
    tries: u32,
}

impl Default for ImmovablePages {
    fn default() -> Self {
        Self { before: PreviousValues::take_from(&mut Vec::new()), now: Vec::new() }
    }
}

impl ImmovablePages {
    /// A new interval begins.
    pub fn next_interval(&mut self) {
        self.before = PreviousValues::take_from(&mut self.now);
    }

    /// Records that pages are under way: whether they move is not known yet. Keys ascend within an
    /// interval.
    pub fn wait(&mut self, key: Key) {
        let before = self.before.take(&key);
        self.now.extend(before.map(|tries| (key, tries)));
    }

    /// Whether the number of remote pages still falls. A thread that has just arrived gives them
    /// another chance. Keys ascend within an interval.
    pub fn moves(&mut self, key: Key, left: u64, arrived: bool) -> bool {
        let before = self.before.take(&key).unwrap_or(Tries { left: u64::MAX, tries: 0 });
        let again = left < before.left || arrived;
        let tries = if again { 0 } else { before.tries + 1 };
        let left = if again { left } else { before.left };
        self.now.push((key, Tries { left, tries: tries.min(PATIENCE) }));
        tries < PATIENCE
    }
}
