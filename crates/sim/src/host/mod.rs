//! The simulated host. It runs a workload on the stock scheduler, is observed and changed through
//! the [`Machine`] seam, and keeps the ground truth (completion times) for the report.

mod actuators;
mod allocation;
mod balancing;
mod copies;
mod costs;
mod evening;
mod gate;
mod jobs;
mod linux;
mod memory;
mod probes;
mod process;
mod rotation;
mod sensors;
mod siblings;
mod step;
mod strays;
#[cfg(test)]
mod tests;
mod undo;
mod ways;

pub(crate) use step::{SWITCHED, private_bytes};

use crate::error::SimError;
use crate::report::{RunReport, Totals};
use crate::workload::{App, Workload};
use allocation::Allocation;
use isobar_contention::Solver;
use isobar_model::{
    Action, ActionOutcome, Capabilities, CpuSet, LlcId, Machine, Outcome, Pid, Plan, Sample, Seconds, Sensor, Tid, Wake,
};
use process::{Hold, Process};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::sync::Arc;

/// First process id; the next process starts after the last thread of the one before.
const FIRST_PID: u32 = 1000;

/// A simulated machine.
#[derive(Clone, Debug)]
pub struct SimMachine {
    workload: Workload,
    rng: ChaCha8Rng,
    /// Simulated seconds.
    now: f64,
    processes: Vec<Process>,
    /// What NUMA balancing knows about each process, by position; no entry before it first reads
    /// one.
    balancing: BTreeMap<usize, balancing::Balancing>,
    next_pid: u32,
    /// Pages that are being moved.
    copies: copies::Copies,
    totals: Vec<Totals>,
    capabilities: Arc<Capabilities>,
    clusters: ways::Clusters,
    /// The thread to which each rate of the solver's answer belongs.
    running: Vec<step::Runner>,
    solver: Solver,
    /// Whether anything except a phase changed since the solver's answer.
    changed: bool,
    /// Whether a phase changed since then.
    stirred: bool,
    probes: probes::Probes,
    strays: strays::Strays,
    jobs: Vec<jobs::Job>,
}

impl SimMachine {
    /// A machine at time 0 with every application started. The same workload and seed give the same
    /// run, to the last bit, on any machine.
    #[must_use]
    pub fn new(workload: &Workload, seed: u64) -> Self {
        let mut machine = Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            now: 0.0,
            processes: Vec::new(),
            balancing: BTreeMap::new(),
            next_pid: FIRST_PID,
            copies: copies::Copies::default(),
            totals: vec![Totals::default(); workload.apps.len()],
            capabilities: Arc::new(capabilities(workload)),
            clusters: ways::Clusters::default(),
            running: Vec::new(),
            solver: Solver::default(),
            changed: true,
            stirred: false,
            probes: probes::Probes::new(seed),
            strays: strays::Strays::new(seed),
            jobs: jobs::jobs(workload),
            workload: workload.clone(),
        };
        machine.start_all();
        machine.balance();
        machine
    }

    /// The seconds that an application of a workload takes alone on the machine, with its memory
    /// where it runs; `None` if it does not complete in `run.max_seconds`.
    ///
    /// # Errors
    /// [`SimError::NoAnswer`].
    pub fn alone_seconds(workload: &Workload, app: &App) -> Result<Option<f64>, SimError> {
        let mut machine = Self::new(&workload.alone(app), 0);
        machine.advance(workload.run.max_seconds)?;
        Ok(machine.totals[0].completions.first().copied())
    }

    /// The interval at which the workload wants a policy to decide.
    #[must_use]
    pub fn epoch(&self) -> Seconds {
        Seconds(self.workload.run.epoch_seconds)
    }

    /// The CPUs that a thread may run on, as the scheduler knows them: a sample reports only what
    /// owners want. A second witness for tests; `None` if there is no such thread.
    #[must_use]
    pub fn affinity(&self, pid: Pid, tid: Tid) -> Option<CpuSet> {
        let process = self.processes.iter().find(|process| process.pid == pid)?;
        let thread = process.threads.iter().find(|thread| thread.tid == tid)?;
        let online = self.workload.machine.topology.online();
        Some(match &thread.hold {
            Hold::Free => thread.pinned.as_ref().unwrap_or(online).clone(),
            Hold::Cpu => [thread.cpu].into_iter().collect(),
            Hold::Among { cpus, .. } => cpus.clone(),
        })
    }

    /// The ways of an LLC that a thread may fill there, as bits. A second witness for tests, like
    /// [`Self::affinity`]; `None` if there is no such LLC or thread.
    #[must_use]
    pub fn ways(&self, llc: LlcId, tid: Tid) -> Option<u64> {
        let machine = &self.workload.machine;
        let position = machine.topology.llcs().iter().position(|other| other.id == llc)?;
        let is_there = self.processes.iter().flat_map(|process| &process.threads).any(|thread| thread.tid == tid);
        is_there.then(|| self.clusters.part(machine.memory.llcs()[position], position, tid).mask)
    }

    /// The results of each application so far.
    #[must_use]
    pub fn report(&self) -> RunReport {
        let apps = self.workload.apps.iter().zip(&self.totals);
        RunReport {
            seconds: self.now,
            apps: apps.map(|(app, totals)| totals.report(app, &self.workload.run)).collect(),
        }
    }

    /// Whether every application has had its runs, or the time is up.
    fn ended(&self) -> bool {
        let run = &self.workload.run;
        let enough = |totals: &Totals| totals.completions.len() >= isobar_model::num::index(run.runs);
        self.totals.iter().all(enough) || self.now >= run.max_seconds
    }

    /// Starts a new process in the place of one that ended.
    fn restart(&mut self, index: usize, app: usize) {
        self.processes[index] = self.fresh(app);
        self.balancing.remove(&index);
        self.settle_in(index);
    }

    fn fresh(&mut self, app: usize) -> Process {
        let spec = &self.workload.apps[app];
        let pid = Pid(self.next_pid);
        self.next_pid = self.next_pid.wrapping_add(spec.threads);
        let nodes = self.workload.machine.pages.len();
        let mut process = Process::new(spec, app, pid, self.now, nodes, self.workload.run.instructions_factor);
        process.allocation = Allocation::of(spec, &self.workload.machine);
        if let (true, Some(node)) = (spec.pinned, spec.start_node) {
            let topology = &self.workload.machine.topology;
            let there = topology.cpus().iter().filter(|cpu| cpu.node == Some(node));
            let cpus: CpuSet = there.map(|cpu| cpu.id).collect();
            process.threads.iter_mut().for_each(|thread| thread.pinned = Some(cpus.clone()));
        }
        if let Some(job) = self.job_of(app) {
            process.join(&self.jobs[job]);
        }
        process
    }

    /// The position of the running process with an id.
    fn position(&self, pid: Pid) -> Option<usize> {
        self.processes.iter().position(|process| process.pid == pid && !process.gone)
    }

    fn settle_in(&mut self, index: usize) {
        self.place(index);
        self.touch(index);
        self.changed = true;
    }
}

