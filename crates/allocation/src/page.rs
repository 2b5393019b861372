//! The layout of the page, version 1, in words of 64 bits, native byte order:
//!
//! ```text
//! 0     magic, with the version in its last byte
//! 1     the way: 1 the shim follows it, 2 the machine's weights do, 3 the shim does, and a file
//!       alone decides
//! 2     sequence: odd while it is being written
//! 3     checksum of what follows
//! 4     number of entries, at most MAX_PROCESSES
//! 5...  entries of 10 words: process | kind << 32 | node << 40, a word of zeros, and 64 weights of
//!       a byte each; process 0 stands for every process that has no entry
//! ```
//!
//! There is one writer. A reader makes a copy, and accepts it only if the sequence was even and the
//! same before and after, the checksum is correct, and every number is within its bounds. So the
//! most that a hostile or broken writer can do is to choose a node.

use crate::decision::{Decision, MAX_NODES};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Number of words of the page.
pub const WORDS: usize = 512;
/// Number of bytes of the page.
pub const BYTES: usize = WORDS * 8;
/// Maximum number of processes that it can name.
pub const MAX_PROCESSES: usize = 48;

const MAGIC: u64 = u64::from_be_bytes(*b"isobaal\x01");
const WAY: usize = 1;
const SEQUENCE: usize = 2;
const CHECKSUM: usize = 3;
const COUNT: usize = 4;
const ENTRIES: usize = 5;
const ENTRY: usize = 10;
const WEIGHTS: usize = 2;
const TRIES: usize = 64;

/// How the decision of a page is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By the shim in each process.
    Shim,
    /// By the machine's weights of weighted interleave.
    Weights,
    /// By the shim in each process; `isobar run` writes what a file says, and no manager writes to
    /// it.
    File,
}

/// Why a page cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not a page of isobar, or has another version.
    Foreign,
    /// Its content is not what a writer produces.
    Broken,
    /// It was being written in every attempt.
    Busy,
}

/// The result of a read by a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Changes with every decision.
    pub sequence: u64,
    /// The decision for the process.
    pub decision: Decision,
}

/// A page in memory.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a>(&'a [AtomicU64; WORDS]);

impl<'a> Page<'a> {
    /// The page in these words.
    #[must_use]
    pub const fn new(words: &'a [AtomicU64; WORDS]) -> Self {
        Self(words)
    }

    /// Turns a page of zeros into an empty page with this way.
    pub fn begin(&self, way: Way) {
        let number = match way {
            Way::Shim => 1,
            Way::Weights => 2,
            Way::File => 3,
        };
        self.0[WAY].store(number, Ordering::Relaxed);
        self.write(&[]);
        self.0[0].store(MAGIC, Ordering::Release);
    }

    /// How its decisions are carried out.
    ///
    /// # Errors
    /// [`Fault::Foreign`], [`Fault::Broken`].
    pub fn way(&self) -> Result<Way, Fault> {
        if self.0[0].load(Ordering::Acquire) != MAGIC {
            return Err(Fault::Foreign);
        }
        match self.0[WAY].load(Ordering::Relaxed) {
            1 => Ok(Way::Shim),
            2 => Ok(Way::Weights),
            3 => Ok(Way::File),
            _ => Err(Fault::Broken),
        }
    }

    /// Whether anything was written since a reading: one load.
    #[must_use]
    pub fn is_newer(&self, than: u64) -> bool {
        self.0[SEQUENCE].load(Ordering::Acquire) != than
    }

