//! Machines and processes for the tests, in one line each.

use isobar_model::topology::synthetic::synthetic;
use isobar_model::{
    CpuId, Nanoseconds, NodeId, NodeMap, NodeMatrix, Observation, Pages, Pid, Process, Seconds, Thread, Tid, num,
};
use std::sync::Arc;

/// The first second of a synthetic machine.
pub fn seen(machine: &str, processes: Vec<Process>) -> Observation {
    Observation::bare(Arc::new(synthetic(machine).unwrap()), processes)
}

/// A process of which only the threads are known.
pub fn process(pid: u32, name: &str, threads: Vec<Thread>) -> Process {
    Process { pid: Pid(pid), name: name.into(), threads, ..Process::default() }
}

/// A thread that ran for the whole second, without counters.
pub fn thread(tid: u32, cpu: u32) -> Thread {
    Thread { cpu: Some(CpuId(cpu)), cpu_time: Some(Seconds(1.0)), ..Thread::unmeasured(Tid(tid)) }
}

/// A thread with counters: 1.25 billion instructions at 2 cycles each, with the given misses per
/// 1000 of them.
pub fn counted(tid: u32, cpu: u32, mpki: f64) -> Thread {
    Thread {
        instructions: Some(1_250_000_000),
        cycles: Some(2_500_000_000),
        llc_misses: Some(num::round(mpki * 1_250_000.0)),
        ..thread(tid, cpu)
    }
}

/// Pages on nodes 0, 1, ...
pub fn pages(counts: &[u64]) -> Option<NodeMap<Pages>> {
    Some((0..).map(NodeId).zip(counts.iter().map(|count| Pages(*count))).collect())
}

/// Latencies of two nodes.
pub fn latencies(rows: [[f64; 2]; 2]) -> Option<NodeMatrix<Nanoseconds>> {
    let rows = rows.iter().map(|row| row.iter().map(|ns| Nanoseconds(*ns)).collect()).collect();
    NodeMatrix::from_rows(vec![NodeId(0), NodeId(1)], rows)
}
