//! Which program goes to which group (LLC), and which programs share which ways there.

use crate::error::PartitionError;
use isobar_model::num;

/// Programs that share a partition. Programs are positions in the workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cluster {
    /// Ascending, not empty.
    pub programs: Vec<usize>,
    /// Ways of the partition; at least 1.
    pub ways: usize,
}

impl Cluster {
    /// Replaces the positions in the cluster by the programs at these positions of a list.
    #[must_use]
    pub(crate) fn named(mut self, programs: &[usize]) -> Self {
        self.programs.iter_mut().for_each(|program| *program = programs[*program]);
        self
    }
}

/// The clusters of one LLC; their ways add up to at most the LLC's ways. Empty if no program runs
/// on it.
pub type Group = Vec<Cluster>;

/// A whole solution: one entry per group.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Solution {
    /// By LLC.
    pub groups: Vec<Group>,
}

impl Solution {
    /// All programs share all ways of their group; `llc[i]` is the group of program `i`.
    #[must_use]
    pub fn unpartitioned(llc: &[usize], groups: usize, ways: usize) -> Self {
        let members = |group| (0..llc.len()).filter(move |program| llc[*program] == group).collect::<Vec<_>>();
        let whole = |programs: Vec<usize>| if programs.is_empty() { vec![] } else { vec![Cluster { programs, ways }] };
        Self { groups: (0..groups).map(|group| whole(members(group))).collect() }
    }

    /// The group of each of `programs` programs; `None` for a program that is not in the solution.
    #[must_use]
    pub fn llcs(&self, programs: usize) -> Vec<Option<usize>> {
        let mut llc = vec![None; programs];
        for (group, cluster) in self.clusters() {
            cluster
                .programs
                .iter()
                .filter(|program| **program < programs)
                .for_each(|program| llc[*program] = Some(group));
        }
        llc
    }

    /// Every cluster with its group.
    pub fn clusters(&self) -> impl Iterator<Item = (usize, &Cluster)> {
        self.groups
            .iter()
            .enumerate()
            .flat_map(|(group, clusters)| clusters.iter().map(move |cluster| (group, cluster)))
    }

    /// Sorts programs within clusters, and clusters within groups (by their first program), so that
    /// equal solutions are equal values.
    #[must_use]
    pub fn canonical(mut self) -> Self {
        for group in &mut self.groups {
            group.iter_mut().for_each(|cluster| cluster.programs.sort_unstable());
            group.sort();
        }
        self
    }

    /// Way masks of a group's clusters, in order: contiguous, from way 0 up.
    #[must_use]
    pub fn way_masks(group: &Group) -> Vec<u64> {
        let mut next = 0;
        let mask = |cluster: &Cluster| {
            let bits = if cluster.ways >= 64 { u64::MAX } else { (1 << cluster.ways) - 1 };
            let mask = bits << next;
            next += cluster.ways;
            mask
        };
        group.iter().map(mask).collect()
    }

    /// Checks that each of `programs` programs occurs exactly once, no cluster is empty, and there
    /// are enough ways.
    ///
    /// # Errors
    /// [`PartitionError::Solution`], naming the program or group and what would be right.
    pub fn validate(&self, programs: usize, ways: usize) -> Result<(), PartitionError> {
        let wrong = |text: String| Err(PartitionError::Solution(text));
        let mut seen = vec![0_usize; programs];
        for (group, cluster) in self.clusters() {
            if cluster.programs.is_empty() {
                return wrong(format!("group {group} has a cluster without programs; leave it out"));
            }
            if cluster.ways == 0 {
                let program = cluster.programs[0];
                return wrong(format!(
                    "group {group}: the cluster of program {program} has 0 ways; give it at least 1"
                ));
            }
            for &program in &cluster.programs {
                match seen.get_mut(program) {
                    Some(times) => *times += 1,
                    None => return wrong(format!("program {program} is not in the workload of {programs} programs")),
                }
            }
        }
        for (group, clusters) in self.groups.iter().enumerate() {
            let used: usize = clusters.iter().map(|cluster| cluster.ways).sum();
            if used > ways {
                return wrong(format!("group {group} uses {used} ways; the cache has {ways}"));
            }
        }
        match seen.iter().position(|times| *times != 1) {
            Some(program) => {
                wrong(format!("program {program} is in {} clusters; it must be in 1", num::float_len(seen[program])))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(programs: &[usize], ways: usize) -> Cluster {
        Cluster { programs: programs.to_vec(), ways }
    }

    #[test]
    fn masks_are_contiguous_and_do_not_overlap() {
        let group = vec![cluster(&[0], 2), cluster(&[1, 2], 9)];
        assert_eq!(Solution::way_masks(&group), vec![0x3, 0x7fc]);
        assert_eq!(Solution::way_masks(&vec![cluster(&[0], 64)]), vec![u64::MAX]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let said = |groups: Vec<Group>| Solution { groups }.validate(2, 11).unwrap_err().to_string();
        assert_eq!(said(vec![vec![cluster(&[0], 6), cluster(&[1], 6)]]), "group 0 uses 12 ways; the cache has 11");
        assert_eq!(said(vec![vec![cluster(&[0], 6)]]), "program 1 is in 0 clusters; it must be in 1");
        assert_eq!(said(vec![vec![cluster(&[0, 0, 1], 6)]]), "program 0 is in 2 clusters; it must be in 1");
        assert!(said(vec![vec![cluster(&[0, 7], 6)]]).contains("program 7 is not in the workload"));
        assert!(said(vec![vec![cluster(&[0, 1], 0)]]).contains("0 ways"));
        assert!(Solution { groups: vec![vec![cluster(&[0], 11)], vec![cluster(&[1], 11)]] }.validate(2, 11).is_ok());
    }

    #[test]
    fn unpartitioned_means_one_cluster_a_group() {
        let all = Solution::unpartitioned(&[0, 1, 0], 3, 16);
        assert_eq!(all.groups, vec![vec![cluster(&[0, 2], 16)], vec![cluster(&[1], 16)], vec![]]);
        assert_eq!(all.llcs(3), vec![Some(0), Some(1), Some(0)]);
    }
}
