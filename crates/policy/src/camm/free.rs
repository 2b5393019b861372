//! Free memory, booked as plans use it, because several nodes may want the same free pages in one
//! epoch.
//!
//! Pages are taken to be 4 KiB, as in the paper (section IV), because an observation does not say
//! how large the machine's pages are. If they are larger, the machine reports what does not fit.

use super::config::Reserve;
use crate::kit::flight;
use isobar_model::{Bytes, NodeId, NodeMap, Observation, num};

const PAGE_BYTES: u64 = 4096;

/// Pages that each node can still take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreePages(NodeMap<u64>);

impl FreePages {
    /// Free memory in an observation, less the reserve and the pages that are about to arrive. A
    /// node whose free memory is not known has none.
    #[must_use]
    pub fn new(seen: &Observation, reserve: &Reserve) -> Self {
        let usable = |node: &isobar_model::topology::Node| {
            let kept = kept(node.memory, reserve);
            let free = seen.free.get(node.id)?.0.saturating_sub(kept);
            Some((node.id, (free / PAGE_BYTES).saturating_sub(flight::arriving(seen, node.id))))
        };
        Self(seen.machine.nodes().iter().filter_map(usable).collect())
    }

    /// Pages that a node can still take.
    #[must_use]
    pub fn on(&self, node: NodeId) -> u64 {
        self.0.get(node).copied().unwrap_or(0)
    }

    /// Books pages on a node.
    pub fn take(&mut self, node: NodeId, pages: u64) {
        let left = self.on(node).saturating_sub(pages);
        self.0.insert(node, left);
    }
}

/// Bytes that stay free on a node with this much memory.
pub(super) fn kept(memory: Option<Bytes>, reserve: &Reserve) -> u64 {
    let share = memory.map_or(0, |memory| num::round(num::float(memory.0) * reserve.reserve_percent / 100.0));
    share.max(reserve.reserve_mib.saturating_mul(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_kit::observation;

    #[test]
    fn the_reserve_and_what_is_booked_are_not_free() {
        let mut seen = observation("node:2 core:1", vec![]);
        seen.free.insert(NodeId(0), Bytes(65 << 20));
        let mut free = FreePages::new(&seen, &Reserve { reserve_percent: 0.0, reserve_mib: 64 });
        assert_eq!((free.on(NodeId(0)), free.on(NodeId(1))), (256, 0), "1 MiB above 64 MiB; unknown is none");
        free.take(NodeId(0), 200);
        assert_eq!(free.on(NodeId(0)), 56);
        free.take(NodeId(0), 200);
        assert_eq!(free.on(NodeId(0)), 0);
    }

    #[test]
    fn the_reserve_grows_with_the_node() {
        let reserve = Reserve::default();
        assert_eq!(kept(Some(Bytes(100 << 30)), &reserve), 2 << 30);
        assert_eq!(kept(Some(Bytes(1 << 30)), &reserve), 64 << 20);
        assert_eq!(kept(None, &reserve), 64 << 20);
    }
}
