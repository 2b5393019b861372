//! The test bench of an assertion: the machine, subjects to watch and move, and the truth about
//! them where there is a second witness. Implemented once for each machine, in the tests of this
//! crate.

use crate::verdict::Stop;
use isobar_model::{CpuId, CpuSet, LlcId, Machine, NodeId, NodeMap, Pages, Pid, Seconds, Tid, Topology};
use std::sync::Arc;

/// A maker of machines with subjects on them. Every assertion opens its own.
pub trait Bench {
    /// What it makes.
    type Stage: Stage;

    /// The real topology, from a source other than [`Machine`].
    ///
    /// # Errors
    /// [`Stop`] where it cannot be found out.
    fn topology(&self) -> Result<Arc<Topology>, Stop>;

    /// The CPUs that subjects may use.
    ///
    /// # Errors
    /// [`Stop`] where they cannot be found out.
    fn cpus(&self) -> Result<CpuSet, Stop>;

    /// A machine at rest with these subjects running: each has touched its memory, none has been
    /// moved.
    ///
    /// # Errors
    /// [`Stop::Lacks`] where this machine cannot have such a subject; [`Stop::Fails`] where it did
    /// not start.
    fn open(&self, subjects: &[Subject]) -> Result<Self::Stage, Stop>;
}

/// A program to be watched and moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Threads that work. The process may have others, which only wait.
    pub threads: u32,
    /// Memory that it touches at its start, all of it on `node`, and does not touch again: nothing
    /// but a plan moves it.
    pub mib: u32,
    /// Where its memory is.
    pub node: NodeId,
    /// Whether its threads compute all the time, or sleep.
    pub busy: bool,
    /// How long it runs.
    pub life: Life,
}

/// How long a subject runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Longer than any assertion.
    Long,
    /// Until [`Stage::replace`], and for ten epochs at least.
    Short,
}

/// The ids of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its process.
    pub pid: Pid,
    /// The threads that work, ascending.
    pub threads: Vec<Tid>,
}

/// A machine with subjects on it; both end with it.
pub trait Stage {
    /// The machine.
    type Machine: Machine;

    /// The machine.
    fn machine(&mut self) -> &mut Self::Machine;

    /// A time in which a busy thread shows in a sample.
    fn epoch(&self) -> Seconds;

    /// The present ids of the subject with this number in the list.
    ///
    /// # Errors
    /// [`Stop`] where there is no such subject.
    fn identity(&mut self, subject: usize) -> Result<Identity, Stop>;

    /// Ends a subject, and starts another like it.
    ///
    /// # Errors
    /// [`Stop::Fails`] where it does not end, or the other does not start.
    fn replace(&mut self, subject: usize) -> Result<(), Stop>;

    /// Narrows a thread's affinity, as its owner would: behind the machine's back.
    ///
    /// # Errors
    /// [`Stop::Lacks`] where threads have no owner.
    fn pin(&mut self, tid: Tid, cpus: &CpuSet) -> Result<(), Stop>;

    /// The CPUs that a thread may run on now, by another witness than the machine; `None` where
    /// there is none, or the thread has ended.
    fn affinity(&mut self, pid: Pid, tid: Tid) -> Option<CpuSet>;

    /// The CPU that a thread last ran on, by another witness; `None` as in [`Stage::affinity`].
    fn cpu(&mut self, pid: Pid, tid: Tid) -> Option<CpuId>;

    /// Resident pages by node, by another witness; `None` as in [`Stage::affinity`].
    fn pages(&mut self, pid: Pid) -> Option<NodeMap<Pages>>;

    /// The ways of an LLC that a thread may fill there, by another witness; `None` as in
    /// [`Stage::affinity`].
    fn ways(&mut self, llc: LlcId, tid: Tid) -> Option<u64>;
}

impl Subject {
    /// A busy subject with this number of threads and a little memory on a node.
    #[must_use]
    pub const fn busy(threads: u32, node: NodeId) -> Self {
        Self { threads, mib: 1, node, busy: true, life: Life::Long }
    }

    /// The same with this much memory.
    #[must_use]
    pub const fn with_mib(self, mib: u32) -> Self {
        Self { mib, ..self }
    }

    /// The same with a life that [`Stage::replace`] can end.
    #[must_use]
    pub const fn short(self) -> Self {
        Self { life: Life::Short, ..self }
    }

    /// The same, sleeping.
    #[must_use]
    pub const fn idle(self) -> Self {
        Self { busy: false, ..self }
    }

    /// Base pages of 4 KiB that its memory has.
    #[must_use]
    pub fn pages(&self) -> u64 {
        u64::from(self.mib) * 256
    }
}
