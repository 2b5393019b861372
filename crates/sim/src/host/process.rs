//! A running process of the simulated machine: its threads, their progress, and what their counters
//! have counted.

use super::allocation::Allocation;
use super::gate::Gate;
use super::memory::Memory;
use crate::workload::App;
use isobar_model::{CpuId, CpuSet, Pid, Tid, num};

/// The largest fraction of a step in which a thread pays what it owes, so that every run ends.
const MOST_PAID: f64 = 0.9;

/// A process: one run of an application.
#[derive(Clone, Debug)]
pub(super) struct Process {
    /// The position of its application in the workload.
    pub app: usize,
    pub pid: Pid,
    /// Simulated seconds at its start.
    pub start: f64,
    pub threads: Vec<Thread>,
    pub memory: Memory,
    /// Where new pages go.
    pub allocation: Allocation,
    /// LLC misses of each thread at the last sample; `None` before the first.
    pub looked: Option<Vec<f64>>,
    /// Whether it ended and was not started again.
    pub gone: bool,
    /// Where the last page migration went, and when it was asked for.
    pub migrating: Option<(usize, f64)>,
}

/// Where a plan lets a thread run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Hold {
    /// Anywhere: no plan has bound it.
    Free,
    /// On its present CPU only.
    Cpu,
    /// Among several CPUs.
    Among {
        cpus: CpuSet,
        /// Whether all CPUs of its cache are among them.
        whole_cache: bool,
    },
}

/// A thread.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub tid: Tid,
    pub cpu: CpuId,
    /// The CPUs that its owner pinned it to.
    pub pinned: Option<CpuSet>,
    /// Where a plan lets it run.
    pub hold: Hold,
    /// Instructions to execute in this run, and those executed.
    pub goal: f64,
    pub done: f64,
    /// Instruction in the cycle of phases at which it began.
    pub offset: f64,
    /// Bytes that it holds of its LLC.
    pub occupancy: f64,
    pub cycles: f64,
    pub misses: f64,
    /// Number of its LLC lookups, in lines.
    pub looks: f64,
    pub bytes: f64,
    pub cpu_seconds: f64,
    /// Seconds that it still has to lose to the kernel or to a cold cache.
    pub owed: f64,
    /// The barrier at which it waits next; `None` if it no longer waits.
    pub gate: Option<Gate>,
    /// Instructions executed while it waited.
    pub spun: f64,
}

impl Process {
    /// A process about to start; its threads are not placed yet.
    pub fn new(app: &App, index: usize, pid: Pid, start: f64, nodes: usize, factor: f64) -> Self {
        let goal = app.program.instructions_billion * 1e9 * factor / f64::from(app.threads);
        let offset = app.program.cycle().unwrap_or(0.0) * app.phase_offset;
        let thread = |number: u32| Thread {
            tid: Tid(pid.0 + number),
            cpu: CpuId(0),
            pinned: None,
            hold: Hold::Free,
            goal,
            done: 0.0,
            offset,
            occupancy: 0.0,
            cycles: 0.0,
            misses: 0.0,
            looks: 0.0,
            bytes: 0.0,
            cpu_seconds: 0.0,
            owed: 0.0,
            gate: None,
            spun: 0.0,
        };
        let memory = Memory::new(&app.program, app.threads, nodes);
        let threads = (0..app.threads).map(thread).collect();
        Self {
            app: index,
            pid,
            start,
            threads,
            memory,
            allocation: Allocation::default(),
            looked: None,
            gone: false,
            migrating: None,
        }
    }

    /// Whether every thread has executed its instructions.
    pub fn ended(&self) -> bool {
        self.threads.iter().all(Thread::ended)
    }

    /// The fraction of the run that is done.
    pub fn progress(&self) -> f64 {
        let parts: f64 = self.threads.iter().map(|thread| thread.done / thread.goal).sum();
        parts / num::float_len(self.threads.len())
    }
}

impl Thread {
    /// Whether a plan has bound the thread.
    pub fn is_bound(&self) -> bool {
        self.hold != Hold::Free
    }

    /// Whether the kernel may not balance the thread over all CPUs of its cache.
    pub const fn stays(&self) -> bool {
        matches!(self.hold, Hold::Cpu | Hold::Among { whole_cache: false, .. })
    }

    /// Whether the kernel may move the thread to a CPU.
    pub fn may_go_to(&self, cpu: CpuId) -> bool {
        let held = match &self.hold {
            Hold::Free => true,
            Hold::Cpu => cpu == self.cpu,
            Hold::Among { cpus, .. } => cpus.contains(cpu),
        };
        held && self.pinned.as_ref().is_none_or(|cpus| cpus.contains(cpu))
    }

    /// What is left of some seconds after the thread has paid what it owes. It always keeps some
    /// time.
    pub fn pay(&mut self, seconds: f64) -> f64 {
        let paid = self.owed.min(seconds * MOST_PAID);
        self.owed -= paid;
        seconds - paid
    }

    /// Whether the thread has executed its instructions, and so have all that it waits for. It then
    /// no longer runs.
    pub fn ended(&self) -> bool {
        self.done >= self.goal && self.gate.is_none()
    }
}
