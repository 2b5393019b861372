//! The test bench of an assertion: the machine, subjects to watch and move, and the truth about
//! them if there is a second witness. Each machine implements the bench once, in the tests of this
//! crate.

use crate::verdict::Stop;
use isobar_model::{CpuId, CpuSet, LlcId, Machine, NodeId, NodeMap, Pages, Pid, Seconds, Tid, Topology};
use std::sync::Arc;

/// Makes machines with subjects on them. Every assertion opens a machine of its own.
pub trait Bench {
    /// The machine with its subjects.
    type Stage: Stage;

    /// The real topology, from a source other than [`Machine`].
    ///
    /// # Errors
    /// [`Stop`] if it cannot be determined.
    fn topology(&self) -> Result<Arc<Topology>, Stop>;

    /// The CPUs that subjects may use.
    ///
    /// # Errors
    /// [`Stop`] if they cannot be determined.
    fn cpus(&self) -> Result<CpuSet, Stop>;

    /// A machine at rest with these subjects running: each has touched its memory, none has been
    /// moved.
    ///
    /// # Errors
    /// [`Stop::Lacks`] if this machine cannot have such a subject; [`Stop::Fails`] if it did not
    /// start.
    fn open(&self, subjects: &[Subject]) -> Result<Self::Stage, Stop>;
}

/// A program to be watched and moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Threads that work. The process may have other threads, which only wait.
    pub threads: u32,
    /// Memory in MiB. The subject touches all of it on `node` at its start and never again, so that
    /// only a plan moves it.
    pub mib: u32,
    /// Where its memory is.
    pub node: NodeId,
    /// What its threads do.
    pub work: Work,
    /// How long it runs.
    pub life: Life,
}

/// What the threads of a subject do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// They sleep.
    None,
    /// They use a fourth of a CPU at most, and show in every sample. All computing is slow on an
    /// emulated machine.
    Some,
    /// They compute all the time.
    Constant,
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

/// A machine with subjects on it. The machine and the subjects end with the stage.
pub trait Stage {
    /// The machine.
    type Machine: Machine;

    /// The machine.
    fn machine(&mut self) -> &mut Self::Machine;

    /// A time in which a busy thread shows in a sample.
    fn epoch(&self) -> Seconds;

    /// The present ids of the subject with this index in the list given to [`Bench::open`].
    ///
    /// # Errors
    /// [`Stop`] if there is no such subject.
    fn identity(&mut self, subject: usize) -> Result<Identity, Stop>;

    /// Ends a subject, and starts another like it.
    ///
    /// # Errors
    /// [`Stop::Fails`] if the subject does not end, or the other does not start.
    fn replace(&mut self, subject: usize) -> Result<(), Stop>;

    /// Narrows a thread's affinity, as its owner would, without the machine's knowledge.
    ///
    /// # Errors
    /// [`Stop::Lacks`] if threads have no owner.
    fn pin(&mut self, tid: Tid, cpus: &CpuSet) -> Result<(), Stop>;

    /// The CPUs that a thread may run on now, from a witness other than the machine; `None` if
    /// there is no other witness, or the thread has ended.
    fn affinity(&mut self, pid: Pid, tid: Tid) -> Option<CpuSet>;

    /// The CPU that a thread last ran on, from the other witness; `None` as in [`Stage::affinity`].
    fn cpu(&mut self, pid: Pid, tid: Tid) -> Option<CpuId>;

    /// Resident pages by node, from the other witness; `None` as in [`Stage::affinity`].
    fn pages(&mut self, pid: Pid) -> Option<NodeMap<Pages>>;

    /// The ways of an LLC that a thread may fill there, from the other witness; `None` as in
    /// [`Stage::affinity`].
    fn ways(&mut self, llc: LlcId, tid: Tid) -> Option<u64>;
}

impl Subject {
    /// A busy subject with this number of threads and a little memory on a node.
    #[must_use]
    pub const fn busy(threads: u32, node: NodeId) -> Self {
        Self { threads, mib: 1, node, work: Work::Some, life: Life::Long }
    }

    /// The same subject, computing all the time.
    #[must_use]
    pub const fn constantly(self) -> Self {
        Self { work: Work::Constant, ..self }
    }

    /// The same subject with this much memory.
    #[must_use]
    pub const fn with_mib(self, mib: u32) -> Self {
        Self { mib, ..self }
    }

    /// The same subject with a life that [`Stage::replace`] can end.
    #[must_use]
    pub const fn short(self) -> Self {
        Self { life: Life::Short, ..self }
    }

    /// The same subject, sleeping.
    #[must_use]
    pub const fn idle(self) -> Self {
        Self { work: Work::None, ..self }
    }

    /// Number of base pages (4 KiB) in its memory.
    #[must_use]
    pub fn pages(&self) -> u64 {
        u64::from(self.mib) * 256
    }
}
