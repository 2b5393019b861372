//! The TLB of a CPU: which pages need no page walk. It knows addresses; it does not know what is in
//! memory.
//!
//! Departures from real machines:
//!
//! 1. *One level*, data only: its entries are those of the last level, and a miss in the first
//!    level costs nothing.
//! 2. *A walk always costs the same*, and page tables take no cache space. If misses overlap, the
//!    walk for a line that misses delays its arrival, and any number of walks proceed in parallel.
//!    The walk for a line that is in the private cache, or that a stream covers, stalls the CPU.
//! 3. *The kernel's addresses never miss*: the kernel maps memory with pages of 1 GiB.
//! 4. *The size of a page is guessed*: 2 MiB if virtual and physical address agree in their low 21
//!    bits, which is also true of one in 512 small pages; otherwise 4 KiB.
//! 5. *Every change of address space empties the TLB*, as on a CPU without PCIDs.

use crate::cache::{Cache, Touch};
use crate::num::{index, round};
use crate::spec;

const SMALL_SHIFT: u32 = 12;
const HUGE_SHIFT: u32 = 21;
/// Distinguishes the numbers of huge pages; no small page of a program has this bit.
const HUGE: u64 = 1 << 58;
/// Addresses from here on belong to the kernel.
const KERNEL: u64 = 1 << 63;

/// See the head of the file.
#[derive(Clone, Debug)]
pub(crate) struct Tlb {
    pages: Cache,
    walk_ps: u64,
}

impl Tlb {
    pub fn new(spec: &spec::Tlb, delays: bool) -> Self {
        let sets = index(u64::from(spec.entries / spec.ways));
        let walk_ps = if delays { round(1e3 * spec.walk_ns) } else { 0 };
        Self { pages: Cache::new(sets, index(u64::from(spec.ways))), walk_ps }
    }

    /// An access; returns the picoseconds of the walk that it needs.
    #[inline]
    pub fn access(&mut self, address: u64, physical: u64) -> u64 {
        if address >= KERNEL {
            return 0;
        }
        let huge = (address ^ physical) & ((1 << HUGE_SHIFT) - 1) == 0;
        let page = if huge { HUGE | address >> HUGE_SHIFT } else { address >> SMALL_SHIFT };
        match self.pages.touch(page, false) {
            Touch::Miss(_) => self.walk_ps,
            Touch::Hit | Touch::Shared => 0,
        }
    }

    pub fn empty(&mut self) {
        self.pages.empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four entries in two sets; a walk takes 30 ns.
    fn tlb() -> Tlb {
        Tlb::new(&spec::Tlb { entries: 4, ways: 2, walk_ns: 30.0 }, true)
    }

    /// Accesses small pages, each somewhere else in memory.
    fn walks(tlb: &mut Tlb, pages: &[u64]) -> Vec<u64> {
        pages.iter().map(|page| tlb.access(page << 12, (page << 12) + 0x7000)).collect()
    }

    #[test]
    fn what_was_used_lately_is_known_by_sets() {
        let mut tlb = tlb();
        // Even pages share a set of two: 4 takes the place of 0, and 0 takes that of 2.
        assert_eq!(walks(&mut tlb, &[0, 2, 0, 4, 0, 2]), [30_000, 30_000, 0, 30_000, 0, 30_000]);
        assert_eq!(walks(&mut tlb, &[1, 1, 0]), [30_000, 0, 0]);
        tlb.empty();
        assert_eq!(walks(&mut tlb, &[0]), [30_000]);
    }

    #[test]
    fn a_huge_page_is_one_and_the_kernels_are_never_missed() {
        let mut tlb = tlb();
        let at = |tlb: &mut Tlb, offset: u64| tlb.access((5 << 21) + offset, (9 << 21) + offset);
        assert_eq!([at(&mut tlb, 0), at(&mut tlb, 0x1f_f000), at(&mut tlb, 0x3000)], [30_000, 0, 0]);
        assert_eq!(tlb.access(KERNEL + 0x5000, 0x3000), 0);
    }

    #[test]
    fn without_delays_a_walk_takes_no_time() {
        let mut tlb = Tlb::new(&spec::Tlb { entries: 1, ways: 1, walk_ns: 30.0 }, false);
        assert_eq!(walks(&mut tlb, &[0, 1]), [0, 0]);
    }
}
