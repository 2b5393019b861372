//! Examines the live process: which nodes it may use, its address space, and where its threads run.

use super::plan::Owned;
use crate::failure::bad_input;
use crate::machines::linux;
use anyhow::Context;
use isobar_linux::actuators::pages::place::Process;
use isobar_linux::kernel::areas::{self, Area, MappingKind};
use isobar_linux::kernel::huge::{self, Huge};
use isobar_linux::kernel::page_range::{PageRange, base_bytes};
use isobar_linux::kernel::parse::node_list;
use isobar_linux::kernel::{affinity, identity, mempolicy, numa_maps};
use isobar_model::text::one_line;
use isobar_model::{NodeId, Pid, Tid, Topology};
use isobar_pages::trace::{Region, RegionKind};
use std::collections::BTreeMap;
use std::fs;

/// A live process.
#[derive(Debug)]
pub struct Subject {
    /// The process.
    pub process: Process,
    /// Its name.
    pub name: String,
    /// The nodes that are used, ascending. A mapping numbers them from 0 in this order.
    pub nodes: Vec<NodeId>,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// The regions of its address space.
    pub regions: Vec<Region>,
    /// The node of each thread, as a position in `nodes`, in the order in which the threads began.
    pub homes: Vec<usize>,
    /// Mappings with huge pages.
    pub huge: Vec<Huge>,
    /// Mappings with a memory policy.
    pub policies: Vec<Owned>,
    /// Whether the kernel moves pages by itself (`kernel.numa_balancing`).
    pub balancing: bool,
}

impl Subject {
    /// Examines a process that is to use the nodes `asked` for, or otherwise all nodes that it may
    /// use.
    ///
    /// # Errors
    /// Bad input if there is no such process or node; a failure if the process may not be examined.
    pub fn look(pid: Pid, asked: Option<&[NodeId]>) -> anyhow::Result<Self> {
        let process = Process::find(pid).map_err(bad_input)?;
        let topology = linux::read_topology(None)?;
        let nodes = usable(pid, asked)?;
        let threads = in_order(pid);
        let may_not = || format!("process {pid}: its mappings cannot be read (run as its user or as root)");
        let areas = areas::of(pid, &threads).with_context(may_not)?;
        let page_bytes = base_bytes();
        Ok(Self {
            process,
            name: identity::name(pid),
            homes: threads.iter().map(|tid| home(pid, *tid, &topology, &nodes)).collect(),
            nodes,
            page_bytes,
            policies: policies(pid, &areas, page_bytes),
            huge: huge::of(pid),
            regions: regions(areas),
            balancing: balancing(),
        })
    }
}

fn balancing() -> bool {
    let mode =
        fs::read_to_string("/proc/sys/kernel/numa_balancing").ok().and_then(|mode| mode.trim().parse::<u32>().ok());
    mode.is_some_and(|mode| mode & 1 == 1)
}

/// The nodes with memory that a process may use. If nodes were `asked` for, only those; they must
/// all be usable.
fn usable(pid: Pid, asked: Option<&[NodeId]>) -> anyhow::Result<Vec<NodeId>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let allowed =
        status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:")).and_then(|list| node_list(list.trim()));
    let with_memory = mempolicy::with_memory().unwrap_or_else(|_| vec![NodeId(0)]);
    let may = |node: &NodeId| allowed.as_ref().is_none_or(|allowed| allowed.contains(node));
    let usable: Vec<NodeId> = with_memory.into_iter().filter(may).collect();
    let Some(asked) = asked else { return Ok(usable) };
    if let Some(wrong) = asked.iter().find(|node| !usable.contains(node)) {
        let names: Vec<String> = usable.iter().map(NodeId::to_string).collect();
        return Err(bad_input(format!(
            "--nodes: process {pid} has no memory on node {wrong}: it may use {}",
            names.join(", ")
        )));
    }
    Ok(asked.to_vec())
}

