//! Chooses the groups that have their own series. A group is named by its processes, so any user of
//! the machine can make up new groups, and every new one costs space in a time-series database for
//! weeks.
//!
//! Properties: there are at most `most` groups at once, and over a day at most
//! `4 * most + 24 * most` that were never seen before. A group that has its own series keeps it
//! until others are half again as busy, so that series do not come and go. Groups without their own
//! series are counted under [`OTHER`].

use std::collections::{BTreeMap, BTreeSet};

/// The label of all groups without their own series.
pub const OTHER: &str = "other";
/// How many times busier a new group must be than the group that it replaces.
const KEEPS: f64 = 1.5;
/// Number of new names that may come at once, in multiples of `most`. [`REFILL`] says how fast more
/// may follow.
const BURST: f64 = 4.0;
/// Time in which `most` more new names may come, in seconds.
const REFILL: f64 = 3600.0;
/// Number of names that are remembered, in multiples of `most`: a known name costs nothing new.
const REMEMBERED: usize = 16;

/// Chooses the groups, epoch by epoch.
#[derive(Clone, Debug)]
pub struct GroupChooser {
    most: usize,
    /// Groups that have their own series.
    shown: BTreeSet<String>,
    /// When each known name was last shown.
    known: BTreeMap<String, f64>,
    /// Number of new names that may come now.
    credit: f64,
    time: f64,
}

impl GroupChooser {
    /// A roster of at most this number of groups.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let credit = BURST * isobar_model::num::float_len(most);
        Self { most, shown: BTreeSet::new(), known: BTreeMap::new(), credit, time: 0.0 }
    }

    /// The groups that have their own series in an epoch. `groups` lists all groups, with the
    /// number of CPUs that each fills.
    pub fn choose(&mut self, time: f64, groups: &[(String, f64)]) -> &BTreeSet<String> {
        let most = isobar_model::num::float_len(self.most);
        self.credit = (self.credit + most * (time - self.time).max(0.0) / REFILL).min(BURST * most);
        self.time = self.time.max(time);
        let mut ranked: Vec<(f64, &String)> =
            groups.iter().map(|(name, cpus)| (self.weight(name, *cpus), name)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let mut chosen = BTreeSet::new();
        for (_, name) in ranked {
            if chosen.len() < self.most && self.is_admitted(name) {
                chosen.insert(name.clone());
            }
        }
        self.shown = chosen;
        &self.shown
    }

    fn weight(&self, name: &str, cpus: f64) -> f64 {
        if self.shown.contains(name) { KEEPS * cpus } else { cpus }
    }

    fn is_admitted(&mut self, name: &str) -> bool {
        if !self.known.contains_key(name) {
            if self.credit < 1.0 {
                return false;
            }
            self.credit -= 1.0;
            self.forget_the_oldest();
        }
        self.known.insert(name.to_owned(), self.time);
        true
    }

    fn forget_the_oldest(&mut self) {
        if self.known.len() < REMEMBERED * self.most.max(1) {
            return;
        }
        let oldest = self.known.iter().min_by(|a, b| a.1.total_cmp(b.1)).map(|(name, _)| name.clone());
        oldest.map(|name| self.known.remove(&name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(roster: &mut GroupChooser, time: f64, groups: &[(&str, f64)]) -> Vec<String> {
        let groups: Vec<(String, f64)> = groups.iter().map(|(name, cpus)| ((*name).to_owned(), *cpus)).collect();
        roster.choose(time, &groups).iter().cloned().collect()
    }

    #[test]
    fn the_busiest_have_series_and_keep_them() {
        let mut roster = GroupChooser::new(2);
        assert_eq!(chosen(&mut roster, 1.0, &[("a", 3.0), ("b", 2.0), ("c", 1.0)]), ["a", "b"]);
        assert_eq!(chosen(&mut roster, 2.0, &[("a", 3.0), ("b", 1.0), ("c", 1.4)]), ["a", "b"], "not half again");
        assert_eq!(chosen(&mut roster, 3.0, &[("a", 3.0), ("b", 1.0), ("c", 1.6)]), ["a", "c"]);
    }

    /// A process that gives itself another name every second, for a day.
    #[test]
    fn new_names_are_bounded_over_a_day() {
        let mut roster = GroupChooser::new(2);
        let mut all = BTreeSet::new();
        for second in 0..86_400_u32 {
            let name = format!("evil-{second}");
            all.extend(roster.choose(f64::from(second), &[(name, 1.0)]).iter().cloned());
        }
        assert!((50..=56).contains(&all.len()), "{}", all.len());
        assert!(roster.known.len() <= 32);
    }
}