fn capabilities(workload: &Workload) -> Capabilities {
    let mut missing = BTreeMap::new();
    let topology = &workload.machine.topology;
    if topology.nodes().len() < 2 {
        missing.insert(Sensor::SeveralNodes, "the simulated machine has one node".to_owned());
    }
    if topology.nodes().len() < 2 && topology.llcs().len() < 2 {
        missing.insert(Sensor::SeveralDomains, "the simulated machine has one memory domain".to_owned());
    }
    Capabilities { missing, ..Capabilities::default() }
}

impl Machine for SimMachine {
    /// The contention model has no answer, so the run ends.
    type Error = SimError;

    fn sample(&mut self) -> Result<Sample, SimError> {
        Ok(self.read())
    }

    fn apply(&mut self, plan: &Plan) -> Result<Outcome, SimError> {
        if self.ended() {
            let actions = plan.actions.iter().map(|_| actuators::left_alone("the workload has ended"));
            return Ok(Outcome { actions: actions.collect() });
        }
        self.copies.plans += 1;
        let actions = plan.actions.iter().map(|action| self.act(action)).collect();
        if self.changed {
            self.balance();
        }
        Ok(Outcome { actions })
    }

    fn undo(&mut self, action: &Action, outcome: &ActionOutcome) -> Result<ActionOutcome, SimError> {
        let done = self.take_back(action, outcome);
        self.balance();
        Ok(done)
    }

    fn wait(&mut self, interval: Seconds) -> Result<Wake, SimError> {
        self.advance(self.now + interval.0.max(0.0))?;
        Ok(if self.ended() { Wake::Ended } else { Wake::Elapsed })
    }

    /// One outcome for each page migration whose end no sample has reported.
    fn restore(&mut self) -> Result<Outcome, SimError> {
        self.processes.iter_mut().flat_map(|process| &mut process.threads).for_each(|thread| thread.hold = Hold::Free);
        for process in &mut self.processes {
            process.allocation = Allocation::of(&self.workload.apps[process.app], &self.workload.machine);
        }
        self.clusters.clear();
        let actions = self.copies.clear();
        self.changed = true;
        self.balance();
        Ok(Outcome { actions })
    }
}
