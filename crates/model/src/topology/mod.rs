//! What a machine is made of: nodes, last-level caches, CPUs, and the distances between nodes.
//!
//! A topology is checked when it is made and does not change. It holds what is online; what the
//! kernel does not report is `None`. Unusual machines are treated as ordinary: nodes without CPUs,
//! CPUs without a node or an LLC, several LLCs in a node, one LLC over several nodes, ids with
//! gaps.

mod allocation;
pub mod synthetic;

pub use allocation::{BandwidthShares, CacheAllocation};

use crate::cpuset::CpuSet;
use crate::ids::{CoreId, CpuId, LlcId, NodeId};
use crate::maps::{NodeMap, NodeMatrix};
use crate::units::{Bandwidth, Bytes, Nanoseconds, Ways};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A NUMA memory node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The kernel's number.
    pub id: NodeId,
    /// Installed memory.
    pub memory: Option<Bytes>,
    /// The maximum bandwidth of its memory controllers, if known (HMAT or a machine file).
    pub max_bandwidth: Option<Bandwidth>,
}

/// A last-level cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Llc {
    /// Its number; the resctrl domain id if the kernel gives cache ids.
    pub id: LlcId,
    /// The cache level, 3 on most machines.
    pub level: u32,
    /// Capacity.
    pub size: Option<Bytes>,
    /// Number of ways that can be allocated (bits of a resctrl mask), or else its associativity.
    pub ways: Option<Ways>,
}

/// A logical CPU that is online.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number.
    pub id: CpuId,
    /// Its physical core; see [`CoreId`].
    pub core: CoreId,
    /// Its last-level cache; `None` if no data cache is described.
    pub llc: Option<LlcId>,
    /// Its node; `None` on kernels without NUMA and on machines with holes in their firmware
    /// tables.
    pub node: Option<NodeId>,
}

/// How fast a memory node is, from its nearest initiators: the kernel's access class 0 or 1
/// (`Documentation/admin-guide/mm/numaperf.rst`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessClass {
    /// The node of the memory.
    #[serde(rename = "memory_node")]
    pub memory: NodeId,
    /// 0: nearest initiators of any kind; 1: nearest CPUs.
    pub class: u32,
    /// The nodes for which these figures hold.
    pub initiators: Vec<NodeId>,
    /// Read latency.
    #[serde(rename = "read_latency_ns")]
    pub read_latency: Option<Nanoseconds>,
    /// Write latency.
    #[serde(rename = "write_latency_ns")]
    pub write_latency: Option<Nanoseconds>,
    /// Read bandwidth.
    pub read_bandwidth: Option<Bandwidth>,
    /// Write bandwidth.
    pub write_bandwidth: Option<Bandwidth>,
}

/// The parts that a [`Topology`] is made of, in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// Memory nodes.
    pub nodes: Vec<Node>,
    /// Last-level caches.
    pub llcs: Vec<Llc>,
    /// Online CPUs.
    pub cpus: Vec<Cpu>,
    /// CPUs that the kernel lists with a node in addition to the CPUs that name this node as
    /// theirs: under `numa=fake` every node of a package lists all of its CPUs.
    pub shared_cpus: NodeMap<CpuSet>,
    /// ACPI SLIT distances, 10 = local, over exactly the nodes.
    pub distances: Option<NodeMatrix<u32>>,
    /// HMAT performance, if exposed.
    pub access: Vec<AccessClass>,
    /// Way allocation, if the machine has it.
    pub allocation: Option<CacheAllocation>,
}

/// A machine. Lists are ascending by id; every reference resolves.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    parts: Parts,
    cpu_index: BTreeMap<CpuId, usize>,
    online: CpuSet,
    by_node: BTreeMap<NodeId, CpuSet>,
    by_llc: BTreeMap<LlcId, CpuSet>,
}

/// Why parts do not make a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// two nodes, LLCs or CPUs with one number
    #[error("{kind} {id} is listed twice")]
    Duplicate {
        /// `node`, `llc` or `cpu`
        kind: &'static str,
        /// its number
        id: u32,
    },
    /// a CPU names a node or an LLC that is not listed
    #[error("cpu {cpu} names {kind} {id}, which is not listed")]
    Unknown {
        /// the CPU
        cpu: CpuId,
        /// `node` or `llc`
        kind: &'static str,
        /// the number that it names
        id: u32,
    },
    /// distances are not over exactly the nodes
    #[error("the distance table does not have one row and one column for each node")]
    Distances,
    /// no CPU at all
    #[error("the machine has no CPU")]
    NoCpu,
}