    /// Writes the decisions of processes; process 0 stands for those without an entry. Entries
    /// beyond [`MAX_PROCESSES`] are not written. Returns the number that were.
    pub fn write(&self, decisions: &[(u32, Decision)]) -> usize {
        let before = self.0[SEQUENCE].load(Ordering::Relaxed) & !1;
        self.0[SEQUENCE].store(before.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        let count = decisions.len().min(MAX_PROCESSES);
        let mut sum = Sum::default();
        let put = |place: usize, word: u64, sum: &mut Sum| {
            self.0[place].store(word, Ordering::Relaxed);
            sum.add(word);
        };
        put(COUNT, u64::try_from(count).unwrap_or_default(), &mut sum);
        for (index, (pid, decision)) in decisions.iter().take(count).enumerate() {
            for (offset, word) in encode(*pid, decision).into_iter().enumerate() {
                put(ENTRIES + index * ENTRY + offset, word, &mut sum);
            }
        }
        self.0[CHECKSUM].store(sum.0, Ordering::Relaxed);
        self.0[SEQUENCE].store(before.wrapping_add(2), Ordering::Release);
        count
    }

    /// The decision for a process.
    ///
    /// # Errors
    /// [`Fault`]: in that case the last reading remains in effect.
    pub fn read(&self, pid: u32) -> Result<Reading, Fault> {
        self.way()?;
        let mut fault = Fault::Busy;
        for _ in 0..TRIES {
            let sequence = self.0[SEQUENCE].load(Ordering::Acquire);
            if sequence & 1 == 0 {
                let found = self.copy(pid);
                fence(Ordering::Acquire);
                if self.0[SEQUENCE].load(Ordering::Relaxed) == sequence {
                    match found {
                        Some(decision) => return Ok(Reading { sequence, decision }),
                        None => fault = Fault::Broken,
                    }
                }
            }
            std::hint::spin_loop();
        }
        Err(fault)
    }

    fn copy(&self, pid: u32) -> Option<Decision> {
        let word = |place: usize| self.0[place].load(Ordering::Relaxed);
        let count = usize::try_from(word(COUNT)).ok().filter(|count| *count <= MAX_PROCESSES)?;
        let mut sum = Sum::default();
        sum.add(word(COUNT));
        let (mut own, mut general) = (None, Decision::Free);
        for index in 0..count {
            let mut entry = [0; ENTRY];
            for (offset, into) in entry.iter_mut().enumerate() {
                *into = word(ENTRIES + index * ENTRY + offset);
                sum.add(*into);
            }
            match decode(&entry)? {
                (0, decision) => general = decision,
                (of, decision) if of == pid => own = Some(decision),
                _ => {}
            }
        }
        (sum.0 == word(CHECKSUM)).then_some(own.unwrap_or(general))
    }
}

/// FNV-1a over words: a protection against torn copies, not against forgery.
struct Sum(u64);

impl Default for Sum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Sum {
    const fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3);
    }
}

fn encode(pid: u32, decision: &Decision) -> [u64; ENTRY] {
    let mut words = [0; ENTRY];
    let (kind, node) = match decision {
        Decision::Free => (0, 0),
        Decision::Node(node) => (1, u64::from(*node)),
        Decision::Spread(weights) => {
            for (node, weight) in weights.iter().enumerate() {
                words[WEIGHTS + node / 8] |= u64::from(*weight) << (node % 8 * 8);
            }
            (2, 0)
        }
    };
    words[0] = u64::from(pid) | kind << 32 | node << 40;
    words
}

