//! Finds what else places threads, pages, interrupts or cache ways on this machine: the kernel's
//! own balancers, daemons, settings of its owner. They are found from files below a folder (tests
//! have trees of their own) and from the names of processes. What each means for isobar is said in
//! one line.
//!
//! This module reads and never changes anything. `docs/coexistence.md` has the same as a table.

mod files;
mod remarks;
#[cfg(test)]
mod tests;
mod tuned;

pub use remarks::remarks;
pub use tuned::Tuned;

use isobar_model::CpuSet;
use std::collections::BTreeSet;
use std::path::Path;

/// Daemons that are recognised by the names of their processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Daemon {
    /// numad: sets affinities and moves whole processes.
    Numad,
    /// irqbalance: moves interrupts.
    Irqbalance,
    /// tuned: sets the kernel's switches by profile.
    Tuned,
}

impl Daemon {
    /// The daemon whose process has this name.
    #[must_use]
    pub fn called(name: &str) -> Option<Self> {
        match name {
            "numad" => Some(Self::Numad),
            "irqbalance" => Some(Self::Irqbalance),
            "tuned" => Some(Self::Tuned),
            _ => None,
        }
    }
}

/// The neighbours of isobar on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// `kernel.numa_balancing`: 0 off, 1 on, 2 memory tiering, 3 both.
    pub numa_balancing: Option<u32>,
    /// The name of the sched_ext scheduler that is active.
    pub sched_ext: Option<String>,
    /// Whether the kernel gathers threads of a process on one LLC.
    pub cache_aware: bool,
    /// CPUs that the kernel's balancer leaves alone (`isolcpus=`, isolated cpuset partitions).
    pub isolated: CpuSet,
    /// Groups of resctrl that are not isobar's.
    pub resctrl_groups: BTreeSet<String>,
    /// tuned's profile; it counts only while tuned runs.
    pub tuned: Option<Tuned>,
    /// Daemons that run.
    pub daemons: BTreeSet<Daemon>,
    /// Whether a process is confined to some CPUs by its cgroup.
    pub cpusets: bool,
}

impl Neighbours {
    /// What files below a folder say, `/` on a live machine; `resctrl` is its mount point below
    /// that folder. Daemons and cpusets are added by a caller that sees processes.
    #[must_use]
    pub fn read(root: &Path, resctrl: &Path) -> Self {
        Self {
            numa_balancing: files::number(&root.join("proc/sys/kernel/numa_balancing")),
            sched_ext: files::sched_ext(&root.join("sys/kernel/sched_ext")),
            cache_aware: files::cache_aware(&root.join("sys/kernel/debug/sched")),
            isolated: files::cpus(&root.join("sys/devices/system/cpu/isolated")),
            resctrl_groups: files::groups_of_others(&root.join(resctrl.strip_prefix("/").unwrap_or(resctrl))),
            tuned: Tuned::read(root),
            ..Self::default()
        }
    }
}