impl Topology {
    /// Checks the parts and sorts them by id.
    ///
    /// # Errors
    /// [`TopologyError`] if an id is listed twice, a reference does not resolve, the distance table
    /// does not match the nodes, or there is no CPU.
    pub fn new(mut parts: Parts) -> Result<Self, TopologyError> {
        parts.nodes.sort_by_key(|node| node.id);
        parts.llcs.sort_by_key(|llc| llc.id);
        parts.cpus.sort_by_key(|cpu| cpu.id);
        distinct("node", parts.nodes.iter().map(|node| node.id.0))?;
        distinct("llc", parts.llcs.iter().map(|llc| llc.id.0))?;
        distinct("cpu", parts.cpus.iter().map(|cpu| cpu.id.0))?;
        if parts.cpus.is_empty() {
            return Err(TopologyError::NoCpu);
        }
        let mut by_node: BTreeMap<_, _> = parts.nodes.iter().map(|node| (node.id, CpuSet::new())).collect();
        let mut by_llc: BTreeMap<_, _> = parts.llcs.iter().map(|llc| (llc.id, CpuSet::new())).collect();
        for cpu in &parts.cpus {
            let unknown = |kind, id| TopologyError::Unknown { cpu: cpu.id, kind, id };
            if let Some(node) = cpu.node {
                by_node.get_mut(&node).ok_or_else(|| unknown("node", node.0))?.insert(cpu.id);
            }
            if let Some(llc) = cpu.llc {
                by_llc.get_mut(&llc).ok_or_else(|| unknown("llc", llc.0))?.insert(cpu.id);
            }
        }
        let online: CpuSet = parts.cpus.iter().map(|cpu| cpu.id).collect();
        parts.shared_cpus = share(&mut by_node, &parts.shared_cpus, &online);
        let covers = |table: &NodeMatrix<u32>| table.nodes().iter().eq(parts.nodes.iter().map(|node| &node.id));
        if !parts.distances.as_ref().is_none_or(covers) {
            return Err(TopologyError::Distances);
        }
        let cpu_index = parts.cpus.iter().enumerate().map(|(index, cpu)| (cpu.id, index)).collect();
        Ok(Self { parts, cpu_index, online, by_node, by_llc })
    }

    /// Memory nodes, ascending.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.parts.nodes
    }

    /// Last-level caches, ascending.
    #[must_use]
    pub fn llcs(&self) -> &[Llc] {
        &self.parts.llcs
    }

    /// Online CPUs, ascending.
    #[must_use]
    pub fn cpus(&self) -> &[Cpu] {
        &self.parts.cpus
    }

    /// The distance table, if the firmware has one.
    #[must_use]
    pub const fn distances(&self) -> Option<&NodeMatrix<u32>> {
        self.parts.distances.as_ref()
    }

    /// HMAT performance figures, if exposed.
    #[must_use]
    pub fn access_classes(&self) -> &[AccessClass] {
        &self.parts.access
    }

    /// Way allocation through resctrl, if the machine has it.
    #[must_use]
    pub const fn allocation(&self) -> Option<&CacheAllocation> {
        self.parts.allocation.as_ref()
    }

    /// A CPU by number; `None` if it is not online here.
    #[must_use]
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        self.cpu_index.get(&id).map(|&index| &self.parts.cpus[index])
    }

    /// A node by number.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.parts.nodes.binary_search_by_key(&id, |node| node.id).ok().map(|index| &self.parts.nodes[index])
    }

    /// An LLC by number.
    #[must_use]
    pub fn llc(&self, id: LlcId) -> Option<&Llc> {
        self.parts.llcs.binary_search_by_key(&id, |llc| llc.id).ok().map(|index| &self.parts.llcs[index])
    }

    /// The node that a CPU belongs to.
    #[must_use]
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        self.cpu(cpu).and_then(|cpu| cpu.node)
    }

    /// The LLC that a CPU uses.
    #[must_use]
    pub fn llc_of(&self, cpu: CpuId) -> Option<LlcId> {
        self.cpu(cpu).and_then(|cpu| cpu.llc)
    }

    /// Every online CPU.
    #[must_use]
    pub const fn online(&self) -> &CpuSet {
        &self.online
    }

    /// The CPUs of a node, as the kernel lists them; empty for a node that has only memory. On
    /// nearly all machines these are the CPUs whose node it is. Under `numa=fake` several nodes
    /// list the same CPUs.
    #[must_use]
    pub fn cpus_of_node(&self, node: NodeId) -> Option<&CpuSet> {
        self.by_node.get(&node)
    }

    /// The CPUs that share an LLC.
    #[must_use]
    pub fn cpus_of_llc(&self, llc: LlcId) -> Option<&CpuSet> {
        self.by_llc.get(&llc)
    }

    /// The nodes whose CPUs use an LLC, ascending.
    #[must_use]
    pub fn nodes_of_llc(&self, llc: LlcId) -> Vec<NodeId> {
        let sharers = self.by_llc.get(&llc).cloned().unwrap_or_default();
        let shares = |cpus: &CpuSet| !cpus.intersection(&sharers).is_empty();
        self.by_node.iter().filter(|(_, cpus)| shares(cpus)).map(|(node, _)| *node).collect()
    }

    /// The LLCs that CPUs of a node use, ascending.
    #[must_use]
    pub fn llcs_of_node(&self, node: NodeId) -> Vec<LlcId> {
        let cpus = self.by_node.get(&node).into_iter().flat_map(CpuSet::iter);
        let mut llcs: Vec<_> = cpus.filter_map(|cpu| self.llc_of(cpu)).collect();
        llcs.sort_unstable();
        llcs.dedup();
        llcs
    }

    /// The parts, for building a changed machine.
    #[must_use]
    pub fn into_parts(self) -> Parts {
        self.parts
    }
}

