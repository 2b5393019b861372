//! Lines on which CPUs meet: lines that several CPUs use with atomic instructions, and lines that a
//! CPU watches in a loop with PAUSE. Locks, counters and flags are such lines.
//!
//! CPUs run one after another through a window of guest time (windows.rs). On most lines their
//! order inside the window does not matter; on these lines it decides which CPU gets a lock, and
//! when. The caller therefore lets a CPU read such a line only when no other running CPU is behind
//! it in time. If a CPU reads a value that another CPU wrote later than its own time, this file
//! gives it the time of the write, until which it has to wait. Together the two rules keep critical
//! sections from overlapping in guest time. This is conservative synchronisation, as in parallel
//! discrete-event simulation (Chandy and Misra, Distributed simulation, 1979), restricted to these
//! lines.
//!
//! This file knows lines, CPUs and times. It does not know how a CPU is made to wait.

use crate::num::index;

/// A line that atomics or a spinning CPU have used.
#[derive(Clone, Copy, Debug)]
struct Entry {
    line: u64,
    /// The last CPU that used it in this way.
    cpu: usize,
    /// The time until which it counts as shared.
    until: u64,
    /// When it was last written while it was shared, and by which CPU.
    written: u64,
    writer: usize,
}

/// See the head of the file. Times in picoseconds.
#[derive(Clone, Debug)]
pub struct Shared {
    /// One bit for each value of the low [`BITS`] bits of a line: whether a line with these bits is
    /// shared.
    filter: Vec<u64>,
    /// Entries by the low [`PLACES`] bits of a line, so that a bit of the filter belongs to one
    /// entry.
    entries: Vec<Entry>,
}

/// Bits of a line's number that the filter distinguishes. The filter has 8 KiB, which stay in the
/// host's L1.
const BITS: u32 = 16;
/// Bits that the entries distinguish.
const PLACES: u32 = 12;
/// How long a line stays shared after a second CPU has last used it, in picoseconds: long compared
/// with time slices and short compared with the phases of programs.
const KEPT: u64 = 10_000_000_000;
const NOTHING: Entry = Entry { line: u64::MAX, cpu: 0, until: 0, written: 0, writer: 0 };

impl Default for Shared {
    fn default() -> Self {
        Self { filter: vec![0; 1 << (BITS - 6)], entries: vec![NOTHING; 1 << PLACES] }
    }
}

impl Shared {
    /// Whether a line may be shared: false for nearly all lines.
    #[inline]
    #[must_use]
    pub fn may_be(&self, line: u64) -> bool {
        let bit = low(line, BITS);
        self.filter[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// A CPU begins an atomic instruction on a line.
    pub fn atomic(&mut self, line: u64, cpu: usize, now: u64) {
        let entry = self.entries[low(line, PLACES)];
        if entry.line != line {
            if now > entry.until {
                self.put(Entry { line, cpu, ..NOTHING });
            }
        } else if entry.cpu != cpu {
            self.share(line, cpu, now);
        }
    }

    /// A CPU watches a line in a loop.
    pub fn watched(&mut self, line: u64, cpu: usize, now: u64) {
        let entry = self.entries[low(line, PLACES)];
        if entry.line == line {
            self.share(line, cpu, now);
        } else if now > entry.until {
            self.put(Entry { line, cpu, ..NOTHING });
            self.share(line, cpu, now);
        }
    }

    /// Whether a line is shared now.
    pub fn is(&mut self, line: u64, now: u64) -> bool {
        let entry = self.entries[low(line, PLACES)];
        if entry.line != line {
            return false;
        }
        if now > entry.until {
            self.set(line, false);
        }
        now <= entry.until
    }

    /// When another CPU wrote a shared line. A CPU that reads the value cannot be earlier than that
    /// time.
    #[must_use]
    pub fn written(&self, line: u64, cpu: usize) -> Option<u64> {
        let entry = &self.entries[low(line, PLACES)];
        (entry.line == line && entry.writer != cpu).then_some(entry.written)
    }

    /// A CPU writes a line.
    pub fn write(&mut self, line: u64, cpu: usize, now: u64) {
        let entry = &mut self.entries[low(line, PLACES)];
        if entry.line == line {
            (entry.written, entry.writer) = (now, cpu);
        }
    }

    /// Marks a line as shared. A line that becomes shared forgets when it was written, because no
    /// order was kept until then.
    fn share(&mut self, line: u64, cpu: usize, now: u64) {
        let entry = &mut self.entries[low(line, PLACES)];
        if now > entry.until {
            entry.written = 0;
        }
        entry.cpu = cpu;
        entry.until = now + KEPT;
        self.set(line, true);
    }

    fn put(&mut self, entry: Entry) {
        let place = low(entry.line, PLACES);
        let old = std::mem::replace(&mut self.entries[place], entry);
        self.set(old.line, false);
    }

    fn set(&mut self, line: u64, shared: bool) {
        let bit = low(line, BITS);
        let word = &mut self.filter[bit / 64];
        *word = *word & !(1 << (bit % 64)) | u64::from(shared) << (bit % 64);
    }
}

#[inline]
fn low(line: u64, bits: u32) -> usize {
    index(line & ((1 << bits) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shared_from_the_second_cpu_on_and_for_a_while() {
        let mut shared = Shared::default();
        shared.atomic(7, 0, 100);
        shared.atomic(7, 0, 200);
        assert!(!shared.may_be(7) && !shared.is(7, 200));
        shared.atomic(7, 1, 300);
        assert!(shared.may_be(7) && shared.is(7, 300 + KEPT));
        assert!(!shared.is(7, 301 + KEPT) && !shared.may_be(7));
    }

    #[test]
    fn who_reads_what_another_wrote_is_told_when() {
        let mut shared = Shared::default();
        shared.atomic(7, 0, 100);
        shared.write(7, 0, 900);
        shared.atomic(7, 1, 300);
        assert_eq!(shared.written(7, 1), Some(0), "no order was kept before it was shared");
        shared.write(7, 0, 950);
        assert_eq!((shared.written(7, 1), shared.written(7, 0)), (Some(950), None));
        assert_eq!(shared.written(8, 1), None);
    }

    #[test]
    fn a_watched_line_is_shared_at_once() {
        let mut shared = Shared::default();
        shared.watched(9, 2, 50);
        assert!(shared.is(9, 60));
    }

    /// Lines 1 and 4097 have the same place: the line that is shared keeps it.
    #[test]
    fn a_shared_line_keeps_its_place_until_it_is_no_longer_shared() {
        let mut shared = Shared::default();
        shared.watched(1, 0, 1);
        shared.watched(4097, 0, 10);
        assert!(shared.is(1, 20) && !shared.is(4097, 20));
        shared.watched(4097, 0, 20 + KEPT);
        assert!(!shared.may_be(1) && shared.is(4097, 21 + KEPT));
    }
}
