//! Sets the machine's weights of weighted interleave
//! (`Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave`, Linux 6.9): one
//! weight per node, for every program that has that memory policy. They are set only if no other
//! program has set them, so that putting them back means the kernel's default.

use crate::kernel::mempolicy::WEIGHTS;
use isobar_allocation::Decision;
use isobar_model::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What isobar did to the weights, for the state file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightsRecord {
    /// Whether the kernel computed them before (`auto`, Linux 6.16).
    pub auto: bool,
    /// The weight that isobar gives each node, or is about to give.
    pub ours: BTreeMap<NodeId, u8>,
    /// The weight before that, which is found if isobar ended between two nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<NodeId, u8>,
}

/// Why the weights cannot be set here; `None` if they can.
#[must_use]
pub fn absence() -> Option<String> {
    if !Path::new(WEIGHTS).is_dir() {
        return Some(format!("this kernel has no {WEIGHTS} (needs Linux 6.9 or later, with NUMA)"));
    }
    let right = rustix::fs::access(Path::new(WEIGHTS).join("node0"), rustix::fs::Access::WRITE_OK);
    right.is_err().then(|| format!("only root may write to {WEIGHTS}"))
}

/// The record for a decision. The present weights become `before`.
///
/// # Errors
/// In one line: someone else has set the weights, or they cannot be read.
pub fn intend(root: &Path, last: Option<&WeightsRecord>, decision: &Decision) -> Result<WeightsRecord, String> {
    let now = read(root).map_err(|error| format!("{}: {error}", root.display()))?;
    let auto = is_auto(root);
    let untouched = match last {
        Some(last) => now == last.ours,
        None => auto || now.values().all(|weight| *weight == 1),
    };
    if !untouched {
        return Err(format!(
            "{}: the weights are not at their defaults, so another program may need them; write 1 to each \
             node* to reset them",
            root.display()
        ));
    }
    let online = now.keys().filter_map(|node| 1_u64.checked_shl(node.0)).fold(0, |bits, bit| bits | bit);
    let wanted = decision.weights(online);
    let weight =
        |node: NodeId| wanted.map_or(1, |all| all.get(usize::try_from(node.0).unwrap_or(64)).map_or(1, |w| *w));
    let ours = now.keys().map(|node| (*node, weight(*node).max(1))).collect();
    Ok(WeightsRecord { auto: last.map_or(auto, |last| last.auto), ours, before: now })
}

/// Does what the record says.
///
/// # Errors
/// The kernel's error.
pub fn carry_out(root: &Path, record: &WeightsRecord) -> io::Result<()> {
    record.ours.iter().try_for_each(|(node, weight)| fs::write(file(root, *node), weight.to_string()))
}

/// Puts the kernel's defaults back, unless someone else has set a weight since. Returns whether it
/// did.
///
/// # Errors
/// The kernel's error.
pub fn put_back(root: &Path, record: &WeightsRecord) -> io::Result<bool> {
    let now = read(root)?;
    let ours = |(node, weight): (&NodeId, &u8)| {
        record.ours.get(node) == Some(weight) || record.before.get(node) == Some(weight)
    };
    if !now.iter().all(ours) {
        return Ok(false);
    }
    // A kernel that has no data to compute the weights from refuses: in that case the default is 1
    // as well.
    if !record.auto || fs::write(auto(root), "true").is_err() {
        now.keys().try_for_each(|node| fs::write(file(root, *node), "1"))?;
    }
    Ok(true)
}

fn file(root: &Path, node: NodeId) -> PathBuf {
    root.join(format!("node{node}"))
}

/// The switch between computed and set weights. Some kernels name it after the expansion of a
/// kernel macro called `auto` (seen on 6.18).
fn auto(root: &Path) -> PathBuf {
    let other = root.join("__auto_type");
    if other.exists() { other } else { root.join("auto") }
}

fn is_auto(root: &Path) -> bool {
    fs::read_to_string(auto(root)).is_ok_and(|text| matches!(text.trim(), "1" | "true" | "Y"))
}

fn read(root: &Path) -> io::Result<BTreeMap<NodeId, u8>> {
    let mut weights = BTreeMap::new();
    for entry in fs::read_dir(root)? {
        let name = entry?.file_name();
        let Some(node) = name.to_str().and_then(|name| name.strip_prefix("node")?.parse().ok()) else { continue };
        let node = NodeId(node);
        let text = fs::read_to_string(file(root, node))?;
        let weight = text.trim().parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        weights.insert(node, weight);
    }
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(weights: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        weights.iter().enumerate().for_each(|(node, weight)| {
            fs::write(folder.path().join(format!("node{node}")), weight).unwrap();
        });
        folder
    }

    #[test]
    fn weights_that_nobody_set_follow_decisions_and_are_reset() {
        let folder = folder(&["1\n", "1\n", "1\n"]);
        let root = folder.path();
        let one = intend(root, None, &Decision::Node(1)).unwrap();
        carry_out(root, &one).unwrap();
        assert_eq!(read(root).unwrap().into_values().collect::<Vec<_>>(), [1, 255, 1]);
        let two = intend(root, Some(&one), &Decision::Node(2)).unwrap();
        // Killed between two nodes: node 1 is as before, node 2 as it will be.
        fs::write(root.join("node2"), "255").unwrap();
        assert!(put_back(root, &two).unwrap());
        assert_eq!(fs::read_to_string(root.join("node1")).unwrap(), "1", "0 is refused since Linux 6.16");
    }

    #[test]
    fn weights_of_others_are_left_alone() {
        let theirs = folder(&["1", "3"]);
        assert!(intend(theirs.path(), None, &Decision::Node(1)).unwrap_err().contains("write 1 to each node*"));
        let folder = folder(&["1", "1"]);
        let record = intend(folder.path(), None, &Decision::Node(1)).unwrap();
        carry_out(folder.path(), &record).unwrap();
        fs::write(folder.path().join("node0"), "7").unwrap();
        assert!(!put_back(folder.path(), &record).unwrap());
        assert_eq!(fs::read_to_string(folder.path().join("node1")).unwrap(), "255");
        assert!(intend(folder.path(), Some(&record), &Decision::Node(0)).is_err());
    }

    #[test]
    fn what_the_kernel_computed_it_computes_again() {
        let folder = folder(&["5", "2"]);
        fs::write(folder.path().join("auto"), "true\n").unwrap();
        let record = intend(folder.path(), None, &Decision::Node(1)).unwrap();
        fs::write(folder.path().join("auto"), "false\n").unwrap();
        carry_out(folder.path(), &record).unwrap();
        assert!(put_back(folder.path(), &record).unwrap());
        assert_eq!(fs::read_to_string(folder.path().join("auto")).unwrap(), "true");
    }
}
