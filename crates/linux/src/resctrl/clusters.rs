//! Clusters of threads and the ways that they may fill, as policies name them: by LLC and name. A
//! thread is in one cluster or in none, and a cluster without threads does not exist. Pure; the
//! resctrl groups that implement clusters are the business of [`super::layout`].

use isobar_model::{LlcId, Pid, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// A cluster's name, unique in its LLC.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// the LLC
    pub llc: LlcId,
    /// the name
    pub name: String,
}

impl Key {
    /// A cluster of this name on an LLC.
    #[must_use]
    pub fn new(llc: LlcId, name: &str) -> Self {
        Self { llc, name: name.to_owned() }
    }
}

/// Threads, each with its process and its start time.
pub type Threads = BTreeMap<Tid, (Pid, u64)>;

/// The properties of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// bits of the ways that it may fill
    pub way_mask: u64,
    /// per cent of the memory bandwidth that each of its threads may take
    pub percent: Option<u32>,
    /// its threads
    pub threads: Threads,
}

/// All clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clusters(BTreeMap<Key, Cluster>);

impl Clusters {
    /// Gives a cluster its ways and its threads. The threads leave every other cluster, and all
    /// previous threads leave this one.
    pub fn set(&mut self, key: Key, cluster: Cluster) {
        for other in self.0.values_mut() {
            other.threads.retain(|tid, _| !cluster.threads.contains_key(tid));
        }
        self.0.insert(key, cluster);
        self.0.retain(|_, cluster| !cluster.threads.is_empty());
    }

    /// Removes a cluster; its threads are then in no cluster.
    pub fn remove(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// Forgets threads that are gone, and clusters without threads.
    pub fn retain(&mut self, mut stays: impl FnMut(Tid, u64) -> bool) {
        self.0.values_mut().for_each(|cluster| cluster.threads.retain(|tid, (_, start)| stays(*tid, *start)));
        self.0.retain(|_, cluster| !cluster.threads.is_empty());
    }

    /// The names of all clusters, ascending by LLC, then name.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.0.keys()
    }

    /// A cluster.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Cluster> {
        self.0.get(key)
    }

    /// The threads of a cluster; empty if there is no such cluster.
    #[must_use]
    pub fn threads(&self, key: &Key) -> BTreeSet<Tid> {
        self.0.get(key).into_iter().flat_map(|cluster| cluster.threads.keys().copied()).collect()
    }

    /// Every thread with its cluster.
    pub fn members(&self) -> impl Iterator<Item = (Tid, Pid, u64, &Key)> {
        self.0
            .iter()
            .flat_map(|(key, cluster)| cluster.threads.iter().map(move |(tid, (pid, start))| (*tid, *pid, *start, key)))
    }

    /// The number of clusters on each LLC.
    #[must_use]
    pub fn count_by_llc(&self) -> BTreeMap<LlcId, usize> {
        let mut counts = BTreeMap::new();
        self.0.keys().for_each(|key| *counts.entry(key.llc).or_default() += 1);
        counts
    }

    /// Whether there are no clusters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(tids: &[u32]) -> Cluster {
        let threads = tids.iter().map(|tid| (Tid(*tid), (Pid(9), 1))).collect();
        Cluster { way_mask: 1, percent: None, threads }
    }

    #[test]
    fn a_thread_is_in_one_cluster_and_an_empty_cluster_is_none() {
        let mut clusters = Clusters::default();
        let (a, b) = (Key::new(LlcId(0), "a"), Key::new(LlcId(1), "a"));
        clusters.set(a.clone(), cluster(&[1, 2]));
        clusters.set(b.clone(), cluster(&[2, 3]));
        assert_eq!((clusters.threads(&a).len(), clusters.threads(&b).len()), (1, 2));
        clusters.set(a.clone(), cluster(&[2, 3]));
        assert_eq!(clusters.keys().collect::<Vec<_>>(), [&a], "the namesake on the other llc lost its last thread");
        clusters.set(a, cluster(&[]));
        assert!(clusters.is_empty());
    }

    #[test]
    fn who_has_ended_is_forgotten() {
        let mut clusters = Clusters::default();
        clusters.set(Key::new(LlcId(0), "a"), cluster(&[1, 2]));
        clusters.retain(|tid, _| tid == Tid(2));
        assert_eq!(clusters.members().map(|(tid, ..)| tid).collect::<Vec<_>>(), [Tid(2)]);
        clusters.retain(|_, start| start == 7);
        assert!(clusters.is_empty());
    }
}
