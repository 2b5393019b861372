//! What the firmware promises of memory (HMAT) and what resctrl offers on caches.

use super::{files, nodes};
use crate::tree::{LinuxError, Tree};
use isobar_model::topology::{AccessClass, CacheAllocation, Node};
use isobar_model::{Bandwidth, Nanoseconds, NodeId, num};

/// The access classes of every node (`Documentation/admin-guide/mm/numaperf.rst`): from the nearest initiators of any
/// kind (class 0) and from the nearest CPUs (class 1). A class without initiators and without a figure says nothing.
pub(super) fn access_classes(tree: &Tree, nodes: &[Node]) -> Result<Vec<AccessClass>, LinuxError> {
    let mut classes = Vec::new();
    for memory in nodes.iter().map(|node| node.id) {
        for class in files::numbered(tree, &nodes::folder(memory), "access")? {
            let found = access_class(tree, memory, class, nodes)?;
            let silent = found.read_latency.is_none()
                && found.write_latency.is_none()
                && found.read_bandwidth.is_none()
                && found.write_bandwidth.is_none();
            if !(silent && found.initiators.is_empty()) {
                classes.push(found);
            }
        }
    }
    Ok(classes)
}

fn access_class(tree: &Tree, memory: NodeId, class: u32, nodes: &[Node]) -> Result<AccessClass, LinuxError> {
    let folder = format!("{}/access{class}/initiators", nodes::folder(memory));
    let online = |id: &NodeId| nodes.iter().any(|node| node.id == *id);
    // A figure of 0 is one that the firmware left out.
    let figure = |name: &str| -> Result<Option<f64>, LinuxError> {
        Ok(files::number(tree, &format!("{folder}/{name}"))?.filter(|figure| *figure > 0).map(num::float))
    };
    Ok(AccessClass {
        memory,
        class,
        initiators: files::numbered(tree, &folder, "node")?.into_iter().map(NodeId).filter(online).collect(),
        read_latency: figure("read_latency")?.map(Nanoseconds),
        write_latency: figure("write_latency")?.map(Nanoseconds),
        read_bandwidth: figure("read_bandwidth")?.map(mebibytes),
        write_bandwidth: figure("write_bandwidth")?.map(mebibytes),
    })
}

/// The kernel document says MiB/s.
fn mebibytes(rate: f64) -> Bandwidth {
    Bandwidth(rate * 1_048_576.0)
}

/// Sets each node's bandwidth to what its nearest CPUs can read, or else its nearest initiators of any kind.
pub(super) fn set_bandwidths(nodes: &mut [Node], classes: &[AccessClass]) {
    for node in nodes {
        let own = classes.iter().filter(|class| class.memory == node.id && class.read_bandwidth.is_some());
        let nearest_cpu = own.max_by_key(|class| class.class == 1);
        node.max_bandwidth = nearest_cpu.and_then(|class| class.read_bandwidth);
    }
}

/// What resctrl offers on the caches of a level (`Documentation/filesystems/resctrl.rst`, "Info directory"). With code
/// and data prioritisation there is no `L3`, but `L3CODE` and `L3DATA` with the same limits.
pub(super) fn allocation(tree: &Tree, level: u32) -> Result<Option<CacheAllocation>, LinuxError> {
    for resource in [format!("L{level}"), format!("L{level}CODE"), format!("L{level}DATA")] {
        let info = format!("sys/fs/resctrl/info/{resource}");
        let cbm_mask = files::bit_mask(tree, &format!("{info}/cbm_mask"))?;
        let num_closids = files::small_number(tree, &format!("{info}/num_closids"))?;
        if let (Some(cbm_mask), Some(num_closids)) = (cbm_mask, num_closids) {
            return Ok(Some(CacheAllocation {
                resource,
                cbm_mask,
                // Both files are younger than the other two; a mask of no bits was refused from the start.
                min_cbm_bits: files::small_number(tree, &format!("{info}/min_cbm_bits"))?.unwrap_or(1),
                shareable_bits: files::bit_mask(tree, &format!("{info}/shareable_bits"))?.unwrap_or(0),
                num_closids,
                num_rmids: files::small_number(tree, &format!("sys/fs/resctrl/info/L{level}_MON/num_rmids"))?,
            }));
        }
    }
    Ok(None)
}
