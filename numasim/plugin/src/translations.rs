//! Physical addresses of the pages that a CPU has used recently, so that QEMU is asked once per
//! page and not at each access. They are forgotten at every instruction after which an address may
//! mean another page, as the guest's own TLBs are.

const PLACES: usize = 64;
const SHIFT: u32 = 12;
const OFFSET: u64 = (1 << SHIFT) - 1;

/// By the low bits of the virtual page: the virtual page and the physical one.
#[derive(Clone)]
pub struct Translations([(u64, u64); PLACES]);

impl Translations {
    /// No page is known.
    pub const NONE: Self = Self([(u64::MAX, 0); PLACES]);

    #[inline]
    pub fn get(&self, address: u64) -> Option<u64> {
        let page = address >> SHIFT;
        let (known, physical) = self.0[place(page)];
        (known == page).then_some(physical | (address & OFFSET))
    }

    #[inline]
    pub fn put(&mut self, address: u64, physical: u64) {
        let page = address >> SHIFT;
        self.0[place(page)] = (page, physical & !OFFSET);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only the low bits count")]
const fn place(page: u64) -> usize {
    page as usize % PLACES
}
