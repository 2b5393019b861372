//! Worked examples of the N-MASS paper, and of what it leaves open: where processes go.

use super::maximum_local::ENTRY as MAXIMUM_LOCAL;
use super::n_mass::ENTRY as N_MASS;
use super::n_mass_regression::ENTRY as N_MASS_REGRESSION;
use super::test_kit::{HOME_0, HOME_1, NEHALEM, Row, nodes, nodes_after, observation, policy, soplex};
use crate::entry::Entry;
use crate::test_kit::{policy as with, thread, topology};
use isobar_model::CpuId;
use std::collections::BTreeSet;

#[test]
fn four_clones_of_soplex_end_three_local_and_one_remote() {
    // 120 | 0: the last moves, 90 | 39. The next would bring node 1 to 78, which is not below 60.
    assert_eq!(nodes(&N_MASS, NEHALEM, &soplex(Some(1.3))), [0, 0, 0, 1]);
    // By regression the penalty is 1.05 + 0.015 * 30 = 1.5: 90 | 45, then 90 on node 1.
    assert_eq!(nodes(&N_MASS_REGRESSION, NEHALEM, &soplex(None)), [0, 0, 0, 1]);
    assert_eq!(nodes(&MAXIMUM_LOCAL, NEHALEM, &soplex(Some(1.3))), [0, 0, 0, 0]);
}

#[test]
fn the_threshold_limits_how_many_run_remotely() {
    // 60 | 78 would be accepted by the gap, then 78 is more than 60.
    let seen = || observation(NEHALEM, &soplex(Some(1.3)));
    assert_eq!(nodes_after(with(&N_MASS, "threshold_mpki = 100").as_mut(), &mut seen()), [0, 0, 1, 1]);
    assert_eq!(nodes_after(with(&N_MASS, "threshold_mpki = 39").as_mut(), &mut seen()), [0, 0, 0, 0], "not below");
    assert_eq!(nodes_after(with(&N_MASS, "threshold_mpki = 39.1").as_mut(), &mut seen()), [0, 0, 0, 1]);
}

