//! Address spaces of housekeeping: those of daemons, which a guest has marked, and of all processes
//! that they start. Each is identified by its top-level page table (the target of CR3). This file
//! says which CPU runs one of them; it does not know what follows from that.
//!
//! A mark is inherited from parent to child. When a kernel makes an address space, at fork and at
//! exec, it writes the kernel's half of a new page table, which always includes the last word
//! (`clone_pgd_range` of Linux). A table therefore belongs to housekeeping if an address space of
//! housekeeping wrote that word last: children, and the programs that they execute, are marked in
//! this way. A table that another process makes in the same page later is not.
//!
//! Moving pages does not count as housekeeping (`migrate_pages`, `move_pages`): it costs by the
//! page, and the number of pages is smaller in proportion to the caches.

use crate::queue::LINE;
use std::collections::BTreeSet;

/// Which CPU runs which address space. Page tables are identified by their physical page.
#[derive(Clone, Debug)]
pub struct Spaces {
    /// Pages that were marked, or whose last word housekeeping wrote last.
    written: BTreeSet<u64>,
    /// The pages among `written` whose last system call moves pages.
    moving: BTreeSet<u64>,
    /// Page table of each CPU.
    on: Vec<u64>,
}

const PAGE: u32 = 12;
/// Where the last word of a page begins.
const LAST_WORD: u64 = 4088;
/// Bits of CR3 that are an address (Intel SDM, volume 3, section 4.5).
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
/// Numbers of system calls of Linux on x86-64.
const MIGRATE_PAGES: u64 = 256;
const MOVE_PAGES: u64 = 279;

impl Spaces {
    /// No address space is marked.
    #[must_use]
    pub fn new(cpus: usize) -> Self {
        Self { written: BTreeSet::new(), moving: BTreeSet::new(), on: vec![0; cpus] }
    }

    /// The CPU switches to another page table: `cr3` is its new CR3.
    pub fn switch(&mut self, cpu: usize, cr3: u64) {
        self.on[cpu] = (cr3 & ADDRESS) >> PAGE;
    }

    /// Marks the address space that the CPU runs, with this value of CR3, as housekeeping from now
    /// on.
    pub fn mark(&mut self, cpu: usize, cr3: u64) {
        self.switch(cpu, cr3);
        self.written.insert(self.on[cpu]);
    }

    /// Whether the CPU runs housekeeping. Moving pages does not count.
    #[must_use]
    pub fn is_housekeeping(&self, cpu: usize) -> bool {
        let page = self.on[cpu];
        self.written.contains(&page) && !self.moving.contains(&page)
    }

    /// Whether the page table of the CPU is marked, whatever the CPU does.
    #[must_use]
    pub fn is_marked(&self, cpu: usize) -> bool {
        self.written.contains(&self.on[cpu])
    }

    /// Whether stores to a line may matter to [`Self::store`], which must then see each: the last
    /// line of a page, virtual or physical.
    #[must_use]
    #[inline]
    pub const fn watches(line: u64) -> bool {
        line % ((1 << PAGE) / LINE) == LAST_WORD / LINE
    }

    /// A store by the CPU to a physical address.
    #[inline]
    pub fn store(&mut self, cpu: usize, physical: u64) {
        if physical & ((1 << PAGE) - 1) >= LAST_WORD && !self.written.is_empty() {
            self.last_word(cpu, physical >> PAGE);
        }
    }

    #[cold]
    fn last_word(&mut self, cpu: usize, page: u64) {
        if self.is_marked(cpu) {
            self.written.insert(page);
        } else {
            self.written.remove(&page);
            self.moving.remove(&page);
        }
    }

    /// A marked process calls the kernel: the call's number, and its fourth argument.
    pub fn call(&mut self, cpu: usize, number: u64, fourth: u64) {
        let page = self.on[cpu];
        // Without target nodes, move_pages reports where pages are.
        if number == MIGRATE_PAGES || (number == MOVE_PAGES && fourth != 0) {
            self.moving.insert(page);
        } else {
            self.moving.remove(&page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAEMON: u64 = 0x10_0000;
    const CHILD: u64 = 0x20_0000;
    const PROGRAM: u64 = 0x30_0000;

    /// CPU 0 runs a daemon, CPU 1 a program.
    fn two() -> Spaces {
        let mut spaces = Spaces::new(2);
        spaces.switch(1, PROGRAM);
        spaces.mark(0, DAEMON);
        spaces
    }

    #[test]
    fn a_mark_goes_with_its_address_space() {
        let mut spaces = two();
        assert!(spaces.is_housekeeping(0) && !spaces.is_housekeeping(1));
        // PCID and the bit that keeps translations are not part of the address.
        spaces.switch(1, DAEMON | 5 | 1 << 63);
        spaces.switch(0, PROGRAM);
        assert!(spaces.is_housekeeping(1) && !spaces.is_housekeeping(0));
    }

    /// Of the 64 lines of a page, the last one.
    #[test]
    fn the_line_of_the_last_word_is_watched() {
        let watched: Vec<u64> = (0..128).filter(|line| Spaces::watches(*line)).collect();
        assert_eq!(watched, [63, 127]);
        assert!(Spaces::watches((CHILD + LAST_WORD) / LINE) && !Spaces::watches(CHILD / LINE));
    }

    #[test]
    fn what_it_starts_inherits_the_mark_and_a_reused_table_loses_it() {
        let mut spaces = two();
        spaces.store(0, CHILD + 4088);
        spaces.switch(0, CHILD);
        assert!(spaces.is_housekeeping(0), "the daemon has made this table");
        spaces.switch(0, DAEMON);
        // The child has ended, and the program starts a process of its own whose table is in the
        // same page.
        spaces.store(1, CHILD + 4088);
        spaces.switch(1, CHILD);
        assert!(!spaces.is_housekeeping(1) && spaces.is_housekeeping(0));
    }

    #[test]
    fn other_stores_change_nothing() {
        let mut spaces = two();
        spaces.store(0, CHILD + 4080);
        spaces.store(1, DAEMON + 4080);
        spaces.switch(1, CHILD);
        assert!(spaces.is_housekeeping(0) && !spaces.is_housekeeping(1));
    }

    #[test]
    fn moving_pages_is_no_housekeeping_but_asking_for_them_is() {
        let mut spaces = two();
        spaces.call(0, MOVE_PAGES, 0x7fff_0000);
        assert!(!spaces.is_housekeeping(0) && spaces.is_marked(0));
        spaces.call(0, MOVE_PAGES, 0);
        assert!(spaces.is_housekeeping(0));
        spaces.call(0, MIGRATE_PAGES, 0);
        assert!(!spaces.is_housekeeping(0));
        spaces.call(0, 0, 0);
        assert!(spaces.is_housekeeping(0));
    }
}
