//! The interface to the effects of groups, beyond their files. Without hardware there are none, as
//! in tests. With it, something whose classes fill ways and count carries them out, such as an
//! emulated machine. This file knows RMIDs, domains, tasks and CPUs, and nothing of groups' names
//! and files.

use std::collections::BTreeMap;

use crate::machine::Event;

/// The allocation to be put into force. CLOSIDs do not appear: each RMID belongs to one group, and
/// has the ways of that group's CLOSID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allocation {
    /// The ways that each RMID of a group may fill, by RMID and domain.
    pub masks: BTreeMap<(u32, u32), u32>,
    /// RMIDs of tasks that are not in the default group.
    pub tasks: BTreeMap<u32, u32>,
    /// RMIDs of CPUs if they are not 0. Tasks of the default group have the RMID of their CPU
    /// (`__resctrl_sched_in`).
    pub cpus: BTreeMap<u32, u32>,
}

/// Carries out the allocation, and counts.
pub trait Hardware: Send {
    /// Replaces the whole allocation, which should be in force on return. Called after each
    /// operation that changed something, while all other operations wait.
    fn allocate(&mut self, wanted: &Allocation);

    /// Bytes of an event that an RMID has in a domain: in the cache now, or moved since some fixed
    /// moment in the past; `None` is shown as `Unavailable`.
    fn count(&self, event: Event, rmid: u32, domain: u32) -> Option<u64>;
}
