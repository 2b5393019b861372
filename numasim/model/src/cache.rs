//! The private cache of a CPU: set-associative, with LRU replacement and write-back. It knows
//! lines; it does not know nodes, costs or the levels below.
//!
//! A set is kept in the order of use, the last used line first, so that the ordinary hit is one
//! comparison. The search for a line moves the other lines down by one on its way: if the line is
//! not found, the set is already in the state that it must have after the fill.

use crate::num::index;

/// An empty slot: no address has this line, because lines are addresses divided by 64.
const EMPTY: u64 = u64::MAX;
const LINE_SHIFT: u32 = 2;
/// Flag: another cache may have the line, so that a store must take it from there.
const SHARED: u64 = 2;
/// Flag: the line was stored to.
const DIRTY: u64 = 1;

/// See the head of the file.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    /// Line number times 4, plus [`SHARED`], plus [`DIRTY`]; set by set.
    slots: Vec<u64>,
    ways: usize,
    set_mask: u64,
}

/// The result of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// The line is here.
    Hit,
    /// The line is here, but must be taken from other caches before it is stored to.
    Shared,
    /// The line was not here. It is here now, in place of the evicted line, if there was one.
    Miss(Option<Gone>),
}

/// A line that left a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    pub line: u64,
    pub dirty: bool,
}

impl Cache {
    /// A cache with `sets` sets, a power of two.
    pub fn new(sets: usize, ways: usize) -> Self {
        Self { slots: vec![EMPTY; sets * ways], ways, set_mask: sets as u64 - 1 }
    }

    /// Empties the cache; dirty data is forgotten.
    pub fn empty(&mut self) {
        self.slots.fill(EMPTY);
    }

    /// Reads or writes a line, which becomes the last used one.
    #[inline]
    pub fn touch(&mut self, line: u64, store: bool) -> Touch {
        let set = self.set(line);
        if set[0] >> LINE_SHIFT == line {
            return store_to(&mut set[0], store);
        }
        search(set, line, store)
    }

    /// Like [`Self::touch`], for a line that is here and, for a store, in no other cache. False if
    /// this is not the case; nothing has changed then.
    #[inline]
    pub fn touch_own(&mut self, line: u64, store: bool) -> bool {
        let set = self.set(line);
        let Some(at) = find(set, line) else { return false };
        let slot = set[at];
        if store && slot & SHARED != 0 {
            return false;
        }
        for place in (0..at).rev() {
            set[place + 1] = set[place];
        }
        set[0] = slot | u64::from(store);
        true
    }

    /// Removes a line. Returns whether it was dirty; `None` if it was not here.
    pub fn flush(&mut self, line: u64) -> Option<bool> {
        let set = self.set(line);
        let at = find(set, line)?;
        let dirty = set[at] & DIRTY != 0;
        set[at..].rotate_left(1);
        set[set.len() - 1] = EMPTY;
        Some(dirty)
    }

    /// Marks a line as shared with another cache, which also knows the dirty data. Returns whether
    /// the line was dirty; `None` if it was not here.
    pub fn share(&mut self, line: u64) -> Option<bool> {
        let set = self.set(line);
        let at = find(set, line)?;
        let dirty = set[at] & DIRTY != 0;
        set[at] = set[at] & !DIRTY | SHARED;
        Some(dirty)
    }

    /// Marks a line as stored to and in no other cache.
    pub fn own(&mut self, line: u64) {
        let set = self.set(line);
        if let Some(at) = find(set, line) {
            set[at] = set[at] & !SHARED | DIRTY;
        }
    }

    #[inline]
    fn set(&mut self, line: u64) -> &mut [u64] {
        let first = index(line & self.set_mask) * self.ways;
        &mut self.slots[first..first + self.ways]
    }
}

#[inline]
fn find(set: &[u64], line: u64) -> Option<usize> {
    set.iter().position(|slot| slot >> LINE_SHIFT == line)
}

#[inline]
fn store_to(slot: &mut u64, store: bool) -> Touch {
    if store && *slot & SHARED != 0 {
        return Touch::Shared;
    }
    *slot |= u64::from(store);
    Touch::Hit
}

/// Moves lines down until the wanted line is found or the last line has fallen out.
fn search(set: &mut [u64], line: u64, store: bool) -> Touch {
    let mut held = set[0];
    for slot in &mut set[1..] {
        std::mem::swap(slot, &mut held);
        if held >> LINE_SHIFT == line {
            set[0] = held;
            return store_to(&mut set[0], store);
        }
    }
    set[0] = line << LINE_SHIFT | u64::from(store);
    Touch::Miss((held != EMPTY).then_some(Gone { line: held >> LINE_SHIFT, dirty: held & DIRTY != 0 }))
}
