//! Reads which CPUs are online, and which of them are threads of one core
//! (`Documentation/admin-guide/cputopology.rst`).

use crate::kernel::files;
use crate::kernel::parse;
use crate::kernel::tree::{LinuxError, Tree};
use isobar_model::cpuset::MAX_CPU;
use isobar_model::{CoreId, CpuId, CpuSet};
use std::collections::BTreeMap;

/// The folder of a CPU.
pub(super) fn folder(cpu: CpuId) -> String {
    format!("{FOLDER}/cpu{cpu}")
}

const FOLDER: &str = "sys/devices/system/cpu";

/// The online CPUs: from the `online` list; without one, every `cpuN` folder whose own `online`
/// file does not say 0. The first CPU often has no such file, because it cannot go offline.
pub(super) fn online(tree: &Tree) -> Result<CpuSet, LinuxError> {
    let list = format!("{FOLDER}/online");
    if let Some(cpus) = files::value(tree, &list, "a list of CPUs such as `0-3,8`", parse::cpu_list)? {
        return Ok(cpus);
    }
    let mut cpus = CpuSet::new();
    for cpu in files::numbered(tree, FOLDER, "cpu")?.into_iter().filter(|cpu| *cpu <= MAX_CPU).map(CpuId) {
        if files::number(tree, &format!("{}/online", folder(cpu)))? != Some(0) {
            cpus.insert(cpu);
        }
    }
    Ok(cpus)
}

/// The core of each online CPU: the lowest online CPU among its SMT siblings, or the CPU itself if
/// the kernel does not say.
pub(super) fn cores(tree: &Tree, online: &CpuSet) -> Result<BTreeMap<CpuId, CoreId>, LinuxError> {
    let mut cores = BTreeMap::new();
    for cpu in online.iter() {
        if cores.contains_key(&cpu) {
            continue;
        }
        let siblings = siblings(tree, cpu)?.unwrap_or_default().intersection(online);
        for sibling in siblings.iter().chain([cpu]) {
            cores.entry(sibling).or_insert(CoreId(cpu.0));
        }
    }
    Ok(cores)
}

/// The SMT siblings of a CPU. `thread_siblings` is the older name of `core_cpus`; recent kernels
/// have both.
fn siblings(tree: &Tree, cpu: CpuId) -> Result<Option<CpuSet>, LinuxError> {
    let topology = format!("{}/topology", folder(cpu));
    match files::cpus(tree, &topology, "thread_siblings_list", "thread_siblings")? {
        Some(cpus) => Ok(Some(cpus)),
        None => files::cpus(tree, &topology, "core_cpus_list", "core_cpus"),
    }
}
