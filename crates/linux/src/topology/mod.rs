//! Reads the topology of a Linux machine from sysfs: online nodes and CPUs, last-level caches and
//! which CPUs share them, distances and memory. If the kernel has them, it also reads HMAT figures
//! and resctrl limits.
//!
//! This module knows where the kernel writes each of these, in every form of the last twenty years.
//! It refuses to guess: what no file says is `None`, and a file that cannot be understood is an
//! error.

mod caches;
mod cpus;
mod limits;
mod nodes;

use crate::kernel::resctrl_info::Info;
use crate::kernel::tree::{LinuxError, Tree};
use isobar_model::topology::{CacheAllocation, Cpu, Llc, Parts};
use isobar_model::{CoreId, Topology, Ways};
use std::collections::BTreeSet;
use std::path::Path;

/// The machine that a tree describes.
///
/// A CPU's LLC is its highest-level data or unified cache; a cache that the kernel only guesses
/// does not count (several nodes would share it, and its size is unknown). The ways of an LLC are
/// the bits of the resctrl mask if resctrl describes its level, otherwise its associativity. An LLC
/// has the kernel's cache id if every LLC has one and all are distinct, otherwise a number in the
/// order of first CPUs. A kernel without NUMA has one node, number 0.
///
/// # Errors
/// [`LinuxError`] if a file is unreadable or damaged, or the files contradict each other.
pub fn read(tree: &Tree) -> Result<Topology, LinuxError> {
    read_both(tree, (tree, "sys/fs/resctrl/"))
}

/// The same, for a resctrl file system that is not mounted at `/sys/fs/resctrl` but at `root`.
///
/// # Errors
/// The same as for [`read`].
pub fn read_with_resctrl(tree: &Tree, root: &Path) -> Result<Topology, LinuxError> {
    read_both(tree, (&Tree::folder(root), ""))
}

/// Reads the machine and its resctrl limits. `resctrl` is a tree, and the part of the path before
/// its `info`.
fn read_both(tree: &Tree, resctrl: (&Tree, &str)) -> Result<Topology, LinuxError> {
    let online = cpus::online(tree)?;
    let cores = cpus::cores(tree, &online)?;
    let mut nodes = nodes::read(tree, &online)?;
    let mut caches = caches::read(tree, &online, &nodes.of_cpu)?;
    let access = limits::access_classes(tree, &nodes.nodes)?;
    let allocation = allocation(resctrl, &caches.llcs)?;
    limits::set_bandwidths(&mut nodes.nodes, &access);
    set_ways(&mut caches.llcs, allocation.as_ref());
    let cpu = |id| Cpu {
        id,
        core: cores.get(&id).copied().unwrap_or(CoreId(id.0)),
        llc: caches.of_cpu.get(&id).copied(),
        node: nodes.of_cpu.get(&id).copied(),
    };
    let cpus = online.iter().map(cpu).collect();
    let parts = Parts {
        nodes: nodes.nodes,
        llcs: caches.llcs,
        cpus,
        shared_cpus: nodes.cpu_lists,
        distances: nodes.distances,
        access,
        allocation,
    };
    Topology::new(parts).map_err(|source| LinuxError::Contradiction { path: tree.origin().to_owned(), source })
}

/// What resctrl offers on caches. It describes one level, so on a machine with LLCs of two levels
/// the limits are those of the higher level that it describes.
fn allocation((tree, prefix): (&Tree, &str), llcs: &[Llc]) -> Result<Option<CacheAllocation>, LinuxError> {
    let levels: BTreeSet<u32> = llcs.iter().map(|llc| llc.level).collect();
    for level in levels.into_iter().rev() {
        if let Some(found) = Info::read(tree, prefix, level)?.cache {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn set_ways(llcs: &mut [Llc], allocation: Option<&CacheAllocation>) {
    let Some(allocation) = allocation else { return };
    let describes = |llc: &Llc| {
        let level = format!("L{}", llc.level);
        let rest = allocation.resource.strip_prefix(&level);
        matches!(rest, Some("" | "CODE" | "DATA"))
    };
    for llc in llcs.iter_mut().filter(|llc| describes(llc)) {
        llc.ways = Some(Ways(allocation.cbm_mask.count_ones()));
    }
}