/// `None` if a number is out of its bounds.
fn decode(words: &[u64; ENTRY]) -> Option<(u32, Decision)> {
    let [a, b, c, d, kind, node, ..] = words[0].to_le_bytes();
    let decision = match kind {
        0 => Decision::Free,
        1 if usize::from(node) < MAX_NODES => Decision::Node(node),
        2 => {
            let mut weights = [0; MAX_NODES];
            for (node, weight) in weights.iter_mut().enumerate() {
                *weight = words[WEIGHTS + node / 8].to_le_bytes()[node % 8];
            }
            weights.iter().any(|weight| *weight > 0).then_some(Decision::Spread(weights))?
        }
        _ => return None,
    };
    Some((u32::from_le_bytes([a, b, c, d]), decision))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn words() -> [AtomicU64; WORDS] {
        std::array::from_fn(|_| AtomicU64::new(0))
    }

    #[test]
    fn a_process_reads_its_own_entry_else_that_of_all() {
        let words = words();
        let page = Page::new(&words);
        assert_eq!(page.read(7), Err(Fault::Foreign));
        page.begin(Way::Shim);
        assert_eq!(page.way(), Ok(Way::Shim));
        for way in [Way::Weights, Way::File, Way::Shim] {
            page.begin(way);
            assert_eq!(page.way(), Ok(way));
        }
        let first = page.read(7).unwrap();
        assert_eq!(first.decision, Decision::Free);
        let mut weights = [0; MAX_NODES];
        (weights[0], weights[63]) = (3, 255);
        assert_eq!(page.write(&[(0, Decision::Node(63)), (7, Decision::Spread(weights))]), 2);
        assert!(page.is_newer(first.sequence));
        assert_eq!(page.read(7).unwrap().decision, Decision::Spread(weights));
        assert_eq!(page.read(8).unwrap().decision, Decision::Node(63));
        let many = vec![(1, Decision::Free); MAX_PROCESSES + 5];
        assert_eq!(page.write(&many), MAX_PROCESSES);
        const { assert!(ENTRIES + MAX_PROCESSES * ENTRY <= WORDS) };
    }

    #[test]
    fn no_word_can_be_changed_unnoticed() {
        let words = words();
        let page = Page::new(&words);
        page.begin(Way::Shim);
        page.write(&[(7, Decision::Node(1))]);
        let good = page.read(7).unwrap();
        for place in (0..ENTRIES + ENTRY).filter(|place| *place != SEQUENCE && *place != WAY) {
            for bits in [1, 1 << 33, 1 << 47, u64::MAX] {
                let before = words[place].fetch_xor(bits, Ordering::Relaxed);
                assert!(page.read(7).is_err(), "word {place}, bits {bits:x}");
                words[place].store(before, Ordering::Relaxed);
            }
        }
        words[WAY].store(4, Ordering::Relaxed);
        assert_eq!(page.read(7), Err(Fault::Broken));
        words[WAY].store(1, Ordering::Relaxed);
        words[SEQUENCE].fetch_add(1, Ordering::Relaxed);
        assert_eq!(page.read(7), Err(Fault::Busy), "a writer died in its midst");
        words[SEQUENCE].fetch_sub(1, Ordering::Relaxed);
        assert_eq!(page.read(7), Ok(good));
    }

    /// A correct checksum does not make a number valid.
    #[test]
    fn bounds_hold_even_where_the_checksum_is_right() {
        let forge = |word: u64| {
            let mut entry = [0; ENTRY];
            entry[0] = word;
            decode(&entry)
        };
        assert_eq!(forge(7 | 1 << 32 | 63 << 40), Some((7, Decision::Node(63))));
        assert_eq!(forge(7 | 1 << 32 | 64 << 40), None);
        assert_eq!(forge(7 | 2 << 32), None, "no weight at all");
        assert_eq!(forge(7 | 9 << 32), None);
    }

    #[test]
    fn a_reader_never_sees_half_of_a_decision() {
        let words = words();
        let page = Page::new(&words);
        page.begin(Way::Shim);
        page.write(&[(7, Decision::Spread([1; MAX_NODES]))]);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0_u32..20_000 {
                    let weight = if round % 2 == 0 { 1 } else { 2 };
                    page.write(&[(7, Decision::Spread([weight; MAX_NODES]))]);
                }
                stop.store(true, Ordering::Relaxed);
            });
            let mut seen = 0_u32;
            while !stop.load(Ordering::Relaxed) || seen == 0 {
                if let Ok(Reading { decision: Decision::Spread(weights), .. }) = page.read(7) {
                    assert!(weights.iter().all(|weight| *weight == weights[0]), "{weights:?}");
                    seen += 1;
                }
            }
        });
    }
}
