//! The assertions on the simulated machine, in several shapes.

// In a test program, a failed expectation is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use isobar_conformance::{Bench, Difference, Identity, Life, Stage, Stop, Subject, Work};
use isobar_model::{CpuId, CpuSet, LlcId, Machine, NodeMap, Pages, Pid, Seconds, Tid, Topology};
use isobar_sim::{MachineSpec, SimMachine, Workload};
use libtest_mimic::Arguments;
use std::fmt::Write;
use std::sync::Arc;

/// What the simulated machine does not guarantee yet.
const KNOWN: &[Difference] = &[];

/// The guest's shape; several LLCs within a node; SMT with one core a node; two nodes.
const SHAPES: [&str; 4] =
    ["node:4 llc:1 core:2", "node:2 llc:2 core:2", "node:8 llc:1 core:1 pu:2", "node:2 llc:1 core:4"];

fn main() {
    let arguments = Arguments::from_args();
    let trials = SHAPES.iter().flat_map(|shape| support::trials(shape, Simulator { shape }, KNOWN, false));
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

struct Simulator {
    shape: &'static str,
}

/// Length of runs in billions of instructions: runs that never end within an assertion, and runs of
/// some twenty epochs of a thread that runs alone.
const LONG: f64 = 1e6;
const SHORT: f64 = 50.0;

impl Bench for Simulator {
    type Stage = Simulated;

    fn topology(&self) -> Result<Arc<Topology>, Stop> {
        Ok(MachineSpec::synthetic(self.shape)?.topology)
    }

    fn cpus(&self) -> Result<CpuSet, Stop> {
        Ok(self.topology()?.online().clone())
    }

    fn open(&self, subjects: &[Subject]) -> Result<Simulated, Stop> {
        if subjects.iter().any(|subject| subject.work == Work::None) {
            return Err(Stop::Lacks("simulated threads never sleep".to_owned()));
        }
        let workload = Workload::from_toml("conformance", &workload(self.shape, subjects))?;
        Ok(Simulated { machine: SimMachine::new(&workload, 1), epoch: Seconds(workload.run.epoch_seconds) })
    }
}

/// A workload in which each subject is a program of its own name.
fn workload(shape: &str, subjects: &[Subject]) -> String {
    let mut text = format!("machine = \"{shape}\"\n[run]\nruns = 1000000\nmax_seconds = 100000\n");
    for (number, subject) in subjects.iter().enumerate() {
        let Subject { threads, mib, node, life, .. } = subject;
        let billions = f64::from(*threads) * if *life == Life::Long { LONG } else { SHORT };
        write!(
            text,
            "[[app]]\nprogram = \"{0}\"\nthreads = {threads}\nstart_node = {node}\nmemory_node = {node}\n\
             [[program]]\nname = \"{0}\"\ninstructions_billion = {billions:?}\nbase_cpi = 1.0\nmlp = 1.0\n\
             write_back = 0.0\nfootprint_mib = {mib}\nmpki = {{ streaming = 1.0, reuse = 1.0, half_mib = 1.0 }}\n",
            name(number)
        )
        .unwrap();
    }
    text
}

fn name(subject: usize) -> String {
    format!("subject{subject}")
}

struct Simulated {
    machine: SimMachine,
    epoch: Seconds,
}

impl Stage for Simulated {
    type Machine = SimMachine;

    fn machine(&mut self) -> &mut SimMachine {
        &mut self.machine
    }

    fn epoch(&self) -> Seconds {
        self.epoch
    }

    /// Only the sample reports simulated processes.
    fn identity(&mut self, subject: usize) -> Result<Identity, Stop> {
        let sample = self.machine.sample()?;
        let process = sample.processes.iter().find(|process| *process.name == *name(subject));
        let process = process.ok_or_else(|| Stop::Fails(format!("there is no {}", name(subject))))?;
        Ok(Identity { pid: process.pid, threads: process.threads.iter().map(|thread| thread.tid).collect() })
    }

    /// A short run ends by itself, and another begins.
    fn replace(&mut self, subject: usize) -> Result<(), Stop> {
        let old = self.identity(subject)?;
        for _ in 0..1000 {
            self.machine.wait(self.epoch)?;
            if self.identity(subject)?.pid != old.pid {
                return Ok(());
            }
        }
        Err(Stop::Fails(format!("{} does not end", name(subject))))
    }

    fn pin(&mut self, _: Tid, _: &CpuSet) -> Result<(), Stop> {
        Err(Stop::Lacks("simulated threads have no owner who could pin them".to_owned()))
    }

    fn affinity(&mut self, pid: Pid, tid: Tid) -> Option<CpuSet> {
        self.machine.affinity(pid, tid)
    }

    fn cpu(&mut self, _: Pid, _: Tid) -> Option<CpuId> {
        None
    }

    fn pages(&mut self, _: Pid) -> Option<NodeMap<Pages>> {
        None
    }

    fn ways(&mut self, llc: LlcId, tid: Tid) -> Option<u64> {
        self.machine.ways(llc, tid)
    }
}
