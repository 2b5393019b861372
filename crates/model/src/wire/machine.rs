//! The machine as JSON: what `isobar topo --json` prints, and the `machine` of an observation.

use super::WireError;
use crate::cpuset::CpuSet;
use crate::ids::{CoreId, CpuId, LlcId, NodeId};
use crate::maps::{NodeMap, NodeMatrix};
use crate::serial::count;
use crate::topology::{AccessClass, CacheAllocation, Cpu, Llc, Node, Parts, Topology};
use crate::units::{Bandwidth, Bytes, Ways};
use serde::{Deserialize, Serialize};

/// A machine document.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineDoc {
    nodes: Vec<NodeDoc>,
    #[serde(default)]
    llcs: Vec<LlcDoc>,
    cpus: Vec<CpuDoc>,
    distances: Option<Vec<Vec<u32>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    access: Vec<AccessClass>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocation: Option<CacheAllocation>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeDoc {
    id: NodeId,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<CpuSet>,
    #[serde(default, deserialize_with = "count")]
    memory_bytes: Option<u64>,
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    free_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bandwidth: Option<Bandwidth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    llcs: Option<Vec<LlcId>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LlcDoc {
    id: LlcId,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<CpuSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<NodeId>>,
    #[serde(default, deserialize_with = "count")]
    size_bytes: Option<u64>,
    ways: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuDoc {
    id: CpuId,
    core: Option<CoreId>,
    llc: Option<LlcId>,
    node: Option<NodeId>,
}

/// The document of a machine; with `free`, it includes each node's free memory.
#[must_use]
pub fn machine_to_doc(machine: &Topology, free: Option<&NodeMap<Bytes>>) -> MachineDoc {
    let node = |node: &Node| NodeDoc {
        id: node.id,
        cpus: machine.cpus_of_node(node.id).cloned(),
        memory_bytes: node.memory.map(|bytes| bytes.0),
        free_bytes: free.and_then(|free| free.get(node.id)).map(|bytes| bytes.0),
        max_bandwidth: node.max_bandwidth,
        llcs: Some(machine.llcs_of_node(node.id)),
    };
    let llc = |llc: &Llc| LlcDoc {
        id: llc.id,
        level: Some(llc.level),
        cpus: machine.cpus_of_llc(llc.id).cloned(),
        nodes: Some(machine.nodes_of_llc(llc.id)),
        size_bytes: llc.size.map(|bytes| bytes.0),
        ways: llc.ways.map(|ways| ways.0),
    };
    let cpu = |cpu: &Cpu| CpuDoc { id: cpu.id, core: Some(cpu.core), llc: cpu.llc, node: cpu.node };
    MachineDoc {
        nodes: machine.nodes().iter().map(node).collect(),
        llcs: machine.llcs().iter().map(llc).collect(),
        cpus: machine.cpus().iter().map(cpu).collect(),
        distances: machine
            .distances()
            .map(|table| table.rows().map(|row| row.iter().flatten().copied().collect()).collect()),
        access: machine.access_classes().to_vec(),
        allocation: machine.allocation().cloned(),
    }
}

impl MachineDoc {
    /// The machine of the document, checked.
    ///
    /// # Errors
    /// [`WireError`] if the parts do not make a machine or contradict each other.
    pub fn to_topology(&self) -> Result<Topology, WireError> {
        let node = |doc: &NodeDoc| {
            let (id, memory, max_bandwidth) = (doc.id, doc.memory_bytes.map(Bytes), doc.max_bandwidth);
            Node { id, memory, max_bandwidth }
        };
        let parts = Parts {
            nodes: self.nodes.iter().map(node).collect(),
            llcs: self.llcs.iter().enumerate().map(|(i, llc)| llc.to_llc(i)).collect::<Result<_, _>>()?,
            cpus: self.cpus.iter().enumerate().map(|(i, cpu)| cpu.to_cpu(i)).collect::<Result<_, _>>()?,
            shared_cpus: self.nodes.iter().filter_map(|node| Some((node.id, node.cpus.clone()?))).collect(),
            distances: self.distances.as_ref().map(|rows| self.matrix("machine.distances", &full(rows))).transpose()?,
            access: self.access.clone(),
            allocation: self.allocation.clone(),
        };
        let machine = Topology::new(parts)?;
        self.check_sharing(&machine)?;
        Ok(machine)
    }

    /// Free memory of the nodes for which it is known.
    #[must_use]
    pub fn free(&self) -> NodeMap<Bytes> {
        self.nodes.iter().filter_map(|node| Some((node.id, Bytes(node.free_bytes?)))).collect()
    }

    /// Node ids in the order of the document, which is the order of every by-node list beside it.
    pub(super) fn node_order(&self) -> Vec<NodeId> {
        self.nodes.iter().map(|node| node.id).collect()
    }

    /// A matrix whose rows and columns follow the document's order of nodes; a pair without a value
    /// is `None`.
    pub(super) fn matrix<T: Copy>(&self, path: &str, rows: &[Vec<Option<T>>]) -> Result<NodeMatrix<T>, WireError> {
        let order = self.node_order();
        let mut ascending: Vec<usize> = (0..order.len()).collect();
        ascending.sort_by_key(|&index| order[index]);
        let square = rows.len() == order.len() && rows.iter().all(|row| row.len() == order.len());
        let wrong = || WireError::value(path, "expected one row and one column for each node of the machine");
        if !square {
            return Err(wrong());
        }
        let sorted = ascending.iter().map(|&row| ascending.iter().map(|&column| rows[row][column]).collect()).collect();
        NodeMatrix::from_cells(ascending.iter().map(|&index| order[index]).collect(), sorted).ok_or_else(wrong)
    }

    /// `nodes[].cpus` and `llcs[].cpus` repeat what `cpus[]` says; if they are given, they must
    /// agree with it. A node may list CPUs that name another node as theirs (`numa=fake`), but no
    /// CPU that the machine lacks, and it must list its own.
    fn check_sharing(&self, machine: &Topology) -> Result<(), WireError> {
        for (i, llc) in self.llcs.iter().enumerate() {
            agree(format!("machine.llcs[{i}].cpus"), llc.cpus.as_ref(), machine.cpus_of_llc(llc.id))?;
        }
        for (i, node) in self.nodes.iter().enumerate() {
            agree(format!("machine.nodes[{i}].cpus"), node.cpus.as_ref(), machine.cpus_of_node(node.id))?;
        }
        Ok(())
    }
}

/// Turns rows with a value for every pair into rows of optional values.
fn full(rows: &[Vec<u32>]) -> Vec<Vec<Option<u32>>> {
    rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect()
}

fn agree(path: String, listed: Option<&CpuSet>, derived: Option<&CpuSet>) -> Result<(), WireError> {
    match (listed, derived) {
        (Some(listed), Some(derived)) if listed != derived => {
            Err(WireError::value(path, format!("says CPUs {listed}, but machine.cpus[] says {derived}")))
        }
        _ => Ok(()),
    }
}

/// Possible numbers of ways of a cache; Linux reports full associativity on AMD machines as 65535.
const WAYS: std::ops::RangeInclusive<u32> = 1..=65_535;

impl LlcDoc {
    fn to_llc(&self, index: usize) -> Result<Llc, WireError> {
        if let Some(ways) = self.ways.filter(|ways| !WAYS.contains(ways)) {
            let message = format!("is {ways}: expected {} to {} ways, or null", WAYS.start(), WAYS.end());
            return Err(WireError::value(format!("machine.llcs[{index}].ways"), message));
        }
        let (level, size) = (self.level.unwrap_or(3), self.size_bytes.map(Bytes));
        Ok(Llc { id: self.id, level, size, ways: self.ways.map(Ways) })
    }
}

impl CpuDoc {
    fn to_cpu(&self, index: usize) -> Result<Cpu, WireError> {
        if self.id.0 > crate::cpuset::MAX_CPU {
            let message = format!("{} is above the highest supported CPU number, {}", self.id, crate::cpuset::MAX_CPU);
            return Err(WireError::value(format!("machine.cpus[{index}].id"), message));
        }
        Ok(Cpu { id: self.id, core: self.core.unwrap_or(CoreId(self.id.0)), llc: self.llc, node: self.node })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::synthetic::synthetic;

    #[test]
    fn a_machine_survives_the_round_trip() {
        let machine = synthetic("node:2 llc:2 core:2 pu:2").unwrap();
        let text = serde_json::to_string(&machine_to_doc(&machine, None)).unwrap();
        let back: MachineDoc = super::super::read(&text).unwrap();
        assert_eq!(back.to_topology().unwrap(), machine);
    }

    #[test]
    fn lists_by_node_follow_the_document_not_the_ids() {
        let text =
            r#"{"nodes": [{"id": 4}, {"id": 1}], "cpus": [{"id": 0, "node": 4}], "distances": [[10, 30], [20, 10]]}"#;
        let doc: MachineDoc = super::super::read(text).unwrap();
        let machine = doc.to_topology().unwrap();
        assert_eq!(machine.distances().unwrap().get(NodeId(4), NodeId(1)), Some(&30));
    }

    #[test]
    fn contradictions_are_told() {
        let text =
            r#"{"nodes": [{"id": 0}], "llcs": [{"id": 0, "cpus": [0, 1]}], "cpus": [{"id": 0, "llc": 0, "node": 0}]}"#;
        let doc: MachineDoc = super::super::read(text).unwrap();
        let said = doc.to_topology().unwrap_err().to_string();
        assert_eq!(said, "machine.llcs[0].cpus: says CPUs 0-1, but machine.cpus[] says 0");
    }

    #[test]
    fn no_ways_and_billions_of_them_are_refused() {
        let said = |ways: u32| {
            let text = format!(r#"{{"nodes": [{{"id": 0}}], "llcs": [{{"id": 0, "ways": {ways}}}], "cpus": []}}"#);
            let doc: MachineDoc = super::super::read(&text).unwrap();
            doc.to_topology().err().map(|error| error.to_string())
        };
        for ways in [0, 65_536, u32::MAX] {
            let expected = format!("machine.llcs[0].ways: is {ways}: expected 1 to 65535 ways, or null");
            assert_eq!(said(ways).as_deref(), Some(expected.as_str()));
        }
    }
}
