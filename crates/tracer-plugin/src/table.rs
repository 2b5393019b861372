//! How often one thread accessed which pages in the current slice. The table is updated on every
//! access. Therefore repeated accesses are counted in a small cache, and reach the table when
//! another page takes the slot in the cache.

use isobar_pages::trace::Row;

/// Slots of the cache. Each page has exactly one possible slot.
const WAYS: usize = 256;
/// No page has this number.
const NONE: u64 = u64::MAX;
/// 2^64 divided by the golden ratio: neighbouring numbers land far apart.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Copy)]
struct Line {
    page: u64,
    loads: u64,
    stores: u64,
    slot: usize,
}

const EMPTY: Line = Line { page: NONE, loads: 0, stores: 0, slot: 0 };

#[derive(Clone, Copy)]
struct Slot {
    page: u64,
    loads: u64,
    stores: u64,
    /// Whether the slot is listed in `touched`.
    touched: bool,
}

/// Whether an access loads (1), stores (2), or does both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access(u32);

impl Access {
    /// From the information that QEMU gives about an access: the two bits above the lower sixteen.
    #[inline(always)]
    pub const fn of(info: u32) -> Self {
        Self(info >> 16 & 3)
    }

    #[inline(always)]
    const fn loads(self) -> u64 {
        (self.0 & 1) as u64
    }

    /// 1 if the access stores, otherwise 0.
    #[inline(always)]
    pub const fn stores(self) -> u64 {
        (self.0 >> 1) as u64
    }
}

/// The pages of a thread. They stay when their counts are taken, so that a page is recognised if
/// the thread has accessed it before.
pub struct Table {
    lines: Box<[Line; WAYS]>,
    slots: Vec<Slot>,
    /// Positions of slots by page, plus one; 0 is free. Open addressing, at most half full.
    places: Vec<u32>,
    /// Slots accessed since counts were last taken.
    touched: Vec<u32>,
}

impl Default for Table {
    fn default() -> Self {
        Self { lines: Box::new([EMPTY; WAYS]), slots: Vec::new(), places: vec![0; 1024], touched: Vec::new() }
    }
}

impl Table {
    /// Counts an access if the page is in the cache. Otherwise returns false; call [`Self::admit`]
    /// then.
    #[inline(always)]
    pub fn count(&mut self, page: u64, access: Access) -> bool {
        let line = &mut self.lines[way(page)];
        if line.page != page {
            return false;
        }
        line.loads += access.loads();
        line.stores += access.stores();
        true
    }

    /// Brings a page into the cache; true if the thread accesses the page for the first time.
    pub fn admit(&mut self, page: u64) -> bool {
        let (slot, new) = self.slot(page);
        let entry = &mut self.slots[slot];
        if !std::mem::replace(&mut entry.touched, true) {
            self.touched.push(u32::try_from(slot).unwrap_or(u32::MAX));
        }
        let line = std::mem::replace(&mut self.lines[way(page)], Line { page, slot, ..EMPTY });
        self.settle(line);
        new
    }

    /// Takes the counts, in no particular order, and sets them to zero.
    pub fn take(&mut self, thread: u32, into: &mut Vec<Row>) {
        for at in 0..WAYS {
            let line = std::mem::replace(&mut self.lines[at], EMPTY);
            self.settle(line);
        }
        for at in self.touched.drain(..) {
            let slot = &mut self.slots[at as usize];
            // A page may have been brought in for an access that counts for another slice.
            if slot.loads + slot.stores > 0 {
                into.push(Row { page: slot.page, thread, loads: slot.loads, stores: slot.stores });
            }
            (slot.loads, slot.stores, slot.touched) = (0, 0, false);
        }
    }

    fn settle(&mut self, line: Line) {
        if line.page != NONE {
            let slot = &mut self.slots[line.slot];
            slot.loads += line.loads;
            slot.stores += line.stores;
        }
    }

    /// The slot of a page, and whether it is new.
    fn slot(&mut self, page: u64) -> (usize, bool) {
        let mask = self.places.len() - 1;
        let mut at = place(page, mask);
        while let Some(slot) = (self.places[at] as usize).checked_sub(1) {
            if self.slots[slot].page == page {
                return (slot, false);
            }
            at = (at + 1) & mask;
        }
        self.slots.push(Slot { page, loads: 0, stores: 0, touched: false });
        self.places[at] = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        if self.slots.len() * 2 > self.places.len() {
            self.grow();
        }
        (self.slots.len() - 1, true)
    }

    fn grow(&mut self) {
        let mask = self.places.len() * 2 - 1;
        let mut places = vec![0; mask + 1];
        for (slot, entry) in (1..).zip(&self.slots) {
            let mut at = place(entry.page, mask);
            while places[at] != 0 {
                at = (at + 1) & mask;
            }
            places[at] = slot;
        }
        self.places = places;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only low bits are kept")]
const fn way(page: u64) -> usize {
    page as usize & (WAYS - 1)
}

const fn place(page: u64, mask: usize) -> usize {
    (page.wrapping_mul(SPREAD) >> 32) as usize & mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn access(table: &mut Table, page: u64, store: bool) -> bool {
        let count = |table: &mut Table| table.count(page, Access::of(1 << (16 + u32::from(store))));
        if count(table) {
            return false;
        }
        let new = table.admit(page);
        assert!(count(table));
        new
    }

    #[test]
    fn an_atomic_access_is_a_load_and_a_store() {
        let mut table = Table::default();
        table.admit(9);
        assert!(table.count(9, Access::of(3 << 16 | 0x23)));
        let mut rows = Vec::new();
        table.take(0, &mut rows);
        assert_eq!(rows, [Row { page: 9, thread: 0, loads: 1, stores: 1 }]);
    }

    #[test]
    fn counts_are_exact_whoever_shares_a_place() {
        let mut table = Table::default();
        let (mut expected, mut news) = (BTreeMap::<u64, (u64, u64)>::new(), 0);
        let mut state = 1_u64;
        for slice in 0..3 {
            for _ in 0..20_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (page, store) = ((state >> 33) % 3000 + slice * 500, state >> 63 == 1);
                news += u64::from(access(&mut table, page, store));
                let count = expected.entry(page).or_default();
                if store { count.1 += 1 } else { count.0 += 1 }
            }
            let mut rows = Vec::new();
            table.take(7, &mut rows);
            let found: BTreeMap<_, _> = rows.iter().map(|row| (row.page, (row.loads, row.stores))).collect();
            assert!(rows.len() == found.len() && rows.iter().all(|row| row.thread == 7));
            assert_eq!(found, std::mem::take(&mut expected));
        }
        assert_eq!(news, table.slots.len() as u64, "a page is new once");
    }
}
