//! Reads the last-level caches and which CPUs share them
//! (`Documentation/ABI/testing/sysfs-devices-system-cpu`, `cache/index*`).
//!
//! The LLC of a CPU is the cache of the highest level among its own data and unified caches, so
//! CPUs of one machine may have LLCs of different levels, or none. An LLC keeps the kernel's cache
//! id (the domain id of resctrl) if every LLC has one and all are distinct. Otherwise LLCs are
//! numbered from 0 in the order of their first online CPU.
//!
//! If firmware describes no caches, as in many Arm guests, the kernel assumes that every cache
//! above level 1 is shared by all CPUs (`cache_leaves_are_shared` in `drivers/base/cacheinfo.c`).
//! Such a cache is a guess and does not count as an LLC. It is recognised by having no size and
//! spanning nodes: no cache of unknown size is accepted here as spanning nodes.
//!
//! A machine of 256 CPUs has thousands of cache files, and CPUs that share an LLC repeat each
//! other. So only two things are read of a CPU that an LLC already names: its `cache` folder and
//! one sharing list. If both equal those of the first CPU of that LLC, the CPU belongs to it. If
//! not (asymmetric or contradictory firmware), all of the CPU's files are read.

use super::cpus;
use crate::kernel::tree::{LinuxError, Tree};
use crate::kernel::{files, parse};
use isobar_model::topology::Llc;
use isobar_model::{Bytes, CpuId, CpuSet, LlcId, NodeId, Ways};
use std::collections::{BTreeMap, BTreeSet};

/// The LLCs of a machine, and which of them each CPU uses.
pub(super) struct Caches {
    pub(super) llcs: Vec<Llc>,
    pub(super) of_cpu: BTreeMap<CpuId, LlcId>,
}

/// Reads the LLCs of the online CPUs. `node_of` serves to distinguish the kernel's guesses, which
/// span nodes, from LLCs.
pub(super) fn read(tree: &Tree, online: &CpuSet, node_of: &BTreeMap<CpuId, NodeId>) -> Result<Caches, LinuxError> {
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of: BTreeMap<CpuId, usize> = BTreeMap::new();
    for cpu in online.iter() {
        let indexes = files::numbered(tree, &format!("{}/cache", cpus::folder(cpu)), "index")?;
        let known = group_of.get(&cpu).copied();
        if let Some(index) = known
            && groups[index].confirms(tree, cpu, &indexes, online)?
        {
            continue;
        }
        group_of.remove(&cpu);
        let Some(found) = Group::read(tree, cpu, indexes, online)? else { continue };
        let same = groups.iter().position(|group| group.level == found.level && group.shared == found.shared);
        let index = same.unwrap_or(groups.len());
        for sharer in found.shared.iter().filter(|sharer| *sharer > cpu) {
            group_of.entry(sharer).or_insert(index);
        }
        group_of.insert(cpu, index);
        if same.is_none() {
            groups.push(found);
        }
    }
    Ok(number(&groups, &group_of, node_of))
}

/// One LLC, as its first CPU describes it.
struct Group {
    level: u32,
    shared: CpuSet,
    size: Option<Bytes>,
    ways: Option<Ways>,
    id: Option<u32>,
    /// Which `index` folder of the first CPU this is, and all such folders that the CPU has.
    index: u32,
    indexes: Vec<u32>,
}

impl Group {
    /// The highest data or unified cache of a CPU; the first if several have that level.
    fn read(tree: &Tree, cpu: CpuId, indexes: Vec<u32>, online: &CpuSet) -> Result<Option<Self>, LinuxError> {
        let mut highest: Option<(u32, u32)> = None;
        for &index in &indexes {
            if let Some(level) = data_level(tree, &folder(cpu, index))?
                && highest.is_none_or(|(above, _)| level > above)
            {
                highest = Some((level, index));
            }
        }
        let Some((level, index)) = highest else { return Ok(None) };
        let folder = folder(cpu, index);
        let ways = associativity(tree, &folder)?.filter(|ways| *ways > 0);
        let size = files::value(tree, &format!("{folder}/size"), "a size such as `8192K`", parse::cache_size)?;
        Ok(Some(Self {
            level,
            shared: sharers(tree, cpu, index, online)?,
            size: size.filter(|size| size.0 > 0),
            ways: ways.map(Ways),
            id: files::small_number(tree, &format!("{folder}/id"))?,
            index,
            indexes,
        }))
    }

