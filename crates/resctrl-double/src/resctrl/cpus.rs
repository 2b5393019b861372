//! Which CPU is in which group: `cpus` and `cpus_list` (`rdtgroup_cpus_write`, `cpus_ctrl_write`,
//! `cpus_mon_write` and `rdtgroup_cpus_show` of fs/resctrl/rdtgroup.c). Every CPU is in one control
//! group, and in at most one of its monitor groups.

use std::collections::BTreeSet;

use super::{GroupId, Resctrl};
use crate::refusal::{Refusal, invalid};

/// The groups of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuGroups {
    pub control: GroupId,
    pub monitor: Option<GroupId>,
}

impl CpuGroups {
    pub const DEFAULT: Self = Self { control: GroupId::DEFAULT, monitor: None };

    fn is_in(self, id: GroupId) -> bool {
        self.control == id || self.monitor == Some(id)
    }
}

impl Resctrl {
    /// The CPUs as a mask: words of 32 bits, with as many digits as the possible CPUs need
    /// (`%*pb`).
    pub(super) fn show_cpus(&self, id: GroupId) -> String {
        let cpus = self.cpus_of(id);
        let bits = self.seats.keys().next_back().map_or(1, |last| last + 1);
        let word = |at: u32| -> String {
            let value = (0..32).filter(|bit| cpus.contains(&(32 * at + bit))).fold(0_u32, |all, bit| all | 1 << bit);
            let digits = usize::try_from((bits - 32 * at).min(32).div_ceil(4)).unwrap_or(8);
            format!("{value:0digits$x}")
        };
        let words: Vec<String> = (0..bits.div_ceil(32)).rev().map(word).collect();
        format!("{}\n", words.join(","))
    }

    /// The CPUs as ranges (`%*pbl`).
    pub(super) fn show_cpus_list(&self, id: GroupId) -> String {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for cpu in self.cpus_of(id) {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        let shown =
            |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
        format!("{}\n", ranges.iter().map(shown).collect::<Vec<_>>().join(","))
    }

    fn cpus_of(&self, id: GroupId) -> BTreeSet<u32> {
        self.seats.iter().filter(|(_, seat)| seat.is_in(id)).map(|(cpu, _)| *cpu).collect()
    }

    /// `rdtgroup_cpus_write`; `read` parses the text.
    pub(super) fn write_cpus(
        &mut self,
        id: GroupId,
        text: &str,
        read: fn(&str) -> Option<BTreeSet<u32>>,
    ) -> Result<(), Refusal> {
        self.status.clear();
        let parent = self.group(id)?.parent;
        let text = text.split('\0').next().unwrap_or_default();
        let Some(wanted) = read(text.trim_end_matches('\n')) else {
            return invalid("Bad CPU list/mask");
        };
        if wanted.iter().any(|cpu| !self.seats.contains_key(cpu)) {
            return invalid("Can only assign online CPUs");
        }
        match parent {
            None => self.give_control(id, &wanted),
            Some(parent) => self.give_monitor(id, parent, &wanted),
        }
    }

    /// `cpus_ctrl_write`: CPUs that are dropped go to the default group, and the group's monitor
    /// groups lose theirs.
    fn give_control(&mut self, id: GroupId, wanted: &BTreeSet<u32>) -> Result<(), Refusal> {
        if id == GroupId::DEFAULT && !self.cpus_of(id).is_subset(wanted) {
            return invalid("Can't drop CPUs from default group");
        }
        for (cpu, seat) in &mut self.seats {
            if wanted.contains(cpu) {
                *seat = CpuGroups { control: id, monitor: None };
            } else if seat.control == id {
                *seat = CpuGroups::DEFAULT;
            }
        }
        Ok(())
    }

    /// `cpus_mon_write`.
    fn give_monitor(&mut self, id: GroupId, parent: GroupId, wanted: &BTreeSet<u32>) -> Result<(), Refusal> {
        if !wanted.is_subset(&self.cpus_of(parent)) {
            return invalid("Can only add CPUs to mongroup that belong to parent");
        }
        for (cpu, seat) in &mut self.seats {
            if wanted.contains(cpu) {
                seat.monitor = Some(id);
            } else if seat.monitor == Some(id) {
                seat.monitor = None;
            }
        }
        Ok(())
    }

    /// Removes a group from all CPUs: they go to the default group, or stay with the parent alone.
    pub(super) fn leave_cpus(&mut self, id: GroupId) {
        for seat in self.seats.values_mut() {
            if seat.control == id {
                *seat = CpuGroups::DEFAULT;
            } else if seat.monitor == Some(id) {
                seat.monitor = None;
            }
        }
    }

    /// The RMID of each CPU.
    pub(super) fn rmids_of_cpus(&self) -> impl Iterator<Item = (u32, u32)> {
        let rmid =
            |seat: &CpuGroups| self.groups.get(&seat.monitor.unwrap_or(seat.control)).map_or(0, |group| group.rmid);
        self.seats.iter().map(move |(cpu, seat)| (*cpu, rmid(seat)))
    }
}

/// `cpumask_parse`: hexadecimal words of 32 bits at most, the highest first, separated and followed
/// by any number of commas and blanks (`bitmap_find_region_reverse` of lib/bitmap-str.c).
pub(super) fn mask(text: &str) -> Option<BTreeSet<u32>> {
    let words: Vec<&str> = text.split([',', ' ', '\n']).filter(|word| !word.is_empty()).collect();
    let mut cpus = BTreeSet::new();
    for (at, word) in (0_u32..).zip(words.iter().rev()) {
        let plain = word.len() <= 8 && word.chars().all(|digit| digit.is_ascii_hexdigit());
        let value = plain.then(|| u32::from_str_radix(word, 16).ok()).flatten()?;
        cpus.extend((0..32).filter(|bit| value >> bit & 1 == 1).map(|bit| 32 * at + bit));
    }
    (!words.is_empty()).then_some(cpus)
}

/// `cpulist_parse`: numbers and ranges; an empty list is allowed, too.
pub(super) fn list(text: &str) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // The kernel has no more CPUs than this.
        if first > last || last > 8191 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_lists_are_read_as_the_kernel_does() {
        for (text, cpus) in [
            ("f", Some(vec![0, 1, 2, 3])),
            ("1,00000002", Some(vec![1, 32])),
            ("30,", Some(vec![4, 5])),
            ("", None),
            ("g", None),
        ] {
            assert_eq!(mask(text), cpus.map(BTreeSet::from_iter), "{text}");
        }
        for (text, cpus) in [("0-2,5", Some(vec![0, 1, 2, 5])), ("", Some(vec![])), ("3-1", None), ("x", None)] {
            assert_eq!(list(text), cpus.map(BTreeSet::from_iter), "{text}");
        }
    }
}
