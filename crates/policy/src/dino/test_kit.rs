//! Observations and final placements for the tests of this folder, in one line each.

use isobar_model::topology::synthetic::synthetic;
use isobar_model::{Action, CpuId, NodeMap, Observation, Pages, Pid, Plan, Process, Seconds, Thread, Tid};
use std::sync::Arc;

/// One process a thread: `(id, cpu, mpki)`.
pub fn example(machine: &str, threads: &[(u32, u32, f64)]) -> Observation {
    let single: Vec<_> = threads.iter().map(|&(id, cpu, mpki)| (id, id, cpu, mpki)).collect();
    programs(machine, &single)
}

/// Threads `(pid, tid, cpu, mpki)`, in any order.
pub fn programs(machine: &str, threads: &[(u32, u32, u32, f64)]) -> Observation {
    let mut processes: Vec<Process> = Vec::new();
    let mut sorted = threads.to_vec();
    sorted.sort_by_key(|(pid, tid, ..)| (*pid, *tid));
    for (pid, tid, cpu, mpki) in sorted {
        if processes.last().is_none_or(|last| last.pid != Pid(pid)) {
            processes.push(process(pid));
        }
        if let Some(last) = processes.last_mut() {
            last.threads.push(thread(tid, cpu, mpki));
        }
    }
    Observation {
        time: Seconds(1.0),
        interval: Seconds(1.0),
        machine: Arc::new(synthetic(machine).unwrap()),
        free: NodeMap::default(),
        latency: None,
        latency_cycles: None,
        processes,
    }
}

fn process(pid: u32) -> Process {
    Process {
        pid: Pid(pid),
        name: format!("p{pid}").into(),
        pages: None,
        accessed_pages: None,
        numa_penalty: None,
        cache_class: None,
        critical_ways: None,
        slowdown_by_ways: None,
        threads: Vec::new(),
    }
}

fn thread(tid: u32, cpu: u32, mpki: f64) -> Thread {
    Thread {
        cpu: Some(CpuId(cpu)),
        cpu_time: Some(Seconds(1.0)),
        instructions: Some(1_000_000),
        cycles: Some(1_000_000),
        llc_misses: Some(isobar_model::num::round(mpki * 1000.0)),
        ..Thread::unmeasured(Tid(tid))
    }
}

/// Sets the pages by node of a process.
pub fn with_pages(seen: &mut Observation, pid: u32, pages: &[u64]) {
    let by_node = seen.machine.nodes().iter().zip(pages).map(|(node, &pages)| (node.id, Pages(pages))).collect();
    let process = seen.processes.iter_mut().find(|process| process.pid == Pid(pid)).unwrap();
    process.pages = Some(by_node);
}

/// The CPU of every thread after the plan, ascending by pid, then tid.
pub fn cpus_after(seen: &Observation, plan: &Plan) -> Vec<u32> {
    let mut after = seen.clone();
    apply(&mut after, plan);
    after.threads().map(|(_, thread)| thread.cpu.unwrap().0).collect()
}

/// Carries out the moves of a plan.
pub fn apply(seen: &mut Observation, plan: &Plan) {
    assert_eq!(plan.validate(seen), Ok(()));
    for action in &plan.actions {
        if let Action::MoveThread { pid, tid, cpu, .. } = action {
            let process = seen.processes.iter_mut().find(|process| process.pid == *pid).unwrap();
            process.threads.iter_mut().find(|thread| thread.tid == *tid).unwrap().cpu = Some(*cpu);
        }
    }
}
