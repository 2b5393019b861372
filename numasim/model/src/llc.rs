//! A last-level cache: set-associative, with LRU replacement and write-back, and with way masks per
//! class of service like those of resctrl's CAT (Documentation/arch/x86/resctrl.rst): a mask says
//! which ways a class may *fill*; hits may be in any way. It does not include the private caches: a
//! line that leaves the LLC may stay in them.
//!
//! A set is kept in the order of use, the last used line first; each entry stores the way that it
//! lies in. The victim is therefore the last entry whose way is in the mask. The number of sets is
//! arbitrary (LLCs with 11 ways or 20 slices have no power of two).

use crate::cache::Gone;
use crate::num::{high_half, index, low};

const WAY_SHIFT: u32 = 1;
const CLOS_SHIFT: u32 = 7;
const SHARED: u64 = 1 << 17;
const LINE_SHIFT: u32 = 18;
/// An empty slot: no line has this number, because its address would not fit 64 bits.
const EMPTY: u64 = u64::MAX >> LINE_SHIFT;

/// The result of looking for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The line was here; whether another LLC may have it.
    Here(bool),
    /// The line was not here. It is here now, in place of the evicted line, if there was one.
    Came(Option<Gone>),
}

/// See the head of the file.
#[derive(Clone, Debug)]
pub(crate) struct Llc {
    /// Line, shared with another LLC, class, way, dirty; from the highest bit to the lowest.
    slots: Vec<u64>,
    ways: usize,
    sets: Modulus,
    /// The mask of ways that each class may fill.
    masks: Vec<u64>,
    /// Number of lines that each class has filled and that are still here.
    held: Vec<u64>,
    hit_ps: u64,
}

impl Llc {
    pub fn new(spec: &crate::spec::Llc) -> Self {
        let ways = u64::from(spec.ways);
        let sets = spec.size_kib * 16 / spec.ways;
        let set = (0..ways).map(|way| EMPTY << LINE_SHIFT | way << WAY_SHIFT);
        let classes = index(u64::from(spec.clos));
        Self {
            slots: (0..sets).flat_map(|_| set.clone()).collect(),
            ways: index(ways),
            sets: Modulus::new(sets),
            masks: vec![full(index(ways)); classes],
            held: vec![0; classes],
            hit_ps: crate::num::round(spec.hit_ns * 1e3),
        }
    }

