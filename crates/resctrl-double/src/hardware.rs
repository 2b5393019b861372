//! The seam to what groups do beside being shown in files: without it nothing, as in tests; with it
//! whatever has classes that fill ways and count, such as an emulated machine. It knows RMIDs,
//! domains, tasks and CPUs, and nothing of groups' names and files.

use std::collections::BTreeMap;

use crate::machine::Event;

/// What is to be in force. CLOSIDs do not appear: each RMID belongs to one group, and so has the
/// ways of that group's CLOSID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allocation {
    /// The ways that each RMID that a group has may fill, by RMID and domain.
    pub masks: BTreeMap<(u32, u32), u32>,
    /// RMIDs of tasks that are not in the default group.
    pub tasks: BTreeMap<u32, u32>,
    /// RMIDs of CPUs where they are not 0. Tasks of the default group have that of their CPU
    /// (`__resctrl_sched_in`).
    pub cpus: BTreeMap<u32, u32>,
}

/// What carries out what is allocated, and counts.
pub trait Hardware: Send {
    /// Takes this over, whole; it should be in force on return. Called after each operation that
    /// changed something, while all other operations wait.
    fn allocate(&mut self, wanted: &Allocation);

    /// Bytes of an event that an RMID has in a domain: in the cache now, or moved since any moment
    /// in the past that stays the same; `None` is shown as `Unavailable`.
    fn count(&self, event: Event, rmid: u32, domain: u32) -> Option<u64>;
}
