//! The kernel's own word on threads and pages, read here anew: nothing of `isobar-linux` is asked, since that is what is tried.

use isobar_model::{CpuId, CpuSet, NodeId, NodeMap, Pages, Pid, Tid};
use std::fs;

/// The CPUs that a thread may run on (`proc_pid_status(5)`).
pub fn affinity(pid: Pid, tid: Tid) -> Option<CpuSet> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().parse().unwrap())
}

/// The CPU that a thread last ran on: field 39 of `proc_pid_stat(5)`, the 37th after the name in parentheses.
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

/// The CPUs of a node; none where the kernel knows no nodes.
pub fn cpus_of(node: NodeId) -> CpuSet {
    let list = fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).unwrap_or_default();
    list.trim().parse().unwrap_or_default()
}

/// The nodes that have CPUs.
pub fn nodes_with_cpus() -> Vec<NodeId> {
    let list = fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default();
    // The kernel writes nodes in the form of CPU lists.
    let online: CpuSet = list.trim().parse().unwrap_or_default();
    online.iter().map(|number| NodeId(number.0)).filter(|node| !cpus_of(*node).is_empty()).collect()
}

/// Whether the kernel moves pages of its own accord.
pub fn kernel_moves_pages() -> bool {
    let setting = fs::read_to_string("/proc/sys/kernel/numa_balancing").unwrap_or_default();
    !matches!(setting.trim(), "" | "0")
}