    /// Empties the cache; masks stay, dirty data is forgotten.
    pub fn empty(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = EMPTY << LINE_SHIFT | way(*slot) << WAY_SHIFT);
        self.held.fill(0);
    }

    /// The cost of a hit.
    #[inline]
    pub fn hit_ps(&self) -> u64 {
        self.hit_ps
    }

    /// The mask of all its ways.
    pub fn full(&self) -> u64 {
        full(self.ways)
    }

    /// The mask of each class.
    pub fn masks_mut(&mut self) -> &mut [u64] {
        &mut self.masks
    }

    /// Number of lines held by each class.
    pub fn held(&self) -> &[u64] {
        &self.held
    }

    /// Looks for a line, which becomes the last used one. Returns whether another LLC may have it;
    /// `None` if it is not here.
    fn touch(&mut self, line: u64) -> Option<bool> {
        let set = self.set(line);
        let at = find(set, line)?;
        to_front(set, at);
        Some(set[0] & SHARED != 0)
    }

    /// Looks for a line for a class, and fills it if it is not here. If the class may fill all
    /// ways, the search moves the other lines down by one on its way: if the line is not found, the
    /// last one has already fallen out.
    pub fn look(&mut self, line: u64, class: usize) -> Found {
        if self.masks[class] != self.full() {
            return match self.touch(line) {
                Some(shared) => Found::Here(shared),
                None => Found::Came(self.fill(line, class)),
            };
        }
        let set = self.set(line);
        let mut held = set[0];
        if held >> LINE_SHIFT == line {
            return Found::Here(held & SHARED != 0);
        }
        for place in &mut set[1..] {
            std::mem::swap(place, &mut held);
            if held >> LINE_SHIFT == line {
                set[0] = held;
                return Found::Here(held & SHARED != 0);
            }
        }
        set[0] = entry(line, class, way(held));
        self.held[class] += 1;
        Found::Came(self.gone(held))
    }

    /// Marks a line as shared with another LLC, and its dirty data as in memory. Returns whether
    /// the line was dirty; `None` if it was not here.
    pub fn share(&mut self, line: u64) -> Option<bool> {
        let set = self.set(line);
        let at = find(set, line)?;
        let dirty = set[at] & 1 == 1;
        set[at] = set[at] & !1 | SHARED;
        Some(dirty)
    }

    /// Marks a line as possibly in another LLC; dirty data stays dirty.
    pub fn mark_shared(&mut self, line: u64) {
        let set = self.set(line);
        if let Some(at) = find(set, line) {
            set[at] |= SHARED;
        }
    }

    /// Marks a line as in no other LLC.
    pub fn own(&mut self, line: u64) {
        let set = self.set(line);
        if let Some(at) = find(set, line) {
            set[at] &= !SHARED;
        }
    }

    /// Puts a line that is not here into a way of the class; returns the evicted line.
    fn fill(&mut self, line: u64, class: usize) -> Option<Gone> {
        let mask = self.masks[class];
        let set = self.set(line);
        let at = set.iter().rposition(|slot| mask >> way(*slot) & 1 == 1)?;
        let old = set[at];
        set[at] = entry(line, class, way(old));
        to_front(set, at);
        self.held[class] += 1;
        self.gone(old)
    }

    /// Takes the data of a dirty line from a private cache, if the line is here; the order of use
    /// does not change. Returns whether it is here.
    pub fn absorb(&mut self, line: u64) -> bool {
        let set = self.set(line);
        find(set, line).map(|at| set[at] |= 1).is_some()
    }

    /// Removes a line. Returns whether it was dirty; `None` if it was not here.
    pub fn flush(&mut self, line: u64) -> Option<bool> {
        let set = self.set(line);
        let at = find(set, line)?;
        let old = set[at];
        set[at] = EMPTY << LINE_SHIFT | way(old) << WAY_SHIFT;
        set[at..].rotate_left(1);
        self.gone(old).map(|gone| gone.dirty)
    }

    fn gone(&mut self, old: u64) -> Option<Gone> {
        let line = old >> LINE_SHIFT;
        if line == EMPTY {
            return None;
        }
        self.held[index(old >> CLOS_SHIFT & 0x3ff)] -= 1;
        Some(Gone { line, dirty: old & 1 == 1 })
    }

    #[inline]
    fn set(&mut self, line: u64) -> &mut [u64] {
        let first = self.sets.of(low(line)) * self.ways;
        &mut self.slots[first..first + self.ways]
    }
}

fn find(set: &[u64], line: u64) -> Option<usize> {
    set.iter().position(|slot| slot >> LINE_SHIFT == line)
}

const fn full(ways: usize) -> u64 {
    u64::MAX >> (64 - ways)
}

/// The entry of a clean line that no other LLC has.
#[inline]
const fn entry(line: u64, class: usize, way: u64) -> u64 {
    line << LINE_SHIFT | (class as u64) << CLOS_SHIFT | way << WAY_SHIFT
}

#[inline]
const fn way(slot: u64) -> u64 {
    slot >> WAY_SHIFT & 0x3f
}

#[inline]
fn to_front(set: &mut [u64], at: usize) {
    let slot = set[at];
    let mut held = slot;
    for place in &mut set[..=at] {
        std::mem::swap(place, &mut held);
    }
}

/// Computes the remainder by a fixed number without a division (Lemire, Kaser, Kurz: Faster
/// remainder by direct computation, 2019; exact for 32 bits).
#[derive(Clone, Copy, Debug)]
struct Modulus {
    by: u64,
    inverse: u64,
}

impl Modulus {
    fn new(by: u32) -> Self {
        Self { by: u64::from(by), inverse: (u64::MAX / u64::from(by)).wrapping_add(1) }
    }

    #[inline]
    fn of(self, value: u32) -> usize {
        index(high_half(self.inverse.wrapping_mul(u64::from(value)), self.by))
    }
}