    /// Whether the kernel made the cache up: its size is unknown, and CPUs of several nodes share
    /// it.
    fn is_a_guess(&self, node_of: &BTreeMap<CpuId, NodeId>) -> bool {
        let nodes: BTreeSet<_> = self.shared.iter().filter_map(|cpu| node_of.get(&cpu)).collect();
        self.size.is_none() && nodes.len() > 1
    }

    /// Whether a CPU that this LLC names has the same caches and names the same sharers itself.
    fn confirms(&self, tree: &Tree, cpu: CpuId, indexes: &[u32], online: &CpuSet) -> Result<bool, LinuxError> {
        Ok(self.indexes == indexes && sharers(tree, cpu, self.index, online)? == self.shared)
    }
}

/// The number of ways. The kernel's figure is 0 for full associativity, and also if the firmware
/// does not say (`drivers/base/cacheinfo.c`); full associativity of an AMD cache is 65535
/// (`amd_cpuid4`).
fn associativity(tree: &Tree, folder: &str) -> Result<Option<u32>, LinuxError> {
    let ways = |text: &str| parse::decimal(text).and_then(|ways| u16::try_from(ways).ok()).map(u32::from);
    files::value(tree, &format!("{folder}/ways_of_associativity"), "a number of ways from 0 to 65535", ways)
}

fn folder(cpu: CpuId, index: u32) -> String {
    format!("{}/cache/index{index}", cpus::folder(cpu))
}

/// The level of a cache, if it holds data.
fn data_level(tree: &Tree, folder: &str) -> Result<Option<u32>, LinuxError> {
    let kind = tree.read(&format!("{folder}/type"))?;
    if !kind.is_some_and(|kind| matches!(kind.trim(), "Data" | "Unified")) {
        return Ok(None);
    }
    files::small_number(tree, &format!("{folder}/level"))
}

/// The online CPUs that share a cache; the CPU itself always does.
fn sharers(tree: &Tree, cpu: CpuId, index: u32, online: &CpuSet) -> Result<CpuSet, LinuxError> {
    let given = files::cpus(tree, &folder(cpu, index), "shared_cpu_list", "shared_cpu_map")?;
    let mut shared = given.unwrap_or_default().intersection(online);
    shared.insert(cpu);
    Ok(shared)
}

/// Numbers the groups that firmware describes, in the order of their first CPU.
fn number(groups: &[Group], group_of: &BTreeMap<CpuId, usize>, node_of: &BTreeMap<CpuId, NodeId>) -> Caches {
    let described = || groups.iter().enumerate().filter(|(_, group)| !group.is_a_guess(node_of));
    let kernel: Option<Vec<u32>> = described().map(|(_, group)| group.id).collect();
    let distinct = kernel.filter(|ids| ids.iter().collect::<BTreeSet<_>>().len() == ids.len());
    let ids = distinct.unwrap_or_else(|| (0..).take(described().count()).collect());
    let ids: BTreeMap<usize, LlcId> = described().map(|(index, _)| index).zip(ids.into_iter().map(LlcId)).collect();
    let llc = |(index, &id): (&usize, &LlcId)| {
        let Group { level, size, ways, .. } = groups[*index];
        Llc { id, level, size, ways }
    };
    Caches {
        llcs: ids.iter().map(llc).collect(),
        of_cpu: group_of.iter().filter_map(|(&cpu, index)| Some((cpu, *ids.get(index)?))).collect(),
    }
}
