//! Defines what a machine requires of its sensors, so that the machine's tests need no kernel.

use super::Sampled;
use crate::kernel::page_range::PageRange;
use isobar_model::{Pid, Sample, Tid, Topology};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The sensors, as the machine needs them.
pub trait Sensing {
    /// The error for sensors that cannot read at all.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Reads every sensor; see [`isobar_model::Machine::sample`].
    ///
    /// # Errors
    /// If the machine cannot be read at all.
    fn sample(&mut self) -> Result<Sample, Self::Error>;

    /// Data addresses that a thread (or, without `tid`, the busiest threads of the process) touched
    /// since the last call, most recent first. The first call opens the samplers and finds none.
    fn sampled_addresses(&mut self, pid: Pid, tid: Option<Tid>) -> Sampled;

    /// Where the pages are that a process accessed recently, those accessed most first. `None`:
    /// none is known to be accessed, or accesses are not watched.
    fn accessed(&self, _pid: Pid) -> Option<Vec<PageRange>> {
        None
    }

    /// From now on only these processes are looked at for accessed pages.
    fn see_accesses_of(&mut self, _pids: &BTreeSet<Pid>) {}

    /// Reports that pages of a process were moved, or were not where a sample had seen them. The
    /// last reading of them no longer counts, and they are read again in the next sample.
    fn pages_moved(&mut self, pid: Pid);

    /// Takes the new topology after CPUs came or went.
    fn set_topology(&mut self, topology: Arc<Topology>);
}