#[test]
fn single_threads_by_hand() {
    let row = |pid: u32, mpki: f64, penalty: f64, pages: &'static [u64]| -> Row<'static> {
        (pid, 7 - pid, mpki, Some(penalty), pages)
    };
    let check = |what: &str, machine: &str, rows: &[Row<'_>], expect: &[(&Entry, &[u32])]| {
        for (entry, found) in expect {
            assert_eq!(nodes(entry, machine, rows), *found, "{what}: {}", entry.name);
        }
    };
    // Section 2, figure 3: lbm loses almost 30 % when remote, so case (c), mcf remote, is the
    // better one.
    let lbm = [row(1, 20.0, 1.1, HOME_0), row(2, 25.0, 1.3, HOME_0)];
    check("of two the one with the lower penalty goes", NEHALEM, &lbm, &[(&N_MASS, &[1, 0])]);
    // Allocation map 1010 of (M, M, C, C): one memory-bound process at home on each node.
    let balanced =
        [row(1, 25.0, 1.3, HOME_1), row(2, 25.0, 1.3, HOME_0), row(3, 0.1, 1.0, HOME_1), row(4, 0.1, 1.0, HOME_0)];
    let at_home: &[u32] = &[1, 0, 1, 0];
    check("balanced memory", NEHALEM, &balanced, &[(&MAXIMUM_LOCAL, at_home), (&N_MASS, at_home)]);
    // Map 1100. 50 | 0.4 (node 1 | node 0); the back of node 1's list is 2: 25 | 28; then the back
    // of node 0's is 4, 0.2 MPKI: 25.2 | 27.8; then 3: 25.4 | 27.6; what is left there would only
    // widen the gap.
    let unbalanced =
        [row(1, 25.0, 1.3, HOME_1), row(2, 25.0, 1.104, HOME_1), row(3, 0.2, 1.0, HOME_0), row(4, 0.2, 1.0, HOME_0)];
    let expect: [(&Entry, &[u32]); 2] = [(&MAXIMUM_LOCAL, &[1, 1, 0, 0]), (&N_MASS, &[1, 0, 1, 1])];
    check("unbalanced memory moves the lowest penalties first", NEHALEM, &unbalanced, &expect);
    check("0 | 33 is no smaller gap than 30 | 0", NEHALEM, &[row(0, 30.0, 1.1, HOME_0)], &[(&N_MASS, &[0])]);
    check("nor is an equal one", NEHALEM, &[row(0, 30.0, 1.0, HOME_0)], &[(&N_MASS, &[0])]);
    let silent = [row(1, 30.0, 1.3, HOME_0), row(2, 20.0, 1.2, HOME_0), row(3, 0.0, 1.0, HOME_0)];
    check("a process without misses is passed over", NEHALEM, &silent, &[(&N_MASS, &[0, 1, 0])]);
    let six = [1.1, 1.4, 1.2, 1.3, 1.0, 1.25];
    let six: Vec<Row<'_>> = (1..).zip(six).map(|(pid, penalty)| row(pid, 0.0, penalty, HOME_0)).collect();
    check("the highest penalties stay at home", NEHALEM, &six, &[(&MAXIMUM_LOCAL, &[1, 0, 0, 0, 1, 0])]);
    // Three nodes of one core. As printed, 2 (surplus of node 0, penalty 1.4) would take node 1
    // before 3 (1.1) does.
    let three: [Row<'_>; 3] =
        [(1, 0, 5.0, Some(1.5), &[9, 0, 0]), (2, 1, 5.0, Some(1.4), &[9, 0, 0]), (3, 2, 5.0, Some(1.1), &[0, 9, 0])];
    check("surplus takes no core of those at home", "node:3 core:1", &three, &[(&MAXIMUM_LOCAL, &[0, 2, 1])]);
    // Two cores a node: 60 | 39 | 39 | 0 after step 2 (the surplus of node 0 spreads), then 30 | 39
    // | 39 | 39.
    let four: Vec<Row<'_>> = (1..5).map(|pid| row(pid, 30.0, 1.3, &[9, 0, 0, 0])).collect();
    let expect: [(&Entry, &[u32]); 2] = [(&MAXIMUM_LOCAL, &[0, 0, 1, 2]), (&N_MASS, &[0, 3, 1, 2])];
    check("from the fullest of four to the emptiest", "node:4 core:2", &four, &expect);
}

#[test]
fn more_processes_than_cores_share_cores_at_home_first() {
    let rows: Vec<Row<'_>> = (0..10).map(|pid| (pid, 0, 0.0, Some(1.2), HOME_0)).collect();
    let mut seen = observation(NEHALEM, &rows);
    let placed = nodes_after(policy(&N_MASS).as_mut(), &mut seen);
    assert_eq!(placed, [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]);
    let mut load = [0; 8];
    seen.threads().for_each(|(_, thread)| load[usize::try_from(thread.cpu.unwrap().0).unwrap()] += 1);
    assert_eq!(load.iter().filter(|load| **load == 2).count(), 2);
}

#[test]
fn surplus_and_refinement_go_to_the_nearest_node() {
    let document = |cores: &str| {
        format!(
            r#"{{"nodes": [{{"id": 0}}, {{"id": 1}}, {{"id": 2}}], "cpus": [{cores}],
            "distances": [[10, 30, 20], [30, 10, 20], [20, 20, 10]]}}"#
        )
    };
    let cpu = |(id, node): (u32, u32)| format!(r#"{{"id": {id}, "core": {id}, "llc": {node}, "node": {node}}}"#);
    let cpus = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2)].map(cpu).join(", ");
    let llcs = r#""llcs": [{"id": 0, "cpus": [0, 1]}, {"id": 1, "cpus": [2, 3]}, {"id": 2, "cpus": [4, 5]}], "#;
    let machine = topology(&document(&cpus).replacen('{', &format!("{{{llcs}"), 1));
    let row = |pid| -> Row<'_> { (pid, 3, 10.0, Some(1.1), &[9, 0, 0]) };
    let mut crowded = observation("node:3 core:2", &[row(1), row(2), row(3)]);
    crowded.machine = machine.clone();
    assert_eq!(nodes_after(policy(&MAXIMUM_LOCAL).as_mut(), &mut crowded), [0, 0, 2]);
    let mut two = observation("node:3 core:2", &[row(1), row(2)]);
    two.machine = machine;
    assert_eq!(nodes_after(policy(&N_MASS).as_mut(), &mut two), [0, 2]);
}

#[test]
fn an_llc_of_the_home_node_goes_before_a_remote_one() {
    // One node's two LLCs of two cores, twice. Step 2 balances within the home: 30 + 10 | 20 + 20
    // and nothing is remote yet.
    let rows = [
        (1, 0, 30.0, Some(1.4), HOME_0),
        (2, 0, 20.0, Some(1.3), HOME_0),
        (3, 0, 20.0, Some(1.2), HOME_0),
        (4, 0, 10.0, Some(1.1), HOME_0),
    ];
    let mut seen = observation("node:2 llc:2 core:2", &rows);
    assert_eq!(nodes_after(policy(&MAXIMUM_LOCAL).as_mut(), &mut seen), [0, 0, 0, 0]);
    let llcs: Vec<_> = seen.threads().map(|(_, thread)| seen.machine.llc_of(thread.cpu.unwrap()).unwrap().0).collect();
    assert_eq!(llcs, [0, 1, 1, 0]);
}

