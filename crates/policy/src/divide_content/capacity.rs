//! The ways of one LLC as resctrl lets them be divided (`Documentation/filesystems/resctrl.rst`,
//! `info/L3`): how many there are, how few a partition may have, how many clusters there can be,
//! and which end of the cache other agents use too.
//!
//! Partitions are laid side by side from one end, those most worth protecting first. Bits that
//! other agents may use (`shareable_bits`) lie at one end of the mask. Laying begins at the other
//! end, so these bits fall to the last partitions.

use isobar_model::topology::Llc;
use isobar_model::{Topology, num};

/// Number of classes of service if the machine does not say: what processors with RDT or QoS
/// commonly have.
const USUAL_CLASSES: u32 = 16;

/// The ways of an LLC that can be divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Ways that masks may name; they are contiguous.
    pub ways: usize,
    /// Fewest ways of a partition (`min_cbm_bits`).
    pub min_ways: usize,
    /// Number of clusters besides the default group (`num_closids` less one).
    pub max_clusters: usize,
    /// Position of the lowest bit.
    shift: usize,
    /// Whether others use the low end, so that laying begins at the high end.
    from_above: bool,
}

impl Capacity {
    /// The ways that can be divided; `None` if the machine names no ways.
    #[must_use]
    pub fn of(machine: &Topology, llc: &Llc) -> Option<Self> {
        let allocation = machine.allocation();
        let own = llc.ways.map(|ways| bits(num::index(ways.0)));
        let mask = match (allocation, own) {
            (Some(allocation), Some(own)) => allocation.cbm_mask & own,
            (Some(allocation), None) => allocation.cbm_mask,
            (None, own) => own?,
        };
        let shift = mask.trailing_zeros();
        let ways = num::index(mask.checked_shr(shift)?.trailing_ones());
        let shared = allocation.map_or(0, |allocation| allocation.shareable_bits & mask);
        let middle = num::index(shift) + ways / 2;
        let low = num::index((shared & bits(middle)).count_ones());
        let classes = allocation.map_or(USUAL_CLASSES, |allocation| allocation.num_closids);
        Some(Self {
            ways,
            min_ways: allocation.map_or(1, |allocation| num::index(allocation.min_cbm_bits)).clamp(1, ways),
            max_clusters: num::index(classes.saturating_sub(1)),
            shift: num::index(shift),
            from_above: low > num::index(shared.count_ones()) - low,
        })
    }

    /// Whether at least two partitions can be made.
    #[must_use]
    pub const fn is_divisible(&self) -> bool {
        self.ways >= 2 * self.min_ways && self.max_clusters >= 2
    }

    /// Every way.
    #[must_use]
    pub fn full_mask(&self) -> u64 {
        bits(self.ways) << self.shift
    }

    /// Masks of partitions with these numbers of ways, side by side, those most worth protecting
    /// first. The ways must suffice for all of them.
    #[must_use]
    pub fn masks(&self, partitions: impl IntoIterator<Item = usize>) -> Vec<u64> {
        let mut used = 0;
        let mask = |ways: usize| {
            let from = if self.from_above { self.ways.saturating_sub(used + ways) } else { used };
            used += ways;
            bits(ways) << (self.shift + from)
        };
        partitions.into_iter().map(mask).collect()
    }
}

/// A mask of the lowest `count` bits.
const fn bits(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;
    use isobar_model::topology::{CacheAllocation, Parts};

    fn capacity(cbm_mask: u64, min_cbm_bits: u32, shareable_bits: u64) -> Capacity {
        let allocation = CacheAllocation {
            resource: "L3".into(),
            cbm_mask,
            min_cbm_bits,
            num_closids: 4,
            shareable_bits,
            num_rmids: None,
            bandwidth: None,
        };
        let parts = Parts { allocation: Some(allocation), ..synthetic("node:1 core:2").unwrap().into_parts() };
        let machine = Topology::new(parts).unwrap();
        Capacity::of(&machine, &machine.llcs()[0]).unwrap()
    }

    #[test]
    fn masks_stay_inside_and_side_by_side() {
        let plain = capacity(0x7ff, 1, 0);
        assert_eq!((plain.ways, plain.max_clusters, plain.full_mask()), (11, 3, 0x7ff));
        assert_eq!(plain.masks([6, 3, 2]), [0x3f, 0x1c0, 0x600]);
        assert_eq!(capacity(0xff0, 2, 0).masks([2, 6]), [0x30, 0xfc0]);
    }

    #[test]
    fn ways_that_others_use_fall_to_the_last_partition() {
        assert_eq!(capacity(0x7ff, 1, 0x600).masks([9, 2]), [0x1ff, 0x600]);
        assert_eq!(capacity(0x7ff, 1, 0x003).masks([9, 2]), [0x7fc, 0x003]);
    }

    #[test]
    fn each_llc_has_its_own_ways() {
        let mut parts = synthetic("node:2 core:2").unwrap().into_parts();
        parts.llcs[1].ways = Some(isobar_model::Ways(8));
        parts.allocation = Some(CacheAllocation {
            resource: "L3".into(),
            cbm_mask: 0xffff,
            min_cbm_bits: 1,
            num_closids: 4,
            shareable_bits: 0,
            num_rmids: None,
            bandwidth: None,
        });
        let machine = Topology::new(parts).unwrap();
        let masks = machine.llcs().iter().map(|llc| Capacity::of(&machine, llc).unwrap().full_mask());
        assert_eq!(masks.collect::<Vec<_>>(), [0xffff, 0xff]);
    }

    #[test]
    fn the_llc_alone_is_enough() {
        let machine = synthetic("node:1 core:2").unwrap();
        let capacity = Capacity::of(&machine, &machine.llcs()[0]).unwrap();
        assert_eq!(
            (capacity.ways, capacity.min_ways, capacity.max_clusters, capacity.is_divisible()),
            (16, 1, 15, true)
        );
        assert!(!Capacity { min_ways: 9, ..capacity }.is_divisible());
    }
}