/// Its threads in the order in which they began.
fn in_order(pid: Pid) -> Vec<Tid> {
    let start = |tid: Tid| Some((identity::task(pid, tid)?.start, tid));
    let mut threads: Vec<(u64, Tid)> = identity::threads(pid).into_iter().filter_map(start).collect();
    // The first thread is the process. If threads began at the same time, the lower id began first.
    threads.sort_unstable_by_key(|(start, tid)| (tid.0 != pid.0, *start, *tid));
    threads.into_iter().map(|(_, tid)| tid).collect()
}

/// The position of a thread's node among `nodes`. It is the node that the thread may run on if
/// there is only one, otherwise the node where it ran last. If that node is not used, it is the
/// nearest one that is.
fn home(pid: Pid, tid: Tid, topology: &Topology, nodes: &[NodeId]) -> usize {
    let bound = affinity::get(tid).ok().and_then(|cpus| {
        let mut of = cpus.iter().filter_map(|cpu| topology.node_of(cpu));
        let first = of.next()?;
        of.all(|node| node == first).then_some(first)
    });
    let ran = || topology.node_of(identity::task(pid, tid)?.cpu?);
    bound.or_else(ran).map_or(0, |node| nearest(node, topology, nodes))
}

fn nearest(node: NodeId, topology: &Topology, nodes: &[NodeId]) -> usize {
    let far = |to: NodeId| topology.distances().and_then(|all| all.get(node, to)).copied().unwrap_or(u32::MAX);
    let key = |to: NodeId| (to != node, far(to));
    (0..nodes.len()).min_by_key(|at| nodes.get(*at).map(|to| key(*to))).unwrap_or(0)
}

fn regions(areas: Vec<Area>) -> Vec<Region> {
    let region = |area: Area| {
        let kind = match area.what {
            MappingKind::Heap => RegionKind::Heap,
            MappingKind::Stack(thread) => RegionKind::Stack(thread),
            MappingKind::File { path, offset } => RegionKind::File { path, offset },
            MappingKind::Anonymous => RegionKind::Anonymous { order: 0 },
            MappingKind::Reserved => return None,
        };
        Some(Region { start: area.start, end: area.end, kind })
    };
    areas.into_iter().filter_map(region).collect()
}

/// The mappings for which the owner has set a memory policy.
fn policies(pid: Pid, areas: &[Area], page_bytes: u64) -> Vec<Owned> {
    let text = fs::read(format!("/proc/{pid}/numa_maps")).unwrap_or_default();
    let set: BTreeMap<u64, String> = numa_maps::policies(&text).collect();
    let owned = |(start, policy): (u64, String)| {
        let before = areas.iter().filter(|area| area.start >= start);
        // A mapping that is shown as a stack and more is a single one for the kernel.
        let end = before
            .clone()
            .zip(before.skip(1))
            .find(|(one, next)| one.end != next.start || set.contains_key(&next.start));
        let end = end.map(|(one, _)| one.end).or_else(|| areas.last().map(|last| last.end))?;
        let pages = PageRange { start: start / page_bytes, end: end / page_bytes };
        Some((pages, one_line(&policy)))
    };
    set.clone().into_iter().filter_map(owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar_model::topology::synthetic::synthetic;

    #[test]
    fn a_thread_of_a_node_that_is_not_used_counts_as_of_the_nearest() {
        let topology = synthetic("node:4 core:1").unwrap();
        let used = [NodeId(1), NodeId(3)];
        assert_eq!(nearest(NodeId(3), &topology, &used), 1);
        assert_eq!(nearest(NodeId(0), &topology, &used), 0);
    }

    #[test]
    fn another_process_of_ours_is_looked_at() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let subject = Subject::look(Pid(child.id()), None).unwrap();
        assert_eq!((subject.homes.len(), subject.policies.len()), (1, 0));
        assert!(subject.regions.iter().any(|region| region.kind == RegionKind::Stack(0)));
        assert!(!subject.nodes.is_empty());
        let message = Subject::look(Pid(child.id()), Some(&[NodeId(900)])).unwrap_err().to_string();
        assert!(message.contains("--nodes") && message.contains("node 900"), "{message}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(Subject::look(Pid(child.id()), None).unwrap_err().to_string().contains("no process"));
    }
}
