//! Which node a physical address belongs to. It knows the nodes' memory and the hole below 4 GiB;
//! it does not know virtual addresses.

use crate::num::index;
use crate::spec::Spec;

const MIB_SHIFT: u32 = 20;
const MIBS_OF_4_GIB: u32 = 4096;
const NONE: u8 = u8::MAX;

/// One entry for each MiB of physical addresses.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    nodes: Vec<u8>,
}

impl Memory {
    pub fn new(spec: &Spec) -> Self {
        let hole = spec.hole_start_mib();
        let mut nodes = Vec::new();
        for (node, (start, size)) in (0..).zip(spec.memory()) {
            for mib in start..start + size {
                let physical = index(u64::from(if mib < hole { mib } else { mib - hole + MIBS_OF_4_GIB }));
                if nodes.len() <= physical {
                    nodes.resize(physical + 1, NONE);
                }
                nodes[physical] = node;
            }
        }
        Self { nodes }
    }

    /// The node of a line; `None`: a device, or nothing at all.
    #[inline]
    pub fn node(&self, line: u64) -> Option<usize> {
        let node = self.nodes.get(index(line >> (MIB_SHIFT - 6))).copied().unwrap_or(NONE);
        (node != NONE).then_some(usize::from(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn memory(mib: u32) -> Memory {
        let text =
            include_str!("../../machines/small-2x2.toml").replace("memory_mib = 512", &format!("memory_mib = {mib}"));
        Memory::new(&Spec::parse(&text, "m").unwrap())
    }

    fn node(memory: &Memory, address: u64) -> Option<usize> {
        memory.node(address >> 6)
    }

    #[test]
    fn what_fits_below_the_hole_stays_there() {
        let small = memory(1407); // 2814 MiB, less than 0xb0000000 bytes
        assert_eq!(node(&small, 1407 << 20), Some(1));
        assert_eq!(node(&small, (2814 << 20) - 1), Some(1));
        assert_eq!(node(&small, 2814 << 20), None);
        assert_eq!(node(&small, 4 * GIB), None);
    }

    #[test]
    fn with_more_memory_all_above_two_gib_goes_to_four() {
        let exact = memory(1408); // 2816 MiB = 0xb0000000 bytes: q35 splits at 2 GiB from here on
        assert_eq!(node(&exact, 2 * GIB - 1), Some(1));
        assert_eq!(node(&exact, 2 * GIB), None);
        assert_eq!(node(&exact, 4 * GIB), Some(1));
        assert_eq!(node(&exact, 4 * GIB + (768 << 20)), None);
        let large = memory(3072);
        assert_eq!(node(&large, 4 * GIB + GIB - 1), Some(0));
        assert_eq!(node(&large, 4 * GIB + GIB), Some(1));
        assert_eq!(node(&large, u64::MAX), None);
    }
}
