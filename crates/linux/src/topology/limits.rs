//! Reads the memory latencies and bandwidths that the firmware promises (HMAT).

use super::nodes;
use crate::kernel::files;
use crate::kernel::tree::{LinuxError, Tree};
use isobar_model::topology::{AccessClass, Node};
use isobar_model::{Bandwidth, Nanoseconds, NodeId, num};

/// The access classes of every node (`Documentation/admin-guide/mm/numaperf.rst`): from the nearest
/// initiators of any kind (class 0) and from the nearest CPUs (class 1). A class with neither
/// initiators nor figures is left out.
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
    // A figure of 0 means that the firmware gave none.
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

/// Converts from MiB/s, which is the unit according to the kernel document.
fn mebibytes(rate: f64) -> Bandwidth {
    Bandwidth(rate * 1_048_576.0)
}

/// Sets each node's bandwidth to what its nearest CPUs can read. Without a figure for these, its
/// nearest initiators of any kind count.
pub(super) fn set_bandwidths(nodes: &mut [Node], classes: &[AccessClass]) {
    for node in nodes {
        let own = classes.iter().filter(|class| class.memory == node.id && class.read_bandwidth.is_some());
        let nearest_cpu = own.max_by_key(|class| class.class == 1);
        node.max_bandwidth = nearest_cpu.and_then(|class| class.read_bandwidth);
    }
}
