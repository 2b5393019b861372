//! A page trace: loads, stores, misses and waiting time of user code, by CPU and page, in slices of
//! guest time. It is text, one record per line, between the guest's words `trace-begin` and
//! `trace-end`:
//!
//! ```text
//! p PAGE FRAME NODE CPU                 a page with its memory, new; numbered from 0 in this order
//! a NUMBER CPU LOADS STORES MISSES WAITED    accesses to it in the slice that ends with the line
//! s SLICE                               the end of a slice; slices without accesses are left out
//! e TIME                                the end, picoseconds after the begin
//! ```
//!
//! PAGE and FRAME are hexadecimal numbers of virtual and physical pages; WAITED is in picoseconds.
//! User code is distinguished from the kernel's by the addresses of its instructions, so that what
//! the kernel reads and writes for a program does not count. The trace does not know which process
//! a page belongs to: the guest reports which frames its own pages have.

use std::collections::BTreeMap;
use std::io::{self, Write};

/// Picoseconds of guest time in a slice.
pub const SLICE: u64 = 100_000_000_000;
/// Number of pages that each CPU finds again without a lookup in the table.
const NEAR: usize = 64;

/// A virtual page and its frame.
pub type PageFrame = (u64, u64);

/// Accesses of a CPU to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Accesses that memory had to answer.
    pub misses: u64,
    /// Time that the CPU waited for all accesses, in picoseconds.
    pub waited: u64,
}

/// A page trace being written.
#[derive(Debug)]
pub struct PageTrace<W: Write> {
    out: W,
    cpus: usize,
    /// When it began; `None`: it has not begun, or is over.
    begun: Option<u64>,
    slice: u64,
    known: BTreeMap<PageFrame, usize>,
    counts: Vec<PageCounts>,
    /// Positions of the elements of `counts` that are not zero.
    used: Vec<usize>,
    near: Vec<[(PageFrame, usize); NEAR]>,
}

impl<W: Write> PageTrace<W> {
    /// A trace that does not count yet.
    pub fn new(out: W, cpus: usize) -> Self {
        let near = vec![[((u64::MAX, 0), 0); NEAR]; cpus];
        let (known, counts, used) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { out, cpus, begun: None, slice: 0, known, counts, used, near }
    }

    /// Starts counting; `now` in picoseconds of guest time.
    pub fn begin(&mut self, now: u64) {
        self.begun = Some(now);
    }

    /// Counts an access of user code to a virtual page and its frame on a node.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn count(&mut self, cpu: usize, page: PageFrame, node: usize, one: PageCounts) -> io::Result<()> {
        if self.begun.is_none() {
            return Ok(());
        }
        let near = &mut self.near[cpu][usize::try_from(page.0).unwrap_or_default() % NEAR];
        if near.0 != page {
            let next = self.known.len();
            let number = *self.known.entry(page).or_insert(next);
            if number == next {
                writeln!(self.out, "p {:x} {:x} {node} {cpu}", page.0, page.1)?;
                self.counts.resize(self.counts.len() + self.cpus, PageCounts::default());
            }
            *near = (page, number);
        }
        let at = near.1 * self.cpus + cpu;
        let sum = &mut self.counts[at];
        if sum.loads + sum.stores == 0 {
            self.used.push(at);
        }
        sum.loads += one.loads;
        sum.stores += one.stores;
        sum.misses += one.misses;
        sum.waited += one.waited;
        Ok(())
    }

    /// All CPUs have reached this time: writes the slice if it is over.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn reached(&mut self, now: u64) -> io::Result<()> {
        let Some(begun) = self.begun else { return Ok(()) };
        let slice = now.saturating_sub(begun) / SLICE;
        if slice > self.slice {
            self.write()?;
            self.slice = slice;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        self.used.sort_unstable();
        let any = !self.used.is_empty();
        for at in std::mem::take(&mut self.used) {
            let PageCounts { loads, stores, misses, waited } = std::mem::take(&mut self.counts[at]);
            let (number, cpu) = (at / self.cpus, at % self.cpus);
            writeln!(self.out, "a {number} {cpu} {loads} {stores} {misses} {waited}")?;
        }
        if any { writeln!(self.out, "s {}", self.slice) } else { Ok(()) }
    }

    /// Writes the rest and stops counting.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn finish(&mut self, now: u64) -> io::Result<()> {
        let Some(begun) = self.begun else { return Ok(()) };
        self.reached(now)?;
        self.write()?;
        self.begun = None;
        writeln!(self.out, "e {}", now.saturating_sub(begun))?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(loads: u64, stores: u64) -> PageCounts {
        PageCounts { loads, stores, misses: 1, waited: 7 }
    }

    #[test]
    fn pages_are_numbered_as_they_come_and_slices_hold_what_is_new() {
        let mut trace = PageTrace::new(Vec::new(), 2);
        trace.count(0, (9, 9), 0, one(1, 0)).unwrap();
        trace.begin(1000);
        trace.count(1, (0xa, 0x2b), 1, one(1, 0)).unwrap();
        trace.count(0, (0xa, 0x2b), 1, one(0, 1)).unwrap();
        // The same address in another process.
        trace.count(0, (0xa, 0x2c), 0, one(1, 0)).unwrap();
        trace.count(0, (0xa, 0x2b), 1, one(1, 0)).unwrap();
        trace.reached(1000 + SLICE - 1).unwrap();
        trace.reached(1000 + 3 * SLICE).unwrap();
        trace.reached(1000 + 4 * SLICE).unwrap();
        trace.count(1, (0xa, 0x2b), 1, one(1, 0)).unwrap();
        trace.finish(1000 + 4 * SLICE + 5).unwrap();
        trace.count(1, (0xa, 0x2b), 1, one(1, 0)).unwrap();
        let text = String::from_utf8(trace.out).unwrap();
        let expected = [
            "p a 2b 1 1",
            "p a 2c 0 0",
            "a 0 0 1 1 2 14",
            "a 0 1 1 0 1 7",
            "a 1 0 1 0 1 7",
            "s 0",
            "a 0 1 1 0 1 7",
            "s 4",
            "e 400000000005",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}
