//! Decides which class of service each CPU gets. Pure.
//!
//! With resctrl a thread has a class, which the kernel loads with the thread. Here a CPU has a
//! class, so it gets the class of the threads that run on it. If these have several classes, it
//! gets the class whose threads used most of its time since the last sample (ties go to the lowest
//! class, so that the default comes first). On a CPU of another LLC than its cluster's, a thread
//! counts for the class of the cluster of the same name there, or for the default, 0, if there is
//! none.

use isobar_linux::resctrl::clusters::{Clusters, Key};
use isobar_model::{LlcId, Tid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The class that each cluster has on its LLC.
pub type Classes = BTreeMap<Key, usize>;

/// Where a thread was last seen, and how much CPU time it used in the last interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// the CPU
    pub cpu: usize,
    /// CPU time in nanoseconds
    pub time_ns: u64,
}

/// Gives every cluster a class of its LLC from 1 to `most`. A cluster that has a class keeps it.
///
/// # Errors
/// The LLC that has more than `most` clusters.
pub fn assign(clusters: &Clusters, standing: &Classes, most: usize) -> Result<Classes, LlcId> {
    let kept = |key: &Key| Some((key.clone(), *standing.get(key)?));
    let mut classes: Classes = clusters.keys().filter_map(kept).collect();
    for key in clusters.keys() {
        if !classes.contains_key(key) {
            let here = classes.iter().filter(|(other, _)| other.llc == key.llc);
            let taken: BTreeSet<usize> = here.map(|(_, class)| *class).collect();
            let free = (1..=most).find(|class| !taken.contains(class)).ok_or(key.llc)?;
            classes.insert(key.clone(), free);
        }
    }
    Ok(classes)
}

/// The class of each CPU. `llcs` has the LLC of each CPU, if it has one.
#[must_use]
pub fn place(
    clusters: &Clusters,
    classes: &Classes,
    spots: &BTreeMap<Tid, Spot>,
    llcs: &[Option<LlcId>],
) -> Vec<usize> {
    let member: BTreeMap<Tid, &Key> = clusters.members().map(|(tid, _, _, key)| (tid, key)).collect();
    let mut votes = vec![BTreeMap::<usize, u64>::new(); llcs.len()];
    for (tid, spot) in spots {
        let (Some(llc), Some(votes)) = (llcs.get(spot.cpu).copied().flatten(), votes.get_mut(spot.cpu)) else {
            continue;
        };
        let class = member.get(tid).and_then(|key| classes.get(&Key::new(llc, &key.name))).copied().unwrap_or(0);
        // A member counts even if it slept, so that the class is there when it wakes on an idle
        // CPU.
        let weight = spot.time_ns.saturating_add(u64::from(class > 0));
        let sum = votes.entry(class).or_default();
        *sum = sum.saturating_add(weight);
    }
    let winner = |votes: &BTreeMap<usize, u64>| {
        let voted = votes.iter().filter(|(_, weight)| **weight > 0);
        voted.max_by_key(|(class, weight)| (**weight, Reverse(**class))).map_or(0, |(class, _)| *class)
    };
    votes.iter().map(winner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_linux::resctrl::clusters::Cluster;
    use isobar_model::Pid;

    fn clusters(list: &[(u32, &str, &[u32])]) -> Clusters {
        let mut clusters = Clusters::default();
        for (llc, name, tids) in list {
            let threads = tids.iter().map(|tid| (Tid(*tid), (Pid(*tid), 1))).collect();
            clusters.set(Key::new(LlcId(*llc), name), Cluster { way_mask: 1, percent: None, threads });
        }
        clusters
    }

    fn spots(list: &[(u32, usize, u64)]) -> BTreeMap<Tid, Spot> {
        list.iter().map(|(tid, cpu, time_ns)| (Tid(*tid), Spot { cpu: *cpu, time_ns: *time_ns })).collect()
    }

    const LLCS: [Option<LlcId>; 4] = [Some(LlcId(0)), Some(LlcId(0)), Some(LlcId(1)), Some(LlcId(1))];

    #[test]
    fn every_llc_has_its_own_classes_and_a_cluster_keeps_its_own() {
        let first = assign(&clusters(&[(0, "a", &[1]), (0, "b", &[2]), (1, "c", &[3])]), &Classes::new(), 2).unwrap();
        assert_eq!(first.values().copied().collect::<Vec<_>>(), [1, 2, 1]);
        let second = assign(&clusters(&[(0, "b", &[2]), (0, "x", &[4])]), &first, 2).unwrap();
        assert_eq!((second[&Key::new(LlcId(0), "b")], second[&Key::new(LlcId(0), "x")]), (2, 1));
        let three = clusters(&[(1, "a", &[1]), (1, "b", &[2]), (1, "c", &[3])]);
        assert_eq!(assign(&three, &Classes::new(), 2), Err(LlcId(1)));
    }

    #[test]
    fn a_cpu_has_the_class_that_used_most_of_it() {
        let clusters = clusters(&[(0, "a", &[1]), (0, "b", &[2])]);
        let classes = assign(&clusters, &Classes::new(), 3).unwrap();
        let at = |list| place(&clusters, &classes, &spots(list), &LLCS);
        assert_eq!(at(&[(1, 0, 10), (2, 1, 10)]), [1, 2, 0, 0]);
        assert_eq!(at(&[(1, 1, 10), (2, 1, 20)]), [0, 2, 0, 0], "together on CPU 1");
        assert_eq!(at(&[(1, 1, 10), (9, 1, 20)]), [0, 0, 0, 0], "a stranger used more of it");
        assert_eq!(at(&[(1, 0, 0), (9, 0, 0)]), [1, 0, 0, 0], "all slept");
        assert_eq!(at(&[(1, 3, 10), (2, 9, 10)]), [0, 0, 0, 0], "away from its LLC, and on no CPU of ours");
    }

    #[test]
    fn away_from_its_llc_a_thread_gets_a_namesakes_class() {
        let clusters = clusters(&[(0, "a", &[1]), (0, "b", &[2]), (1, "b", &[3])]);
        let classes = assign(&clusters, &Classes::new(), 3).unwrap();
        assert_eq!(place(&clusters, &classes, &spots(&[(2, 2, 5)]), &LLCS), [0, 0, 1, 0]);
    }
}
