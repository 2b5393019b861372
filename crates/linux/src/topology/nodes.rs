//! Reads the memory nodes, their memory, their CPUs and the distances between them
//! (`Documentation/ABI/stable/sysfs-devices-node`).
//!
//! A kernel without NUMA has no `node` folder. Under a kernel with NUMA the same machine would show
//! one node 0 that holds all CPUs and all memory. So that is the result here too, with the total of
//! `proc/meminfo`.

use super::cpus;
use crate::kernel::tree::{LinuxError, Tree};
use crate::kernel::{files, parse};
use isobar_model::topology::Node;
use isobar_model::{CpuId, CpuSet, NodeId, NodeMap, NodeMatrix};
use std::collections::BTreeMap;

const FOLDER: &str = "sys/devices/system/node";

/// The expected content of a node's `distance` file.
const DISTANCES: &str = "a row with one number from 1 to 255 for each online node, such as `10 20` for two";

/// The kernel's own limits (`numa_set_distance` keeps distances in a byte, and no distance is 0).
const DISTANCE: std::ops::RangeInclusive<u32> = 1..=255;

/// The folder of a node.
pub(super) fn folder(node: NodeId) -> String {
    format!("{FOLDER}/node{node}")
}

/// The nodes, and what their files say about CPUs and about each other.
pub(super) struct Nodes {
    pub(super) nodes: Vec<Node>,
    pub(super) of_cpu: BTreeMap<CpuId, NodeId>,
    pub(super) cpu_lists: NodeMap<CpuSet>,
    pub(super) distances: Option<NodeMatrix<u32>>,
}

/// Reads the online nodes.
pub(super) fn read(tree: &Tree, online: &CpuSet) -> Result<Nodes, LinuxError> {
    let ids = ids(tree)?;
    if ids.is_empty() {
        return without_numa(tree, online);
    }
    let mut nodes = Vec::new();
    for &id in &ids {
        let memory = files::mem_total(tree, &format!("{}/meminfo", folder(id)))?;
        nodes.push(Node { id, memory, max_bandwidth: None });
    }
    let cpu_lists = cpu_lists(tree, &ids, online)?;
    let of_cpu = owners(tree, &ids, online, &cpu_lists)?;
    Ok(Nodes { nodes, of_cpu, cpu_lists, distances: distances(tree, ids)? })
}

fn without_numa(tree: &Tree, online: &CpuSet) -> Result<Nodes, LinuxError> {
    let id = NodeId(0);
    let node = Node { id, memory: files::mem_total(tree, "proc/meminfo")?, max_bandwidth: None };
    let of_cpu = online.iter().map(|cpu| (cpu, id)).collect();
    Ok(Nodes { nodes: vec![node], of_cpu, cpu_lists: NodeMap::default(), distances: None })
}

/// The nodes that are online and have a folder; without an `online` list, all nodes that have a
/// folder.
fn ids(tree: &Tree) -> Result<Vec<NodeId>, LinuxError> {
    let mut ids: Vec<_> = files::numbered(tree, FOLDER, "node")?.into_iter().map(NodeId).collect();
    let list = format!("{FOLDER}/online");
    if let Some(online) = files::value(tree, &list, "a list of nodes such as `0-1,8`", parse::node_list)? {
        ids.retain(|id| online.contains(id));
    }
    Ok(ids)
}

/// The online CPUs that each node lists.
fn cpu_lists(tree: &Tree, ids: &[NodeId], online: &CpuSet) -> Result<NodeMap<CpuSet>, LinuxError> {
    let list = |&id: &NodeId| {
        let cpus = files::cpus(tree, &folder(id), "cpulist", "cpumap")?.unwrap_or_default();
        Ok((id, cpus.intersection(online)))
    };
    ids.iter().map(list).collect()
}

/// The node of each CPU. If the lists of several nodes name a CPU, as under `numa=fake`, or no list
/// does, the CPU's own link decides: the kernel itself takes the linked node as the CPU's. Without
/// a link, it is the first node that names the CPU.
fn owners(
    tree: &Tree,
    ids: &[NodeId],
    online: &CpuSet,
    lists: &NodeMap<CpuSet>,
) -> Result<BTreeMap<CpuId, NodeId>, LinuxError> {
    let mut claims: BTreeMap<CpuId, Vec<NodeId>> = online.iter().map(|cpu| (cpu, Vec::new())).collect();
    for (id, cpus) in lists.iter() {
        for cpu in cpus.iter() {
            claims.entry(cpu).or_default().push(id);
        }
    }
    let mut owners = BTreeMap::new();
    for (cpu, claimed) in claims {
        let owner = match claimed[..] {
            [only] => Some(only),
            _ => linked(tree, cpu, ids)?.or(claimed.first().copied()),
        };
        owners.extend(owner.map(|node| (cpu, node)));
    }
    Ok(owners)
}

/// The node that a CPU's folder links to (`cpuN/nodeM`), or whose folder links to the CPU
/// (`nodeM/cpuN`).
fn linked(tree: &Tree, cpu: CpuId, ids: &[NodeId]) -> Result<Option<NodeId>, LinuxError> {
    let given = files::numbered(tree, &cpus::folder(cpu), "node")?.into_iter().map(NodeId).find(|id| ids.contains(id));
    if given.is_some() {
        return Ok(given);
    }
    for &id in ids {
        if files::numbered(tree, &folder(id), "cpu")?.contains(&cpu.0) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The table of distances, if every node has a row: one number for each online node, in ascending
/// order. If a row is missing, because firmware has no table or a capture is incomplete, there is
/// no table. A row in any other form is refused, because a policy would move memory by it.
fn distances(tree: &Tree, ids: Vec<NodeId>) -> Result<Option<NodeMatrix<u32>>, LinuxError> {
    let mut rows = Vec::new();
    for &id in &ids {
        let right = |row: &Vec<u32>| row.len() == ids.len() && row.iter().all(|distance| DISTANCE.contains(distance));
        let fits = |text: &str| parse::distances(text).filter(right);
        rows.push(files::value(tree, &format!("{}/distance", folder(id)), DISTANCES, fits)?);
    }
    let rows: Option<Vec<Vec<u32>>> = rows.into_iter().collect();
    Ok(rows.and_then(|rows| NodeMatrix::from_rows(ids, rows)))
}
