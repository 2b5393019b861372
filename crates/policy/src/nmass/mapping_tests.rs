//! Worked examples of the N-MASS paper, and of cases that it leaves open: where processes go.

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
    // 120 | 0: the last process moves, 90 | 39. The next move would leave 60 | 78: node 1 would end
    // above node 0 with the penalty counted, and is not below 60 either.
    assert_eq!(nodes(&N_MASS, NEHALEM, &soplex(Some(1.3))), [0, 0, 0, 1]);
    // By regression the penalty is 1.05 + 0.015 * 30 = 1.5: 90 | 45, then it would be 60 | 90.
    assert_eq!(nodes(&N_MASS_REGRESSION, NEHALEM, &soplex(None)), [0, 0, 0, 1]);
    assert_eq!(nodes(&MAXIMUM_LOCAL, NEHALEM, &soplex(Some(1.3))), [0, 0, 0, 0]);
}

#[test]
fn no_move_makes_its_target_the_fuller_one() {
    // Without the threshold, the next move from 90 | 39 would still leave 60 | 78.
    let free = || with(&N_MASS, "threshold_mpki = 1000");
    assert_eq!(nodes_after(free().as_mut(), &mut observation(NEHALEM, &soplex(Some(1.3)))), [0, 0, 0, 1]);
    // 50 | 0: 25 | 25 * 1.104 = 27.6 would be above, so nothing moves; 45 | 0: 25 | 22.1 is below.
    let pair = |mpki: f64| [(1, 0, 25.0, Some(1.3), HOME_0), (2, 1, mpki, Some(1.104), HOME_0)];
    assert_eq!(nodes_after(free().as_mut(), &mut observation(NEHALEM, &pair(25.0))), [0, 0]);
    assert_eq!(nodes_after(free().as_mut(), &mut observation(NEHALEM, &pair(20.0))), [0, 1]);
}

#[test]
fn spread_memory_is_left_alone_and_counts_where_it_runs() {
    // 5 has a quarter of its pages on each of four nodes and two threads on node 0, of 40 MPKI
    // each. Node 0 bears 40 + 40 + 20: its one free core goes to 1. The surplus process 2 goes to
    // node 1.
    let rows = [(1, 9, 20.0, Some(1.3), &[9, 0, 0, 0][..]), (2, 8, 10.0, Some(1.1), &[9, 0, 0, 0])];
    let mut seen = observation("node:4 core:3", &rows);
    let spread = observation("node:4 core:3", &[(5, 0, 40.0, None, &[9, 9, 9, 9])]).processes.remove(0);
    seen.processes.push(spread);
    seen.processes[2].threads.push(thread(6, 1, 40.0));
    let plan = policy(&MAXIMUM_LOCAL).decide(&seen);
    assert!(plan.notes.iter().any(|note| note.ends_with("no node has more than half of their pages: p5")), "{plan:?}");
    assert_eq!(nodes_after(policy(&MAXIMUM_LOCAL).as_mut(), &mut seen.clone()), [0, 1, 0, 0]);
    // Its pressure counts: 100 | 11 | 0 | 0, and 1 leaves for an LLC without pressure: 80 | 26.
    assert_eq!(nodes_after(policy(&N_MASS).as_mut(), &mut seen), [2, 1, 0, 0]);
    let places: Vec<_> = seen.processes[2].threads.iter().map(|thread| thread.cpu).collect();
    assert_eq!(places, [Some(CpuId(0)), Some(CpuId(1))], "they keep their cores, and no thread joins them");
}

#[test]
fn the_threshold_limits_how_many_run_remotely() {
    let seen = || observation(NEHALEM, &soplex(Some(1.3)));
    // Without a penalty 120 | 0 would go on to 60 | 60: equal, but not below the threshold.
    let equal = || observation(NEHALEM, &soplex(Some(1.0)));
    assert_eq!(nodes_after(with(&N_MASS, "threshold_mpki = 60").as_mut(), &mut equal()), [0, 0, 0, 1]);
    assert_eq!(nodes_after(with(&N_MASS, "threshold_mpki = 60.1").as_mut(), &mut equal()), [0, 0, 1, 1]);
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
    // Map 1100. 45 | 0.4 (node 1 | node 0); the back of node 1's list is 2: 25 | 22.5. Moving the
    // process that is left there would end above.
    let unbalanced =
        [row(1, 25.0, 1.3, HOME_1), row(2, 20.0, 1.104, HOME_1), row(3, 0.2, 1.0, HOME_0), row(4, 0.2, 1.0, HOME_0)];
    let expect: [(&Entry, &[u32]); 2] = [(&MAXIMUM_LOCAL, &[1, 1, 0, 0]), (&N_MASS, &[1, 0, 0, 0])];
    check("unbalanced memory moves the lowest penalties first", NEHALEM, &unbalanced, &expect);
    check("30 | 0 would become 0 | 33", NEHALEM, &[row(0, 30.0, 1.1, HOME_0)], &[(&N_MASS, &[0])]);
    check("or 0 | 30", NEHALEM, &[row(0, 30.0, 1.0, HOME_0)], &[(&N_MASS, &[0])]);
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
    // Two cores per node: 60 | 30 | 30 | 0 after step 2 (the surplus of node 0 spreads), then 30 on
    // each. With a penalty of 1.3 it would be 30 | 39 | 39 | 39: above.
    let four: Vec<Row<'_>> = (1..5).map(|pid| row(pid, 30.0, 1.0, &[9, 0, 0, 0])).collect();
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
    let row = |pid, mpki| -> Row<'_> { (pid, 3, mpki, Some(1.1), &[9, 0, 0]) };
    let mut crowded = observation("node:3 core:2", &[row(1, 10.0), row(2, 10.0), row(3, 10.0)]);
    crowded.machine = machine.clone();
    assert_eq!(nodes_after(policy(&MAXIMUM_LOCAL).as_mut(), &mut crowded), [0, 0, 2]);
    // 22 | 0 | 0, then 12 | 11.
    let mut two = observation("node:3 core:2", &[row(1, 12.0), row(2, 10.0)]);
    two.machine = machine;
    assert_eq!(nodes_after(policy(&N_MASS).as_mut(), &mut two), [0, 2]);
}

#[test]
fn an_llc_of_the_home_node_goes_before_a_remote_one() {
    // Two nodes, each with two LLCs of two cores. Step 2 balances within the home: 30 + 10 | 20 +
    // 20, and nothing is remote yet.
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
    // Two cores of two threads per node (the siblings on node 0 are CPUs 0 2 and 1 3, or 0 1 and 2
    // 3, whatever the kernel says).
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
    // 1 has two threads of 15 MPKI, 9 has one of 40: 70 on node 0. The back is 1, which moves as a
    // whole: 40 | 2 * 15 * 1.2 = 36.
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
    // 2 is pinned on node 0's only core, so 1 has no place at home.
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
