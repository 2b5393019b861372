//! A small world for the tests of this folder: programs that answer to their ways at once, and plans that are carried out as they are.

use isobar_model::topology::synthetic::synthetic;
use isobar_model::{
    Action, Bandwidth, CacheClass, CpuId, NodeMap, Observation, Pid, Plan, Policy, Process, Seconds, Thread, Tid, num,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a program does with `i + 1` ways: IPC and misses per 1000 instructions; the last holds for more.
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
    /// Nobody yet, at one second.
    pub fn new(machine: &str) -> Self {
        let machine = Arc::new(synthetic(machine).unwrap());
        let all = machine.llcs()[0].ways.map_or(0, |ways| num::index(ways.0));
        let seen = Observation {
            time: Seconds(1.0),
            interval: Seconds(1.0),
            machine,
            free: NodeMap::default(),
            latency: None,
            latency_cycles: None,
            processes: Vec::new(),
        };
        Self { seen, curves: BTreeMap::new(), ways: BTreeMap::new(), all }
    }

    /// A program with its threads on some CPUs; ids ascend from call to call.
    pub fn program(&mut self, pid: u32, cpus: &[u32], curve: &[(f64, f64)]) -> &mut Process {
        let threads = cpus.iter().zip(pid..).map(|(cpu, tid)| thread(tid, *cpu)).collect();
        self.curves.insert(Pid(pid), curve.to_vec());
        self.seen.processes.push(Process {
            pid: Pid(pid),
            name: format!("p{pid}").into(),
            pages: None,
            accessed_pages: None,
            numa_penalty: None,
            cache_class: None,
            critical_ways: None,
            slowdown_by_ways: None,
            threads,
        });
        self.count();
        self.seen.processes.last_mut().unwrap()
    }

    /// A program of a known class with a bandwidth in GB/s.
    pub fn known(&mut self, pid: u32, cpus: &[u32], class: CacheClass, critical: u32, bandwidth: f64) -> &mut Process {
        let each = bandwidth * 1e9 / num::float_len(cpus.len());
        let process = self.program(pid, cpus, &[(1.0, 1.0)]);
        (process.cache_class, process.critical_ways) = (Some(class), Some(critical));
        process.threads.iter_mut().for_each(|thread| thread.bandwidth = Some(Bandwidth(each)));
        process
    }

    /// Counts an epoch.
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

    /// One decision, carried out; a second passes.
    pub fn step(&mut self, policy: &mut dyn Policy) -> Plan {
        let plan = policy.decide(&self.seen);
        assert_eq!(plan.validate(&self.seen), Ok(()));
        self.carry_out(&plan);
        self.pass();
        plan
    }

    /// A second passes.
    pub fn pass(&mut self) {
        self.seen.time.0 += 1.0;
        self.count();
    }

    fn carry_out(&mut self, plan: &Plan) {
        for action in &plan.actions {
            match action {
                Action::MoveThread { pid, tid, cpu, .. } => {
                    let process = self.seen.processes.iter_mut().find(|process| process.pid == *pid).unwrap();
                    process.threads.iter_mut().find(|thread| thread.tid == *tid).unwrap().cpu = Some(*cpu);
                }
                Action::SetWays { way_mask, threads, .. } => {
                    let ways = num::index(way_mask.count_ones());
                    self.ways.extend(threads.iter().map(|tid| (*tid, ways)));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// The LLC of every thread.
    pub fn places(&self) -> Vec<u32> {
        self.seen.threads().map(|(_, thread)| self.seen.machine.llc_of(thread.cpu.unwrap()).unwrap().0).collect()
    }
}

/// Who is moved, and what clusters are set (`llc:name=mask`), in words.
pub fn said(plan: &Plan) -> Vec<String> {
    let said = |action: &Action| match action {
        Action::MoveThread { tid, cpu, .. } => format!("{tid}>{cpu}"),
        Action::SetWays { llc, cluster, threads, .. } if threads.is_empty() => format!("{llc}:{cluster} removed"),
        Action::SetWays { llc, cluster, way_mask, .. } => format!("{llc}:{cluster}={way_mask:#x}"),
        other => format!("{other:?}"),
    };
    plan.actions.iter().map(said).collect()
}

fn thread(tid: u32, cpu: u32) -> Thread {
    Thread { cpu: Some(CpuId(cpu)), cpu_time: Some(Seconds(1.0)), ..Thread::unmeasured(Tid(tid)) }
}
