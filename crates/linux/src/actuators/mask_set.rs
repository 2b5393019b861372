//! Masks that isobar set: single CPUs, and several CPUs among which the kernel may balance a
//! thread. They distinguish isobar's changes from an owner's. Pure.

use isobar_model::CpuSet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A set of masks. As text, the single CPUs come first, in the kernel's list format, then each mask
/// of several CPUs after a semicolon: `1-2;0-3` is CPU 1, CPU 2, and CPUs 0 to 3. Without masks of
/// several CPUs the text is the plain list, as in state files from before such masks were set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaskSet {
    single: CpuSet,
    several: BTreeSet<CpuSet>,
}

impl MaskSet {
    /// One mask.
    #[must_use]
    pub fn one(mask: &CpuSet) -> Self {
        let mut given = Self::default();
        given.insert(mask);
        given
    }

    /// Adds a mask; an empty mask is ignored.
    pub fn insert(&mut self, mask: &CpuSet) {
        match (mask.len(), mask.first()) {
            (1, Some(cpu)) => drop(self.single.insert(cpu)),
            (0, _) | (_, None) => {}
            _ => drop(self.several.insert(mask.clone())),
        }
    }

    /// Adds all masks of another set.
    pub fn add(&mut self, other: &Self) {
        self.single = self.single.union(&other.single);
        self.several.extend(other.several.iter().cloned());
    }

    /// Whether a mask is in this set.
    #[must_use]
    pub fn contains(&self, mask: &CpuSet) -> bool {
        if mask.len() == 1 { mask.is_subset(&self.single) } else { self.several.contains(mask) }
    }

    /// The masks, those of single CPUs first.
    pub fn masks(&self) -> impl Iterator<Item = CpuSet> + '_ {
        self.single.iter().map(|cpu| [cpu].into_iter().collect()).chain(self.several.iter().cloned())
    }

    /// The masks of several CPUs.
    pub fn several(&self) -> impl Iterator<Item = &CpuSet> {
        self.several.iter()
    }

    /// All CPUs of all masks.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        self.several.iter().fold(self.single.clone(), |all, mask| all.union(mask))
    }
}

impl fmt::Display for MaskSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.single)?;
        self.several.iter().try_for_each(|mask| write!(f, ";{mask}"))
    }
}

impl FromStr for MaskSet {
    type Err = <CpuSet as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split(';');
        let single = parts.next().unwrap_or_default().parse()?;
        let mut given = Self { single, several: BTreeSet::new() };
        for part in parts {
            given.insert(&part.parse()?);
        }
        Ok(given)
    }
}

impl Serialize for MaskSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MaskSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::cpus;

    #[test]
    fn a_mask_is_known_whole_and_not_in_part() {
        let given: MaskSet = "1-2;0-3;8-9".parse().unwrap();
        assert!(["1", "2", "0-3", "8-9"].iter().all(|mask| given.contains(&cpus(mask))));
        assert!(["0", "1-2", "0-2", "0-3,8", ""].iter().all(|mask| !given.contains(&cpus(mask))));
        assert_eq!(given.cpus(), cpus("0-3,8-9"));
        assert_eq!(given.masks().map(|mask| mask.to_string()).collect::<Vec<_>>(), ["1", "2", "0-3", "8-9"]);
    }

    #[test]
    fn the_text_is_read_back_and_lists_of_single_cpus_are_as_ever() {
        for text in ["", "3", "1-2,8", ";0-3", "5;0-3;4-7"] {
            assert_eq!(text.parse::<MaskSet>().unwrap().to_string(), text);
        }
        assert!("0-3;x".parse::<MaskSet>().is_err());
        let mut both = MaskSet::one(&cpus("4"));
        both.add(&MaskSet::one(&cpus("0-3")));
        assert_eq!(both.to_string(), "4;0-3");
    }
}
