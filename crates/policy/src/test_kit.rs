//! Makes machines, processes and carried-out plans for the tests of policies, in one line each.

use crate::entry::Entry;
use isobar_model::topology::synthetic::synthetic;
use isobar_model::wire::observation_from_json;
use isobar_model::{
    Action, ActionOutcome, CpuId, NodeId, Observation, PageMove, Pages, Pid, Plan, Policy, Process, Seconds, Thread,
    Tid, Topology, num,
};
use std::sync::Arc;

/// Makes a policy with the settings of a section in TOML.
pub fn policy(entry: &Entry, section: &str) -> Box<dyn Policy> {
    entry.build(section.parse().unwrap()).unwrap()
}

/// The error with which a policy refuses a section.
pub fn refused(entry: &Entry, section: &str) -> String {
    entry.build(section.parse().unwrap()).err().unwrap().to_string()
}

/// The first second on a synthetic machine.
pub fn observation(machine: &str, processes: Vec<Process>) -> Observation {
    Observation::bare(Arc::new(synthetic(machine).unwrap()), processes)
}

/// A process `p<pid>` of which nothing is known but its threads.
pub fn process(pid: u32, threads: Vec<Thread>) -> Process {
    Process { pid: Pid(pid), name: format!("p{pid}").into(), threads, ..Process::default() }
}

/// A thread that ran for a million instructions.
pub fn thread(tid: u32, cpu: u32, mpki: f64) -> Thread {
    Thread {
        cpu: Some(CpuId(cpu)),
        cpu_time: Some(Seconds(1.0)),
        instructions: Some(1_000_000),
        cycles: Some(1_000_000),
        llc_misses: Some(num::round(mpki * 1000.0)),
        ..Thread::unmeasured(Tid(tid))
    }
}

/// Sets the pages by node of a process.
pub fn with_pages(seen: &mut Observation, pid: u32, pages: &[u64]) {
    let by_node = seen.machine.nodes().iter().zip(pages).map(|(node, &pages)| (node.id, Pages(pages))).collect();
    seen.processes.iter_mut().find(|process| process.pid == Pid(pid)).unwrap().pages = Some(by_node);
}

/// Adds pages of a process that are under way from one node to another, of which this many are
/// left.
pub fn in_flight(seen: &mut Observation, pid: u32, (from, to): (u32, u32), left: u64) {
    let outcome = ActionOutcome::Pages { moved: Pages(3), stayed: vec![("busy".into(), Pages(2))] };
    seen.page_moves.push(PageMove {
        number: seen.page_moves.len() as u64 + 1,
        pid: Pid(pid),
        from: NodeId(from),
        to: NodeId(to),
        pages: Pages(left + 5),
        outcome,
        age: Seconds(1.0),
        copying: Seconds(0.5),
        ended: false,
    });
}

/// A machine from its JSON.
pub fn topology(machine: &str) -> Arc<Topology> {
    let document = format!(r#"{{"time": 1, "interval": 1, "machine": {machine}, "processes": []}}"#);
    observation_from_json(&document).unwrap().machine
}

/// Carries out the moves of a plan, which must be valid.
pub fn carry_out(seen: &mut Observation, plan: &Plan) {
    assert_eq!(plan.validate(seen), Ok(()));
    for action in &plan.actions {
        if let Action::MoveThread { pid, tid, cpu, .. } = action {
            let process = seen.processes.iter_mut().find(|process| process.pid == *pid).unwrap();
            process.threads.iter_mut().find(|thread| thread.tid == *tid).unwrap().cpu = Some(*cpu);
        }
    }
}

/// The CPU of every thread after a plan, ascending by pid, then tid.
pub fn cpus_after(seen: &Observation, plan: &Plan) -> Vec<u32> {
    let mut after = seen.clone();
    carry_out(&mut after, plan);
    after.threads().map(|(_, thread)| thread.cpu.unwrap().0).collect()
}

/// The actions of a valid plan: `PID: PAGES FROM>TO`, and `PID: [NODE] new > NODE WEIGHTS`.
pub fn moved(seen: &Observation, plan: &Plan) -> Vec<String> {
    assert_eq!(plan.validate(seen), Ok(()));
    let show = |action: &Action| match action {
        Action::MigratePages { pid, from, to, pages: Pages(pages), .. } => format!("{pid}: {pages} {from}>{to}"),
        Action::SetAllocation { pid, for_node, node, weights, .. } => {
            let whose = for_node.map(|node| format!("on {node} ")).unwrap_or_default();
            let weights: String = weights.iter().map(|weight| format!(" {}x{}", weight.weight, weight.node)).collect();
            format!("{pid}: {whose}new >{node}{weights}")
        }
        other => panic!("{other:?}"),
    };
    plan.actions.iter().map(show).collect()
}