#[test]
fn siblings_are_used_when_every_core_is_taken() {
    // Two cores of two threads a node (CPUs 0 2 and 1 3 are siblings on node 0 or 0 1 and 2 3:
    // whatever the kernel says).
    let rows: Vec<Row<'_>> = (0..3).map(|pid| -> Row<'_> { (pid, 0, 0.0, Some(1.2), HOME_0) }).collect();
    let mut seen = observation("node:2 core:2 pu:2", &rows);
    assert_eq!(nodes_after(policy(&MAXIMUM_LOCAL).as_mut(), &mut seen), [0, 0, 1]);
    let rows: Vec<Row<'_>> = (0..5).map(|pid| -> Row<'_> { (pid, 0, 0.0, Some(1.2), HOME_0) }).collect();
    let mut seen = observation("node:2 core:2 pu:2", &rows);
    assert_eq!(nodes_after(policy(&MAXIMUM_LOCAL).as_mut(), &mut seen), [0, 0, 1, 1, 0]);
    let cpus: BTreeSet<_> = seen.threads().map(|(_, thread)| thread.cpu).collect();
    assert_eq!(cpus.len(), 5, "every thread has a hardware thread of its own");
}

#[test]
fn threads_of_a_process_stay_together() {
    // 1 has two threads of 15 MPKI, 2 is single: 70 on node 0. The back is 1, whole: 40 | 2 * 15 *
    // 1.2 = 36.
    let mut seen = observation(NEHALEM, &[(1, 0, 15.0, Some(1.2), HOME_0), (9, 2, 40.0, Some(1.3), HOME_0)]);
    seen.processes[0].threads.push(thread(2, 1, 15.0));
    assert_eq!(nodes_after(policy(&N_MASS).as_mut(), &mut seen), [1, 1, 0]);
    // Six threads need more cores than the home has.
    let mut seen = observation(NEHALEM, &[(1, 0, 1.0, Some(1.2), HOME_1)]);
    seen.processes[0].threads.extend((2..7).map(|tid| thread(tid, 0, 1.0)));
    assert_eq!(nodes_after(policy(&N_MASS).as_mut(), &mut seen), [1, 1, 1, 1, 0, 0]);
}

#[test]
fn memory_without_cpus_makes_the_nearest_node_home() {
    let machine = topology(
        r#"{"nodes": [{"id": 0}, {"id": 1}, {"id": 2}], "cpus": [{"id": 0, "node": 0}, {"id": 1, "node": 1}],
            "distances": [[10, 20, 40], [20, 10, 30], [40, 30, 10]]}"#,
    );
    let mut seen = observation("node:3 core:1", &[(1, 0, 5.0, None, &[0, 0, 9])]);
    seen.machine = machine;
    assert_eq!(nodes_after(policy(&MAXIMUM_LOCAL).as_mut(), &mut seen), [1]);
}

#[test]
fn pinned_threads_take_cores_and_add_pressure() {
    // 3 is pinned on node 1 with 100 MPKI at home: node 1 is above the threshold, so no process
    // goes there.
    let rows = [(1, 0, 30.0, Some(1.3), HOME_0), (2, 1, 30.0, Some(1.3), HOME_0), (3, 4, 100.0, Some(1.3), HOME_1)];
    let mut seen = observation(NEHALEM, &rows);
    assert_eq!(nodes_after(policy(&N_MASS).as_mut(), &mut seen), [0, 0, 1]);
    seen.processes[2].threads[0].pinned = true;
    assert_eq!(nodes_after(policy(&N_MASS).as_mut(), &mut seen), [0, 0, 1]);
    // Pinned on node 0's only core: its place at home is taken.
    let mut seen = observation("node:2 core:1", &[(1, 1, 5.0, None, HOME_0), (2, 0, 5.0, None, HOME_0)]);
    seen.processes[1].threads[0].pinned = true;
    assert!(policy(&MAXIMUM_LOCAL).decide(&seen).actions.is_empty());
}

#[test]
fn confined_threads_stay_inside() {
    let mut seen = observation(NEHALEM, &[(1, 4, 5.0, None, HOME_0), (2, 5, 5.0, None, HOME_0)]);
    seen.processes[0].threads[0].allowed_cpus = Some("1,4-5".parse().unwrap());
    seen.processes[1].threads[0].allowed_cpus = Some("4-5".parse().unwrap());
    assert_eq!(nodes_after(policy(&MAXIMUM_LOCAL).as_mut(), &mut seen), [0, 1]);
    assert_eq!(seen.processes[0].threads[0].cpu, Some(CpuId(1)));
}
