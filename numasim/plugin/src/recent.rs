//! Lines that the running CPU has used so recently that using them again changes nothing: in each
//! set of its private cache, the line that was used last. Most accesses are to these lines.
//! Generated code looks them up in a few instructions, and calls nothing if it finds one.
//!
//! Lines are virtual. They are forgotten whenever an address may come to mean another line, and
//! whenever another line may have become the last one used: when another CPU runs, at a flush, and
//! at instructions that change translation. A store counts only if the line is already dirty.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Number of places. A page has the same number of lines, so virtual and physical lines have the
/// same place.
const PLACES: usize = 64;
/// An unused place: no address has this line.
const NONE: u64 = u64::MAX;

/// By the low bits of a line: the lines for loads and those for stores. Also how often a line was
/// found, and a mask of the low bits that count.
#[repr(C)]
pub struct Recent {
    loads: [AtomicU64; PLACES],
    stores: [AtomicU64; PLACES],
    found: AtomicU64,
    mask: AtomicU64,
}

pub static RECENT: Recent = Recent {
    loads: [const { AtomicU64::new(NONE) }; PLACES],
    stores: [const { AtomicU64::new(NONE) }; PLACES],
    found: AtomicU64::new(0),
    mask: AtomicU64::new(0),
};

impl Recent {
    /// Offsets of the fields that generated code uses; lines for loads come first.
    pub const STORES: usize = std::mem::offset_of!(Self, stores);
    pub const FOUND: usize = std::mem::offset_of!(Self, found);
    pub const MASK: usize = std::mem::offset_of!(Self, mask);
}

/// Sets the number of sets of the private caches, a power of two: a place belongs to one set or to
/// several.
pub fn sets(count: u64) {
    RECENT.mask.store(count.clamp(1, PLACES as u64) - 1, Relaxed);
}

#[inline]
fn place(line: u64) -> usize {
    usize::try_from(line & RECENT.mask.load(Relaxed)).unwrap_or(0) % PLACES
}

/// Whether no line is remembered.
static EMPTY: AtomicBool = AtomicBool::new(true);

/// Whether an access to a line changes nothing. If so, it is counted.
#[inline]
pub fn has(line: u64, store: bool) -> bool {
    let lines = if store { &RECENT.stores } else { &RECENT.loads };
    let found = lines[place(line)].load(Relaxed) == line;
    if found {
        RECENT.found.store(RECENT.found.load(Relaxed) + 1, Relaxed);
    }
    found
}

/// Records that a line has been used and is the last one used of its set.
#[inline]
pub fn used(line: u64, store: bool) {
    let place = place(line);
    EMPTY.store(false, Relaxed);
    RECENT.loads[place].store(line, Relaxed);
    let dirty = &RECENT.stores[place];
    dirty.store(if store || dirty.load(Relaxed) == line { line } else { NONE }, Relaxed);
}

/// Forgets a line, so that it is looked up next time.
#[inline]
pub fn forget(line: u64) {
    let place = place(line);
    RECENT.loads[place].store(NONE, Relaxed);
    RECENT.stores[place].store(NONE, Relaxed);
}

/// Forgets all lines, so that they are looked up next time.
#[inline]
pub fn forget_all() {
    if EMPTY.load(Relaxed) {
        return;
    }
    EMPTY.store(true, Relaxed);
    RECENT.loads.iter().chain(&RECENT.stores).for_each(|line| line.store(NONE, Relaxed));
}

/// Takes the number of lines found since the last call.
pub fn take_found() -> u64 {
    RECENT.found.swap(0, Relaxed)
}
