//! A workload: which programs run together on which machine, how often, and in what steps.
//! `file.rs` reads it.

mod entry;
mod file;

use crate::machine::MachineSpec;
use crate::program::Program;
use isobar_model::{Cgroup, CpuId, LlcId, NodeId, NodeWeight};
use serde::Deserialize;
use std::sync::Arc;

/// A workload, ready to run.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The machine.
    pub machine: Arc<MachineSpec>,
    /// The applications, one for each copy.
    pub apps: Vec<App>,
    /// How it runs.
    pub run: Run,
}

/// One application of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct App {
    /// The program's name, with `.1`, `.2` where there are several copies.
    pub name: String,
    /// The program.
    pub program: Arc<Program>,
    /// The control group that it runs in.
    pub cgroup: Option<Arc<Cgroup>>,
    /// Its threads.
    pub threads: u32,
    /// The node on whose CPUs it starts; `None`: any node.
    pub start_node: Option<NodeId>,
    /// Whether its owner pinned it to the CPUs of that node. Otherwise the stock scheduler moves
    /// threads to emptier nodes at once.
    pub pinned: bool,
    /// The CPU on which its first thread starts; the next threads follow by number.
    pub cpu: Option<CpuId>,
    /// The node that holds its memory, which NUMA balancing leaves alone: huge pages that were
    /// reserved there. `None`: its memory is where its threads first touch it.
    pub memory_node: Option<NodeId>,
    /// The nodes that its memory is spread over, with their weights, as
    /// `numactl --weighted-interleave` starts a program; empty: as `memory_node` says.
    pub spread: Vec<NodeWeight>,
    /// Where in its phases it starts, as a fraction of their cycle.
    pub phase_offset: f64,
    /// The last-level caches on which its threads start; `None` leaves them to the stock scheduler.
    pub seats: Option<LlcAssignment>,
    /// The job whose processes it waits for; `None`: it waits for no job.
    pub job: Option<Job>,
}

/// A job: processes that wait for each other. At each barrier every thread of every process of the
/// job waits for the last, on its CPU, and all processes end together.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The name, which is the same for all that wait for each other.
    pub name: String,
    /// Instructions of each thread between two barriers, in billions. Every process of a job has as
    /// many barriers as the process that has the most.
    pub barrier_billion: f64,
}

/// The last-level caches of an application's threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlcAssignment {
    /// One for each thread.
    pub llcs: Vec<LlcId>,
    /// Whether every run starts there, whatever the load. Otherwise only the first run does; later
    /// runs start where the stock scheduler finds the least load, and prefer these caches among
    /// equals.
    pub keep: bool,
}

/// How a workload runs.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// Completed runs of every application after which the workload ends; an application that is
    /// done early restarts.
    pub runs: u32,
    /// Whether an application that has had its runs starts again until all have; otherwise it is
    /// gone.
    pub restart: bool,
    /// Factor on the instructions of every program, to shorten a run.
    pub instructions_factor: f64,
    /// The longest step of the simulation. Ends of phases and programs also end a step.
    pub step_seconds: f64,
    /// How often a policy decides.
    pub epoch_seconds: f64,
    /// The simulated time at which the workload ends at the latest.
    pub max_seconds: f64,
    /// Threads below this share of a CPU are visible to a policy but are not managed. Threads that
    /// share a CPU have equal shares of it, so that eleven on each CPU need a value below 10 here.
    pub min_cpu_percent: f64,
    /// Whether the kernel moves pages to the threads that use them (`kernel.numa_balancing`). Off
    /// by default: the kernels of the papers' machines (2.6.29, 2.6.30) had no NUMA balancing;
    /// later kernels have it on.
    pub numa_balancing: bool,
    /// The run of each application whose time counts, numbered from 1, such as the second (DINO,
    /// section 3.2); `None`: the mean of all runs.
    pub judged_run: Option<u32>,
    /// Which costs of acting are charged.
    pub costs: Costs,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            runs: 3,
            restart: true,
            instructions_factor: 1.0,
            step_seconds: 0.1,
            epoch_seconds: 1.0,
            max_seconds: 36_000.0,
            min_cpu_percent: 10.0,
            numa_balancing: false,
            judged_run: None,
            costs: Costs::default(),
        }
    }
}

/// Which costs are charged; by default all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Moving pages takes the time and the bandwidth of their copies; otherwise they arrive at
    /// once.
    pub page_copies: bool,
    /// A process whose pages move loses time to TLB shootdowns.
    pub shootdowns: bool,
    /// A thread that moves to another last-level cache misses until its lines are there again.
    pub cold_caches: bool,
}

impl Default for Costs {
    fn default() -> Self {
        Self { page_copies: true, shootdowns: true, cold_caches: true }
    }
}

impl Workload {
    /// The workload of one application alone, with its memory where it runs: the reference for
    /// slowdowns. It waits for no job, and no thread strays.
    #[must_use]
    pub fn alone(&self, app: &App) -> Self {
        let first = self.machine.topology.cpus().first().map(|cpu| cpu.id);
        let app = App {
            start_node: None,
            pinned: false,
            memory_node: None,
            spread: Vec::new(),
            cpu: first,
            seats: None,
            job: None,
            ..app.clone()
        };
        let machine = match self.machine.strays() {
            Some(_) => Arc::new(MachineSpec::clone(&self.machine).with_strays(0.0)),
            None => Arc::clone(&self.machine),
        };
        Self { machine, apps: vec![app], run: Run { runs: 1, judged_run: None, ..self.run } }
    }

    /// The same workload with barriers `factor` times as far apart, because their distance is an
    /// estimate.
    #[must_use]
    pub fn with_barrier_factor(mut self, factor: f64) -> Self {
        let jobs = self.apps.iter_mut().filter_map(|app| app.job.as_mut());
        jobs.for_each(|job| job.barrier_billion *= factor);
        self
    }
}