/// Adds the CPUs that nodes share to their own. Returns the lists that added any.
fn share(by_node: &mut BTreeMap<NodeId, CpuSet>, shared: &NodeMap<CpuSet>, online: &CpuSet) -> NodeMap<CpuSet> {
    let mut added = NodeMap::default();
    for (node, own) in by_node {
        let Some(listed) = shared.get(*node) else { continue };
        let all = own.union(&listed.intersection(online));
        if all != *own {
            own.clone_from(&all);
            added.insert(*node, all);
        }
    }
    added
}

/// Checks that ids are distinct. `ids` is ascending, so equal neighbours are duplicates.
fn distinct(kind: &'static str, ids: impl Iterator<Item = u32>) -> Result<(), TopologyError> {
    let mut last = None;
    for id in ids {
        if last == Some(id) {
            return Err(TopologyError::Duplicate { kind, id });
        }
        last = Some(id);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(id: u32, llc: Option<u32>, node: Option<u32>) -> Cpu {
        Cpu { id: CpuId(id), core: CoreId(id), llc: llc.map(LlcId), node: node.map(NodeId) }
    }

    fn node(id: u32) -> Node {
        Node { id: NodeId(id), memory: None, max_bandwidth: None }
    }

    #[test]
    fn awkward_machines_are_ordinary() {
        // Node 8 has memory only, CPU 5 has no node, LLC 1 spans both.
        let llc = Llc { id: LlcId(1), level: 3, size: None, ways: None };
        let parts = Parts {
            nodes: vec![node(8), node(0)],
            llcs: vec![llc],
            cpus: vec![cpu(5, Some(1), None), cpu(3, Some(1), Some(0)), cpu(9, None, Some(0))],
            ..Parts::default()
        };
        let machine = Topology::new(parts).unwrap();
        assert_eq!(machine.nodes().iter().map(|n| n.id.0).collect::<Vec<_>>(), [0, 8]);
        assert!(machine.cpus_of_node(NodeId(8)).unwrap().is_empty());
        assert_eq!(machine.cpus_of_llc(LlcId(1)).unwrap().to_string(), "3,5");
        assert_eq!(machine.nodes_of_llc(LlcId(1)), [NodeId(0)]);
        assert_eq!(machine.llc_of(CpuId(9)), None);
    }

    #[test]
    fn nodes_may_list_the_cpus_of_others() {
        let both: CpuSet = "0-1,99".parse().unwrap();
        let parts = Parts {
            nodes: vec![node(0), node(1)],
            cpus: vec![cpu(0, None, Some(0)), cpu(1, None, Some(1))],
            shared_cpus: NodeMap::from_iter([(NodeId(0), both), (NodeId(1), CpuSet::new())]),
            ..Parts::default()
        };
        let machine = Topology::new(parts).unwrap();
        assert_eq!(machine.cpus_of_node(NodeId(0)).unwrap().to_string(), "0-1", "CPU 99 is not online");
        assert_eq!(machine.cpus_of_node(NodeId(1)).unwrap().to_string(), "1");
        assert_eq!(machine.node_of(CpuId(1)), Some(NodeId(1)), "each CPU has one node of its own");
        assert_eq!(machine.into_parts().shared_cpus.len(), 1);
    }

    #[test]
    fn references_must_resolve() {
        let bad = Parts { nodes: vec![node(0)], cpus: vec![cpu(0, None, Some(1))], ..Parts::default() };
        assert_eq!(Topology::new(bad), Err(TopologyError::Unknown { cpu: CpuId(0), kind: "node", id: 1 }));
        let twice = Parts { nodes: vec![node(0), node(0)], cpus: vec![cpu(0, None, None)], ..Parts::default() };
        assert_eq!(Topology::new(twice), Err(TopologyError::Duplicate { kind: "node", id: 0 }));
        assert_eq!(Topology::new(Parts::default()), Err(TopologyError::NoCpu));
    }
}
