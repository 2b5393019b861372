//! One `[[app]]` of a workload's file: checks it, and makes the applications that it describes.

use super::{App, Job, Run};
use crate::error::{SimError, within};
use crate::machine::MachineSpec;
use crate::program::{Library, Program, ProgramFile, SHORTEST_PHASE};
use isobar_model::{Cgroup, CpuId, NodeId, NodeWeight};
use serde::Deserialize;
use std::sync::Arc;

/// A million instructions, half a millisecond: with barriers closer than this, a run of a minute
/// would take hours.
const SHORTEST_BARRIER: f64 = 0.001;

/// More processes or threads than this are a mistake in the file.
pub(super) const MOST: u32 = 4096;

/// The entry as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AppEntry {
    program: Option<String>,
    program_file: Option<String>,
    measured_on: Option<String>,
    #[serde(default = "one")]
    pub(super) count: u32,
    pub(super) threads: Option<u32>,
    cgroup: Option<String>,
    cgroup_name: Option<String>,
    start_node: Option<NodeId>,
    #[serde(default)]
    pinned: bool,
    cpu: Option<CpuId>,
    memory_node: Option<NodeId>,
    #[serde(default)]
    spread: Vec<NodeWeight>,
    touch_share: Option<f64>,
    #[serde(default)]
    phase_stagger: f64,
    job: Option<String>,
    barrier_billion: Option<f64>,
}

const fn one() -> u32 {
    1
}

impl AppEntry {
    pub(super) fn validate(&self, file: &str, machine: &MachineSpec) -> Result<(), SimError> {
        for (key, count) in [("app.count", self.count), ("app.threads", self.threads.unwrap_or(1))] {
            within(file, key, f64::from(count), 1.0..=f64::from(MOST))?;
        }
        let spread = self.spread.iter().map(|to| ("app.spread", Some(to.node)));
        let nodes = [("app.start_node", self.start_node), ("app.memory_node", self.memory_node)];
        for (key, node) in nodes.into_iter().chain(spread).filter_map(|(key, node)| Some((key, node?))) {
            if machine.node_position(node).is_none() {
                return Err(SimError::value(file, key, format!("is {node}, but the machine has no such node")));
            }
        }
        if !self.spread.is_empty() && (self.memory_node.is_some() || self.spread.iter().all(|to| to.weight == 0)) {
            let problem = "needs a weight above 0, and cannot be given together with `memory_node`";
            return Err(SimError::value(file, "app.spread", problem));
        }
        let has_cpus = |node| machine.topology.cpus().iter().any(|cpu| cpu.node == Some(node));
        if self.pinned && (!self.start_node.is_some_and(has_cpus) || self.cpu.is_some()) {
            let problem = "needs `start_node`, the node to whose CPUs the program is pinned, and cannot be given \
                           together with `cpu`";
            return Err(SimError::value(file, "app.pinned", problem));
        }
        self.touch_share.map_or(Ok(()), |share| within(file, "app.touch_share", share, 0.0..=1.0))?;
        let cpu = self.cpu.filter(|cpu| machine.topology.cpu(*cpu).is_none());
        if let Some(cpu) = cpu {
            let online = machine.topology.online();
            return Err(SimError::value(file, "app.cpu", format!("is {cpu}; the machine has CPUs {online}")));
        }
        if self.cgroup.as_deref().is_some_and(|path| !path.starts_with('/')) {
            let problem = "must be a path that begins with `/`, such as /system.slice/redis.service";
            return Err(SimError::value(file, "app.cgroup", problem));
        }
        if self.cgroup.is_none() && self.cgroup_name.is_some() {
            let problem = "names a pod or container; give its path as `cgroup`, too";
            return Err(SimError::value(file, "app.cgroup_name", problem));
        }
        if !self.phase_stagger.is_finite() {
            return Err(SimError::value(file, "app.phase_stagger", "must be a number"));
        }
        Ok(())
    }

    /// The control group that it runs in.
    fn cgroup(&self) -> Option<Arc<Cgroup>> {
        let path = self.cgroup.clone()?;
        Some(Arc::new(Cgroup { path, name: self.cgroup_name.clone() }))
    }

    /// The program with the entry's name, or from its file.
    pub(super) fn program(
        &self,
        file: &str,
        library: &Library,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Arc<Program>, SimError> {
        let name = self.program.as_deref();
        if let Some(path) = &self.program_file {
            let unread = |why: String| SimError::value(file, "app.program_file", format!("names {path}: {why}"));
            let from = ProgramFile { path, text: &read(path).map_err(unread)? };
            return from.program(name, self.measured_on.as_deref()).map(Arc::new);
        }
        if self.measured_on.is_some() {
            return Err(SimError::value(
                file,
                "app.measured_on",
                "says where a `program_file` was measured; name that file",
            ));
        }
        let missing = || SimError::value(file, "app.program", "is missing: name a program, or a `program_file`");
        library.find(file, "app.program", name.ok_or_else(missing)?)
    }

    /// The program with its footprint growing as the entry says.
    pub(super) fn growing(&self, program: Arc<Program>) -> Arc<Program> {
        match self.touch_share {
            Some(touch_share) => Arc::new(Program { touch_share, ..Program::clone(&program) }),
            None => program,
        }
    }

    /// The job that its copies are part of: the job with the given name, or a job of their own.
    pub(super) fn job(&self, file: &str, number: usize) -> Result<Option<Job>, SimError> {
        match (&self.job, self.barrier_billion) {
            (None, None) => Ok(None),
            (Some(_), None) => {
                let problem = "is missing: say after how many billion instructions the processes of the job wait";
                Err(SimError::value(file, "app.barrier_billion", problem))
            }
            (name, Some(barrier_billion)) => {
                within(file, "app.barrier_billion", barrier_billion, SHORTEST_BARRIER..=1e9)?;
                let name = name.clone().unwrap_or_else(|| format!("[[app]] {}", number + 1));
                Ok(Some(Job { name, barrier_billion }))
            }
        }
    }

    pub(super) fn apps(
        &self,
        file: &str,
        program: &Arc<Program>,
        run: &Run,
        job: Option<&Job>,
    ) -> Result<Vec<App>, SimError> {
        let instructions = program.instructions_billion * run.instructions_factor;
        if instructions < SHORTEST_PHASE {
            let problem = format!(
                "leaves {instructions} billion instructions of {}; leave at least {SHORTEST_PHASE}",
                program.name
            );
            return Err(SimError::value(file, "run.instructions_factor", problem));
        }
        let cgroup = self.cgroup();
        let app = |copy: u32| App {
            name: if self.count == 1 { program.name.clone() } else { format!("{}.{}", program.name, copy + 1) },
            cgroup: cgroup.clone(),
            threads: self.threads.unwrap_or(program.threads),
            program: Arc::clone(program),
            start_node: self.start_node,
            pinned: self.pinned,
            cpu: self.cpu,
            memory_node: self.memory_node,
            spread: self.spread.clone(),
            phase_offset: (f64::from(copy) * self.phase_stagger).rem_euclid(1.0),
            seats: None,
            job: job.cloned(),
        };
        Ok((0..self.count).map(app).collect())
    }
}
