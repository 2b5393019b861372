//! Makes observations for the tests of this folder, in one line each.

use crate::test_kit::{observation, process, thread};
use isobar_model::{Observation, Process};

/// One process per thread: `(id, cpu, mpki)`.
pub fn example(machine: &str, threads: &[(u32, u32, f64)]) -> Observation {
    let single: Vec<_> = threads.iter().map(|&(id, cpu, mpki)| (id, id, cpu, mpki)).collect();
    programs(machine, &single)
}

/// Threads `(pid, tid, cpu, mpki)`, in any order.
pub fn programs(machine: &str, threads: &[(u32, u32, u32, f64)]) -> Observation {
    let mut sorted = threads.to_vec();
    sorted.sort_by_key(|(pid, tid, ..)| (*pid, *tid));
    let program = |together: &[(u32, u32, u32, f64)]| -> Process {
        process(together[0].0, together.iter().map(|&(_, tid, cpu, mpki)| thread(tid, cpu, mpki)).collect())
    };
    observation(machine, sorted.chunk_by(|a, b| a.0 == b.0).map(program).collect())
}
