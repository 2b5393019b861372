//! Finds which mappings of a process may be moved to a node: all except those whose owner forbade
//! it by a memory policy. An owner who binds memory to a node, or interleaves it, wants it there,
//! whichever threads wait for it. NUMA balancing leaves such memory as well, unless the policy asks
//! for it (`MPOL_F_NUMA_BALANCING`).

use super::around::PageRange;
use super::select::{by_size, mapped};
use crate::kernel::maps::Mapping;
use crate::kernel::numa_maps::forbids;
use isobar_model::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// The mappings of a process.
#[derive(Clone, Debug, Default)]
pub struct Mapped {
    /// The mappings that may be moved.
    free: Vec<Mapping>,
    /// Number of pages that each mapping, movable or not, has on the node that they are to leave,
    /// by first page, if the kernel reports it.
    counts: Option<BTreeMap<u64, u64>>,
    /// Number of pages there that their owner keeps.
    owned: u64,
}

impl Mapped {
    /// The mappings of a process for a move to a node. `policies` gives the memory policies of
    /// those that have one, by first address.
    #[must_use]
    pub fn new(
        mappings: Vec<Mapping>,
        counts: Option<BTreeMap<u64, u64>>,
        policies: impl Iterator<Item = (u64, String)>,
        to: NodeId,
        page_size: u64,
    ) -> Self {
        let chosen = policies.filter(|(_, policy)| forbids(policy, to));
        let theirs: BTreeSet<u64> = chosen.map(|(address, _)| address / page_size).collect();
        let on_node = |first: &u64| counts.as_ref().and_then(|counts| counts.get(first)).copied().unwrap_or(0);
        let owned = theirs.iter().map(on_node).sum();
        let free = mappings.into_iter().filter(|mapping| !theirs.contains(&mapping.pages.start)).collect();
        Self { free, counts, owned }
    }

    /// Number of pages on the node that they are to leave, which their owner keeps there.
    #[must_use]
    pub const fn owned(&self) -> u64 {
        self.owned
    }

    /// The mappings that may be moved, as ranges.
    #[must_use]
    pub fn ranges(&self) -> Vec<PageRange> {
        mapped(&self.free)
    }

    /// The order in which a walk visits them.
    #[must_use]
    pub fn order(&self) -> Vec<PageRange> {
        by_size(&self.free, self.counts.as_ref())
    }

    /// The parts of some ranges that may be moved, in the order of the ranges.
    #[must_use]
    pub fn within(&self, ranges: &[PageRange]) -> Vec<PageRange> {
        let free = self.ranges();
        let parts = |range: &PageRange| {
            let (start, end) = (range.start, range.end);
            let cut = |one: &PageRange| PageRange { start: one.start.max(start), end: one.end.min(end) };
            let first = free.partition_point(|one| one.end <= start);
            free[first..].iter().take_while(|one| one.start < end).map(cut).collect::<Vec<_>>()
        };
        ranges.iter().flat_map(parts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three mappings, of 4, 4 and 2 pages at 10, 20 and 24, are to go to node 0. The second is
    /// bound to node 1, where it has three pages, so it stays. The third is where `isobar run` put
    /// it.
    #[test]
    fn what_an_owner_bound_stays() {
        let mapping = |start, end| Mapping { pages: PageRange { start, end }, anonymous: true };
        let all = vec![mapping(10, 14), mapping(20, 24), mapping(24, 26)];
        let counts = BTreeMap::from([(10, 1), (20, 3), (24, 2)]);
        let policies = [(20 * 4096, "bind:1"), (24 * 4096, "prefer=static:1")];
        let policies = policies.map(|(address, policy)| (address, policy.to_owned()));
        let of = |counts: Option<BTreeMap<u64, u64>>| {
            Mapped::new(all.clone(), counts, policies.clone().into_iter(), NodeId(0), 4096)
        };
        let brief = |ranges: Vec<PageRange>| ranges.iter().map(|range| (range.start, range.end)).collect::<Vec<_>>();
        let found = of(Some(counts));
        assert_eq!(found.owned(), 3);
        assert_eq!(brief(found.ranges()), [(10, 14), (24, 26)]);
        assert_eq!(brief(found.order()), [(24, 26), (10, 14)]);
        let asked =
            [PageRange { start: 12, end: 25 }, PageRange { start: 21, end: 23 }, PageRange { start: 0, end: 11 }];
        assert_eq!(brief(found.within(&asked)), [(12, 14), (24, 25), (10, 11)]);
        assert_eq!(brief(of(None).order()), [(10, 14), (24, 26)], "by size where the kernel does not say");
    }
}
