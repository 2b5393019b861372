//! The private cache of a CPU: set-associative, least recently used line out, written back. It
//! knows lines; it refuses to know nodes, costs and what is below it.
//!
//! A set is kept in the order of use, the last used line first, so that the ordinary hit is one
//! comparison. What looks for a line moves the others down by one on its way: where the line is not
//! found, the set is already as it must be after the fill.

use crate::num::index;

/// No line: no address has it, since lines are addresses divided by 64.
const EMPTY: u64 = u64::MAX;

/// See the head of the file.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    /// Line number times 2, plus 1 where it is dirty; set by set.
    slots: Vec<u64>,
    ways: usize,
    set_mask: u64,
}

/// What an access found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// The line.
    Hit,
    /// Not the line: it is here now, in the place of what went.
    Miss(Option<Gone>),
}

/// A line that left a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    pub line: u64,
    pub dirty: bool,
}

impl Cache {
    /// A cache of `sets`, a power of two.
    pub fn new(sets: usize, ways: usize) -> Self {
        Self { slots: vec![EMPTY; sets * ways], ways, set_mask: sets as u64 - 1 }
    }

    /// Holds nothing; what was dirty is forgotten.
    pub fn empty(&mut self) {
        self.slots.fill(EMPTY);
    }

    /// Reads or writes a line; it is the last used one then.
    #[inline]
    pub fn touch(&mut self, line: u64, store: bool) -> Touch {
        let first = index(line & self.set_mask) * self.ways;
        let set = &mut self.slots[first..first + self.ways];
        if set[0] >> 1 == line {
            set[0] |= u64::from(store);
            return Touch::Hit;
        }
        search(set, line, store)
    }

    /// Takes a line out; whether it was here, and dirty.
    pub fn flush(&mut self, line: u64) -> Option<bool> {
        let first = index(line & self.set_mask) * self.ways;
        let set = &mut self.slots[first..first + self.ways];
        let at = set.iter().position(|slot| slot >> 1 == line)?;
        let dirty = set[at] & 1 == 1;
        set[at..].rotate_left(1);
        set[self.ways - 1] = EMPTY;
        Some(dirty)
    }
}

/// Moves lines down until the one wanted is found or the last has fallen out.
fn search(set: &mut [u64], line: u64, store: bool) -> Touch {
    let mut held = set[0];
    for slot in &mut set[1..] {
        std::mem::swap(slot, &mut held);
        if held >> 1 == line {
            set[0] = held | u64::from(store);
            return Touch::Hit;
        }
    }
    set[0] = line << 1 | u64::from(store);
    Touch::Miss((held != EMPTY).then_some(Gone { line: held >> 1, dirty: held & 1 == 1 }))
}
