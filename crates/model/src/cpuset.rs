//! A set of CPUs, and the kernel's list format for it (`Documentation/admin-guide/cputopology.rst`:
//! `0-3,8`).

use crate::ids::CpuId;
use crate::num;
use crate::text::ranges;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A set of logical CPUs, ordered by id. It is not a set of nodes, and does not convert into one.
///
/// The representation is canonical (no trailing zero words), so derived equality and order are
/// those of the set.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuSet {
    words: Vec<u64>,
}

/// The highest CPU number that a list may name; Linux's own limit (`NR_CPUS`) is 8192. A damaged
/// file must not make us allocate gigabytes.
pub const MAX_CPU: u32 = 65_535;

/// Why a CPU list could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuListError {
    /// a piece is neither a number nor a range
    #[error("`{0}` is not a CPU list: expected numbers and ranges such as `0-3,8`")]
    Syntax(String),
    /// a range runs backwards
    #[error("the range `{0}` runs backwards")]
    Backwards(String),
    /// a number above [`MAX_CPU`]
    #[error("CPU {0} is above the highest supported number, 65535")]
    TooLarge(u32),
}

impl CpuSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Adds a CPU; true if it was absent. Numbers above [`MAX_CPU`] are an error of the caller and
    /// are ignored.
    pub fn insert(&mut self, cpu: CpuId) -> bool {
        if cpu.0 > MAX_CPU {
            return false;
        }
        let (word, bit) = Self::place(cpu);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        fresh
    }

    /// Removes a CPU; true if it was present.
    pub fn remove(&mut self, cpu: CpuId) -> bool {
        let present = self.contains(cpu);
        if present {
            let (word, bit) = Self::place(cpu);
            self.words[word] &= !bit;
            self.trim();
        }
        present
    }

    /// Whether the CPU is in the set.
    #[must_use]
    pub fn contains(&self, cpu: CpuId) -> bool {
        let (word, bit) = Self::place(cpu);
        self.words.get(word).is_some_and(|w| w & bit != 0)
    }

    /// The number of CPUs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| num::index(w.count_ones())).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The lowest CPU.
    #[must_use]
    pub fn first(&self) -> Option<CpuId> {
        self.iter().next()
    }

    /// Every CPU, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.words.iter().zip(0u32..).flat_map(|(&word, index)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| CpuId(index * 64 + bit))
        })
    }

    /// Whether every CPU of this set is also in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words.iter().enumerate().all(|(i, w)| w & !other.words.get(i).copied().unwrap_or(0) == 0)
    }

    /// The CPUs in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = Self { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() };
        both.trim();
        both
    }

    /// The CPUs in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let (long, short) = if self.words.len() >= other.words.len() { (self, other) } else { (other, self) };
        let mut words = long.words.clone();
        words.iter_mut().zip(&short.words).for_each(|(w, s)| *w |= s);
        Self { words }
    }

    fn place(cpu: CpuId) -> (usize, u64) {
        (num::index(cpu.0 / 64), 1 << (cpu.0 % 64))
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut set = Self::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

impl FromStr for CpuSet {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let mut set = Self::new();
        for piece in text.trim().split(',').map(str::trim).filter(|piece| !piece.is_empty()) {
            let (first, last) = parse_range(piece)?;
            (first..=last).for_each(|cpu| {
                set.insert(CpuId(cpu));
            });
        }
        Ok(set)
    }
}

fn parse_range(piece: &str) -> Result<(u32, u32), CpuListError> {
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let value = if plain { digits.parse::<u32>().ok() } else { None };
        value.ok_or_else(|| CpuListError::Syntax(piece.to_owned()))
    };
    let (first, last) = match piece.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(piece)?, number(piece)?),
    };
    if last > MAX_CPU {
        return Err(CpuListError::TooLarge(last));
    }
    if first > last { Err(CpuListError::Backwards(piece.to_owned())) } else { Ok((first, last)) }
}

impl fmt::Display for CpuSet {
    /// The kernel's list format: ascending, with neighbours joined to ranges.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&ranges(self.iter().map(|cpu| cpu.0)))
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let cpus = Vec::<CpuId>::deserialize(deserializer)?;
        match cpus.iter().find(|cpu| cpu.0 > MAX_CPU) {
            Some(cpu) => Err(serde::de::Error::custom(CpuListError::TooLarge(cpu.0))),
            None => Ok(cpus.into_iter().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        let set: CpuSet = "0-2,8\n".parse().unwrap();
        assert_eq!(set.iter().map(|c| c.0).collect::<Vec<_>>(), [0, 1, 2, 8]);
        assert_eq!(set.to_string(), "0-2,8");
        assert_eq!("\n".parse::<CpuSet>().unwrap(), CpuSet::new());
    }

    #[test]
    fn broken_lists_say_what_is_wrong() {
        assert_eq!("3-1".parse::<CpuSet>(), Err(CpuListError::Backwards("3-1".into())));
        assert_eq!("1-".parse::<CpuSet>(), Err(CpuListError::Syntax("1-".into())));
        assert_eq!("-1".parse::<CpuSet>(), Err(CpuListError::Syntax("-1".into())));
        assert_eq!("+1".parse::<CpuSet>(), Err(CpuListError::Syntax("+1".into())));
        assert_eq!("0-4000000000".parse::<CpuSet>(), Err(CpuListError::TooLarge(4_000_000_000)));
    }

    #[test]
    fn removing_the_last_cpu_leaves_the_empty_set() {
        let mut set: CpuSet = "70".parse().unwrap();
        assert!(set.remove(CpuId(70)));
        assert_eq!(set, CpuSet::new());
        assert!(set.is_empty());
    }

    proptest! {
        #[test]
        fn printing_and_reading_round_trips(cpus in prop::collection::btree_set(0u32..600, 0..80)) {
            let set: CpuSet = cpus.iter().map(|&c| CpuId(c)).collect();
            prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set.clone());
            prop_assert_eq!(set.len(), cpus.len());
        }

        #[test]
        fn union_and_intersection_agree_with_membership(a in prop::collection::btree_set(0u32..200, 0..40),
                                                        b in prop::collection::btree_set(0u32..200, 0..40)) {
            let set = |ids: &std::collections::BTreeSet<u32>| ids.iter().map(|&c| CpuId(c)).collect::<CpuSet>();
            let (x, y) = (set(&a), set(&b));
            prop_assert_eq!(x.union(&y), set(&a.union(&b).copied().collect()));
            prop_assert_eq!(x.intersection(&y), set(&a.intersection(&b).copied().collect()));
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = text.parse::<CpuSet>();
        }
    }
}
