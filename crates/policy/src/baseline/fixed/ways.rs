//! The entries of `fixed.ways`, and the clusters that they ask for: all threads of the processes of
//! a name, in one cluster of that name. This file knows how the list is written. Whether the LLC
//! has such ways is looked up in the machine.

use super::places::number;
use crate::kit::pairs::{means, pairs, wrong};
use isobar_model::text::one_line;
use isobar_model::{Action, LlcId, Observation, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// One entry of `fixed.ways`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WayPlace {
    /// The process: its name or pid. It is also the cluster's name.
    pub name: String,
    /// The LLC.
    pub llc: LlcId,
    /// Mask of its ways.
    pub way_mask: u64,
    /// Share of the memory bandwidth for each thread, in per cent.
    pub percent: Option<u32>,
}

const EXAMPLE: &str = "alpha=0:0x3 (ways 0 and 1 of llc 0) or alpha=0:0x3:40 (and 40 % of the memory bandwidth)";

/// The threads that each entry's cluster had when it was last set.
pub type Set = BTreeMap<WayPlace, Vec<Tid>>;

impl WayPlace {
    /// Reads a list.
    ///
    /// # Errors
    /// Which entry is wrong, what is wrong with it, and what would be right.
    pub fn list(text: &str) -> Result<Vec<Self>, String> {
        let mut places: Vec<Self> = Vec::new();
        for (name, value) in pairs(text, EXAMPLE)? {
            let entry = format!("{name}={value}");
            let place =
                Self::read(name, value).ok_or_else(|| wrong(&entry, &format!("NAME=LLC:MASK, such as {EXAMPLE}")))?;
            if places.iter().any(|known| known.name == place.name) {
                return Err(wrong(&entry, &format!("one cluster for {}, which has one already", place.name)));
            }
            places.push(place);
        }
        Ok(places)
    }

    fn read(name: &str, value: &str) -> Option<Self> {
        let (llc, rest) = value.split_once(':')?;
        let (mask, percent) = rest.split_once(':').map_or((rest, None), |(mask, percent)| (mask, Some(percent)));
        let digits = mask.strip_prefix("0x").unwrap_or(mask);
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let way_mask = u64::from_str_radix(digits, 16).ok().filter(|mask| plain && *mask > 0)?;
        let percent = match percent {
            Some(text) => Some(number(text).filter(|percent| (1..=100).contains(percent))?),
            None => None,
        };
        Some(Self { name: one_line(name), llc: LlcId(number(llc)?), way_mask, percent })
    }

    /// The action that sets the cluster, or `None` if its threads are the same as when it was last
    /// set. The error says why there can be no such cluster. Threads that an earlier entry has
    /// `taken` (by name, while this one gives the pid) stay with that entry.
    pub fn cluster(
        &self,
        seen: &Observation,
        taken: &mut BTreeSet<Tid>,
        last: &mut Set,
    ) -> Result<Option<Action>, String> {
        let of = seen.processes.iter().filter(|process| !process.elsewhere && means(&self.name, process));
        let threads = of.flat_map(|process| process.threads.iter().map(|thread| thread.tid));
        let threads: Vec<Tid> = threads.filter(|tid| taken.insert(*tid)).collect();
        let Self { name, llc, way_mask, percent } = self;
        if threads.is_empty() {
            return Err(format!(
                "fixed.ways: {name}: no process of this name or pid is seen, or an earlier entry applies to it"
            ));
        }
        let Some(cache) = seen.machine.llc(*llc) else {
            return Err(format!("fixed.ways: {name}: llc {llc} is not on this machine"));
        };
        if let Some(ways) = cache.ways.filter(|ways| 64 - way_mask.leading_zeros() > ways.0) {
            return Err(format!(
                "fixed.ways: {name}: the mask {way_mask:#x} goes beyond the {} ways of llc {llc}",
                ways.0
            ));
        }
        if last.get(self) == Some(&threads) {
            return Ok(None);
        }
        last.insert(self.clone(), threads.clone());
        Ok(Some(Action::SetWays {
            llc: *llc,
            cluster: name.clone(),
            way_mask: *way_mask,
            memory_bandwidth_percent: *percent,
            threads,
            reason: format!("{name} has ways {way_mask:#x} of llc {llc} by fixed.ways"),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_hexadecimal_and_a_share_may_follow() {
        let read = |text| WayPlace::list(text).unwrap();
        let place = |percent| WayPlace { name: "a".into(), llc: LlcId(1), way_mask: 0x7f0, percent };
        assert_eq!(read("a=1:0x7f0"), [place(None)]);
        assert_eq!(read("a=1:7f0:40"), [place(Some(40))]);
        for wrong in ["a=1", "a=1:", "a=1:0", "a=1:0x0x3", "a=x:3", "a=1:3:0", "a=1:3:101", "a=1:+3", "a=0:1 a=1:1"] {
            let said = WayPlace::list(wrong).unwrap_err();
            assert!(said.contains("is impossible: expected"), "{said}");
        }
    }
}
