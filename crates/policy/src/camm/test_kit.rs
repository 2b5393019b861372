//! Machines with probed latencies, for the tests of this folder.

use super::config::Reserve;
use super::free::kept;
use crate::test_kit::{observation, process, thread, with_pages};
use isobar_model::{Bytes, Nanoseconds, NodeId, NodeMatrix, Observation, Pid, Process, num};

/// A matrix over nodes 0, 1, ...
pub fn matrix(rows: &[&[f64]]) -> NodeMatrix<f64> {
    let nodes = (0..rows.len()).map(|node| NodeId(num::narrow(node))).collect();
    NodeMatrix::from_rows(nodes, rows.iter().map(|row| row.to_vec()).collect()).unwrap()
}

/// A machine without processes, with latencies in nanoseconds and 1 TiB free on every node.
pub fn seen(machine: &str, rows: &[&[f64]]) -> Observation {
    with_latency(observation(machine, vec![]), rows)
}

/// Processes 1, 2, ... with one thread each, on the nodes of a machine with four CPUs per node.
pub fn on_nodes(nodes: &[u32]) -> Vec<Process> {
    let on = |(index, node): (usize, &u32)| {
        let pid = num::narrow(index) + 1;
        process(pid, vec![thread(pid, node * 4 + pid % 4, 1.0)])
    };
    nodes.iter().enumerate().map(on).collect()
}

/// A machine whose latencies are known in cycles as well, with 1 TiB free on every node.
pub fn cycles(machine: &str, rows: &[&[f64]], processes: &[Process]) -> Observation {
    let mut seen = with_latency(observation(machine, processes.to_vec()), rows);
    seen.latency_cycles = Some(matrix(rows));
    seen
}

fn with_latency(mut seen: Observation, rows: &[&[f64]]) -> Observation {
    with_free(&mut seen, &vec![1 << 28; rows.len()]);
    latency(&mut seen, rows);
    seen
}

/// Sets the latencies in nanoseconds.
pub fn latency(seen: &mut Observation, rows: &[&[f64]]) {
    let nodes = seen.machine.nodes().iter().map(|node| node.id).collect();
    let rows = rows.iter().map(|row| row.iter().map(|&latency| Nanoseconds(latency)).collect()).collect();
    seen.latency = NodeMatrix::from_rows(nodes, rows);
    assert!(seen.latency.is_some());
}

/// Sets the free pages of nodes 0, 1, ... above the default reserve.
pub fn with_free(seen: &mut Observation, pages: &[u64]) {
    for (node, pages) in seen.machine.nodes().iter().zip(pages) {
        let reserve = kept(node.memory, &Reserve::default());
        seen.free.insert(node.id, Bytes(reserve + pages * 4096));
    }
}

/// Sets the pages of a process by node; all of them were accessed.
pub fn accessed(seen: &mut Observation, pid: u32, pages: &[u64]) {
    with_pages(seen, pid, pages);
    let process = seen.processes.iter_mut().find(|process| process.pid == Pid(pid)).unwrap();
    process.accessed_pages = process.pages.clone();
}
