//! What a pattern needs to know of a process that no observation has.

use super::Cgroups;
use isobar_model::Pid;

/// Look-ups on the machine. By default nothing is known.
#[derive(Clone, Copy)]
pub struct Lookups<'a> {
    /// The cgroups of a process.
    pub cgroups: &'a dyn Fn(Pid) -> Option<Cgroups>,
    /// Whether a process is another one, or was started by it, directly or through others.
    pub descends: &'a dyn Fn(Pid, Pid) -> bool,
}

impl Default for Lookups<'_> {
    fn default() -> Self {
        Self { cgroups: &|_| None, descends: &|pid, from| pid == from }
    }
}
