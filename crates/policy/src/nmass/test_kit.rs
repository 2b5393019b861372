//! Observations and outcomes for the tests of this folder, in one line each.

use isobar_model::topology::synthetic::synthetic;
use isobar_model::wire::observation_from_json;
use isobar_model::{
    CpuId, NodeMap, Observation, Pages, Pid, Plan, Policy, Process, Seconds, Thread, Tid, Topology, num,
};
use std::sync::Arc;

/// Single-threaded processes `p1`, `p2`, ...: `(pid, cpu, mpki, penalty, pages by node)`.
pub type Row<'a> = (u32, u32, f64, Option<f64>, &'a [u64]);

/// An observation of single-threaded processes, ascending by pid.
pub fn observation(machine: &str, rows: &[Row<'_>]) -> Observation {
    let machine = Arc::new(synthetic(machine).unwrap());
    let processes = rows.iter().map(|row| process(&machine, row)).collect();
    Observation {
        time: Seconds(1.0),
        interval: Seconds(1.0),
        machine,
        free: NodeMap::default(),
        latency: None,
        latency_cycles: None,
        processes,
    }
}

fn process(machine: &Topology, &(pid, cpu, mpki, numa_penalty, pages): &Row<'_>) -> Process {
    let by_node = machine.nodes().iter().zip(pages).map(|(node, &pages)| (node.id, Pages(pages))).collect();
    Process {
        pid: Pid(pid),
        name: format!("p{pid}").into(),
        pages: (!pages.is_empty()).then_some(by_node),
        accessed_pages: None,
        numa_penalty,
        cache_class: None,
        critical_ways: None,
        slowdown_by_ways: None,
        threads: vec![thread(pid, cpu, mpki)],
    }
}

/// A thread that ran.
pub fn thread(tid: u32, cpu: u32, mpki: f64) -> Thread {
    Thread {
        cpu: Some(CpuId(cpu)),
        instructions: Some(1_000_000),
        cycles: Some(1_000_000),
        llc_misses: Some(num::round(mpki * 1000.0)),
        ..Thread::unmeasured(Tid(tid))
    }
}

/// A machine from its JSON.
pub fn topology(machine: &str) -> Arc<Topology> {
    let document = format!(r#"{{"time": 1, "interval": 1, "machine": {machine}, "processes": []}}"#);
    observation_from_json(&document).unwrap().machine
}

/// Carries out the moves of a plan.
pub fn carry_out(seen: &mut Observation, plan: &Plan) {
    assert_eq!(plan.validate(seen), Ok(()));
    for action in &plan.actions {
        let isobar_model::Action::MoveThread { pid, tid, cpu, .. } = action else { panic!("{action:?}") };
        let process = seen.processes.iter_mut().find(|process| process.pid == *pid).unwrap();
        process.threads.iter_mut().find(|thread| thread.tid == *tid).unwrap().cpu = Some(*cpu);
    }
}

/// The node of every thread after the next decision, which is carried out, ascending by pid, then tid.
pub fn nodes_after(policy: &mut dyn Policy, seen: &mut Observation) -> Vec<u32> {
    let plan = policy.decide(seen);
    carry_out(seen, &plan);
    seen.threads().map(|(_, thread)| seen.machine.node_of(thread.cpu.unwrap()).unwrap().0).collect()
}
