//! What the kernel says about threads and pages, read by separate code: `isobar-linux` is not used,
//! because it is under test.

use isobar_model::{CpuId, CpuSet, LlcId, NodeId, NodeMap, Pages, Pid, Tid};
use std::fs;
use std::path::Path;

/// The CPUs that a thread may run on (`proc_pid_status(5)`).
pub fn affinity(pid: Pid, tid: Tid) -> Option<CpuSet> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().parse().unwrap())
}

/// The CPU that a thread last ran on: field 39 of `proc_pid_stat(5)`, the 37th after the name in
/// parentheses.
pub fn cpu(pid: Pid, tid: Tid) -> Option<CpuId> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(CpuId(fields.split_ascii_whitespace().nth(36)?.parse().unwrap()))
}

/// Resident pages by node (`numa(7)`, `/proc/PID/numa_maps`). Our subjects have no huge pages.
pub fn pages(pid: Pid) -> Option<NodeMap<Pages>> {
    let text = fs::read_to_string(format!("/proc/{pid}/numa_maps")).ok()?;
    let mut sum = NodeMap::<Pages>::default();
    for word in text.split_ascii_whitespace() {
        let counted = word.strip_prefix('N').and_then(|word| word.split_once('='));
        let Some((Ok(node), Ok(pages))) = counted.map(|(node, pages)| (node.parse(), pages.parse::<u64>())) else {
            continue;
        };
        sum.entry(NodeId(node)).0 += pages;
    }
    Some(sum)
}

/// The mask of the resctrl control group that contains a thread
/// (`Documentation/filesystems/resctrl.rst`). A thread in no other group is in the root group.
pub fn ways(root: &Path, llc: LlcId, tid: Tid) -> Option<u64> {
    let is_in = |group: &Path| {
        let tasks = fs::read_to_string(group.join("tasks")).unwrap_or_default();
        tasks.lines().any(|line| line == tid.to_string())
    };
    let folders = fs::read_dir(root).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let group = folders.chain([root.to_owned()]).find(|group| is_in(group))?;
    let schemata = fs::read_to_string(group.join("schemata")).ok()?;
    let masks = schemata.lines().find_map(|line| line.trim().strip_prefix("L3:"))?;
    let mask = masks.split(';').find_map(|mask| mask.split_once('=').filter(|(id, _)| *id == llc.to_string()))?.1;
    Some(u64::from_str_radix(mask.trim(), 16).unwrap())
}

/// The CPUs of a node; none if the kernel knows no nodes.
pub fn cpus_of(node: NodeId) -> CpuSet {
    let list = fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).unwrap_or_default();
    list.trim().parse().unwrap_or_default()
}

/// The nodes that have CPUs.
pub fn nodes_with_cpus() -> Vec<NodeId> {
    let list = fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default();
    // The kernel lists nodes in the format of CPU lists.
    let online: CpuSet = list.trim().parse().unwrap_or_default();
    online.iter().map(|number| NodeId(number.0)).filter(|node| !cpus_of(*node).is_empty()).collect()
}

/// Whether the kernel moves pages by itself.
pub fn kernel_moves_pages() -> bool {
    let setting = fs::read_to_string("/proc/sys/kernel/numa_balancing").unwrap_or_default();
    !matches!(setting.trim(), "" | "0")
}
