//! Makes single-threaded processes on a machine, and finds the nodes where a policy puts them.

use crate::entry::Entry;
use crate::test_kit::{self, carry_out, process, thread, with_pages};
use isobar_model::{Observation, Policy};

/// Process `p<pid>`: `(pid, cpu, mpki, penalty, pages by node)`.
pub type Row<'a> = (u32, u32, f64, Option<f64>, &'a [u64]);

/// The paper's machine: CPUs 0 to 3 and 4 to 7.
pub const NEHALEM: &str = "node:2 core:4";
/// All pages on node 0.
pub const HOME_0: &[u64] = &[1000, 0];
/// All pages on node 1.
pub const HOME_1: &[u64] = &[0, 1000];

/// An observation of single-threaded processes, ascending by pid.
pub fn observation(machine: &str, rows: &[Row<'_>]) -> Observation {
    let processes = rows.iter().map(|&(pid, cpu, mpki, ..)| process(pid, vec![thread(pid, cpu, mpki)]));
    let mut seen = test_kit::observation(machine, processes.collect());
    for &(pid, _, _, penalty, pages) in rows {
        seen.processes.iter_mut().filter(|one| one.pid.0 == pid).for_each(|one| one.numa_penalty = penalty);
        if !pages.is_empty() {
            with_pages(&mut seen, pid, pages);
        }
    }
    seen
}

/// A policy with its defaults.
pub fn policy(entry: &Entry) -> Box<dyn Policy> {
    test_kit::policy(entry, "")
}

/// The node of each process after one decision of a policy.
pub fn nodes(entry: &Entry, machine: &str, rows: &[Row<'_>]) -> Vec<u32> {
    nodes_after(policy(entry).as_mut(), &mut observation(machine, rows))
}

/// The node of every thread after the next decision, which is carried out.
pub fn nodes_after(policy: &mut dyn Policy, seen: &mut Observation) -> Vec<u32> {
    let plan = policy.decide(seen);
    carry_out(seen, &plan);
    seen.threads().map(|(_, thread)| seen.machine.node_of(thread.cpu.unwrap()).unwrap().0).collect()
}

/// Section 3.1: four clones of soplex (30 MPKI, penalty 1.3), wherever they run now.
pub fn soplex(penalty: Option<f64>) -> [Row<'static>; 4] {
    [
        (1, 0, 30.0, penalty, HOME_0),
        (2, 5, 30.0, penalty, HOME_0),
        (3, 6, 30.0, penalty, HOME_0),
        (4, 1, 30.0, penalty, HOME_0),
    ]
}
