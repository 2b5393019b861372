//! A small simulated machine for the tests of this folder: the rates of programs follow their ways
//! at once, and plans are carried out as they are.

use crate::test_kit::{self, observation, process, thread};
use isobar_model::{Action, Bandwidth, CacheClass, Observation, Pid, Plan, Policy, Process, Tid, num};
use std::collections::BTreeMap;

/// A program's IPC and misses per 1000 instructions with `i + 1` ways; the last entry also holds
/// for more.
pub type Curve = Vec<(f64, f64)>;

/// A machine with programs.
pub struct World {
    pub seen: Observation,
    pub curves: BTreeMap<Pid, Curve>,
    ways: BTreeMap<Tid, usize>,
    all: usize,
}

/// Cycles of a thread in one second.
const CYCLES: f64 = 2e9;

impl World {
    /// No program yet; the time is one second.
    pub fn new(machine: &str) -> Self {
        let seen = observation(machine, Vec::new());
        let all = seen.machine.llcs()[0].ways.map_or(0, |ways| num::index(ways.0));
        Self { seen, curves: BTreeMap::new(), ways: BTreeMap::new(), all }
    }

    /// Adds a program with its threads on some CPUs; ids ascend from call to call.
    pub fn program(&mut self, pid: u32, cpus: &[u32], curve: &[(f64, f64)]) -> &mut Process {
        let threads = cpus.iter().zip(pid..).map(|(cpu, tid)| thread(tid, *cpu, 0.0)).collect();
        self.curves.insert(Pid(pid), curve.to_vec());
        self.seen.processes.push(process(pid, threads));
        self.count();
        self.seen.processes.last_mut().unwrap()
    }

    /// Adds a program of a known class with a bandwidth in GB/s.
    pub fn known(&mut self, pid: u32, cpus: &[u32], class: CacheClass, critical: u32, bandwidth: f64) -> &mut Process {
        let each = bandwidth * 1e9 / num::float_len(cpus.len());
        let process = self.program(pid, cpus, &[(1.0, 1.0)]);
        (process.cache_class, process.critical_ways) = (Some(class), Some(critical));
        process.threads.iter_mut().for_each(|thread| thread.bandwidth = Some(Bandwidth(each)));
        process
    }

    /// Computes the counts of an epoch.
    fn count(&mut self) {
        for process in &mut self.seen.processes {
            let curve = &self.curves[&process.pid];
            for thread in &mut process.threads {
                let ways = self.ways.get(&thread.tid).copied().unwrap_or(self.all);
                let (ipc, mpki) = curve[ways.min(curve.len()) - 1];
                thread.cycles = Some(num::round(CYCLES));
                thread.instructions = Some(num::round(CYCLES * ipc));
                thread.llc_misses = Some(num::round(CYCLES * ipc * mpki / 1000.0));
            }
        }
    }

    /// Makes one decision and carries it out; a second passes.
    pub fn step(&mut self, policy: &mut dyn Policy) -> Plan {
        let plan = policy.decide(&self.seen);
        self.carry_out(&plan);
        self.pass();
        plan
    }

    /// Lets a second pass.
    pub fn pass(&mut self) {
        self.seen.time.0 += 1.0;
        self.count();
    }

    fn carry_out(&mut self, plan: &Plan) {
        test_kit::carry_out(&mut self.seen, plan);
        for action in &plan.actions {
            if let Action::SetWays { way_mask, threads, .. } = action {
                let ways = num::index(way_mask.count_ones());
                self.ways.extend(threads.iter().map(|tid| (*tid, ways)));
            }
        }
    }

    /// The LLC of every thread.
    pub fn places(&self) -> Vec<u32> {
        self.seen.threads().map(|(_, thread)| self.seen.machine.llc_of(thread.cpu.unwrap()).unwrap().0).collect()
    }
}

/// In words: which threads are moved, and which clusters are set (`llc:name=mask`).
pub fn said(plan: &Plan) -> Vec<String> {
    let said = |action: &Action| match action {
        Action::MoveThread { tid, cpu, .. } => format!("{tid}>{cpu}"),
        Action::SetWays { llc, cluster, threads, .. } if threads.is_empty() => format!("{llc}:{cluster} removed"),
        Action::SetWays { llc, cluster, way_mask, .. } => format!("{llc}:{cluster}={way_mask:#x}"),
        other => format!("{other:?}"),
    };
    plan.actions.iter().map(said).collect()
}
