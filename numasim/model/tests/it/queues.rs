//! Queues with CPUs that wait for their own misses: the law, the capacity, fairness, and how soon
//! everything settles. Windows are 100 us. The small machine takes 1.2 us for a local miss, so that
//! one CPU with random lines uses 64 ns / 1.2 us = 5 % of a controller of 1000 MB/s.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

use crate::common::{Guest, NODE, Program, Seen, WINDOW, mean, spec, spread};
use numasim_model::{Link, Llc, Machine, Node};
use proptest::prelude::*;

/// Windows after which everything must have settled.
const SETTLED: usize = 40;

fn used(seen: &[Seen]) -> f64 {
    mean(seen.iter().map(|one| one.used[0]))
}

/// The utilisation by `cpus` that wait for each line, where a line takes `idle_ns` plus the law's
/// wait for lines of `service_ns`; found by bisection.
fn by_the_law(cpus: f64, idle_ns: f64, service_ns: f64, scale_ns: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0 - 1e-12);
    for _ in 0..60 {
        let u: f64 = 0.5 * (low + high);
        let wait = scale_ns * u * u / (1.0 - u);
        if cpus * service_ns / (idle_ns + wait) > u { low = u } else { high = u }
    }
    low
}

#[test]
fn blocking_misses_use_what_the_law_says_from_one_cpu_to_sixteen() {
    for (mb, service) in [(1000.0, 64.0), (250.0, 256.0), (100.0, 640.0)] {
        for cpus in [1, 2, 4, 8, 16_u32] {
            let count = usize::try_from(cpus).unwrap();
            let mut guest = Guest::new(&spec(mb, 500.0), &vec![Program::Random(0); count]);
            let seen = guest.run(300);
            let law = by_the_law(f64::from(cpus), 1200.0, service, 200.0);
            let got = used(&seen[SETTLED..]);
            assert!(
                (got / law - 1.0).abs() < 0.015,
                "{cpus} CPUs, {mb} MB/s: {got:.4} of capacity, by the law {law:.4}"
            );
        }
    }
}

#[test]
fn the_wait_in_force_is_the_law_at_the_utilisation_seen() {
    let mut guest = Guest::new(&spec(250.0, 500.0), &[Program::Random(0); 4]);
    let late = guest.run(300).split_off(SETTLED);
    let (u, wait) = (used(&late), mean(late.iter().map(|one| one.delay[0])));
    assert!((wait / (200e3 * u * u / (1.0 - u)) - 1.0).abs() < 0.03, "{u} {wait}");
}

/// Demand beyond capacity: the throughput never exceeds the capacity over time, nearly reaches it
/// if the demand is many times the capacity, and is steady and fair.
fn saturates(programs: &[Program], mb: f64, link: f64, of: fn(&Seen) -> f64, delay: fn(&Seen) -> f64) {
    let mut guest = Guest::new(&spec(mb, link), programs);
    let first = guest.run(SETTLED);
    let before: Vec<_> = guest.runners.iter().map(|runner| runner.done).collect();
    let late = guest.run(600);
    let got = mean(late.iter().map(of));
    assert!((0.95..=1.0).contains(&got), "{programs:?}: {got}");
    let delays: Vec<_> = late.iter().map(delay).collect();
    assert!(spread(&delays) < 0.1, "{programs:?}: delay swings by {}", spread(&delays));
    let early = mean(first.iter().skip(10).map(of));
    assert!((0.85..=1.1).contains(&early), "{programs:?}: windows 10 to 40 carry {early}");
    let done: Vec<_> = guest.runners.iter().zip(before).map(|(runner, before)| (runner.done - before) as f64).collect();
    let middle = mean(done.iter().copied());
    assert!(done.iter().all(|one| (one / middle - 1.0).abs() < 0.02), "{programs:?}: {done:?}");
}

#[test]
fn random_misses_of_sixteen_fill_a_controller() {
    saturates(&[Program::Random(0); 16], 100.0, 500.0, |seen| seen.used[0], |seen| seen.delay[0]);
}

#[test]
fn streams_fill_a_controller() {
    saturates(&[Program::Stream(0, false); 4], 250.0, 500.0, |seen| seen.used[0], |seen| seen.delay[0]);
    saturates(&[Program::Stream(0, true); 4], 250.0, 500.0, |seen| seen.used[0], |seen| seen.delay[0]);
    saturates(&[Program::Stream(0, true); 16], 250.0, 500.0, |seen| seen.used[0], |seen| seen.delay[0]);
}

#[test]
fn a_link_is_filled_from_the_other_node() {
    saturates(&[Program::Random(1); 16], 1000.0, 60.0, |seen| seen.link, |seen| seen.delay[2]);
    saturates(&[Program::Stream(1, false); 8], 1000.0, 200.0, |seen| seen.link, |seen| seen.delay[2]);
    saturates(&[Program::Stream(1, true); 8], 1000.0, 200.0, |seen| seen.link, |seen| seen.delay[2]);
}

/// Four nodes in a square, whose CPUs all read from the node diagonally across: each link direction
/// carries two routes, and each route passes two links.
#[test]
fn routes_that_share_links_settle_together() {
    let mut square = spec(1000.0, 60.0);
    let cpus = |node: usize| (4 * node..4 * node + 4).collect();
    let (node, llc, link) = (square.node[0].clone(), square.llc[0].clone(), square.link[0].clone());
    square.node = (0..4).map(|id| Node { id, cpus: cpus(id as usize), ..node.clone() }).collect();
    square.llc = (0..4).map(|id| Llc { id, cpus: cpus(id as usize), ..llc.clone() }).collect();
    square.link = [(0, 1), (0, 2), (1, 3), (2, 3)].map(|(a, b)| Link { a, b, ..link.clone() }).to_vec();
    square.latency.ns = vec![vec![2000.0; 4]; 4];
    let programs: Vec<_> = (0..16).map(|cpu| Program::Random(3 - cpu / 4)).collect();
    let mut guest = Guest::new(&square, &programs);
    guest.run(SETTLED);
    guest.machine.reset_counters();
    guest.run(400);
    let links: Vec<_> = guest.machine.link_counters().collect();
    let parts: Vec<_> = links.iter().map(|link| link.busy_ps as f64 / (400 * WINDOW) as f64).collect();
    // Lowest ids first: 0-3 goes via 1, 1-2 via 0, 2-1 via 0, 3-0 via 1. So 2-3 and one direction
    // of two other links are idle.
    let used: Vec<_> = parts.iter().filter(|part| **part > 0.0).collect();
    assert!(
        used.iter().all(|part| **part <= 1.0) && used.iter().filter(|part| ***part > 0.9).count() >= 2,
        "{parts:?}"
    );
    for four in guest.runners.chunks(4) {
        let middle = mean(four.iter().map(|runner| runner.done as f64));
        assert!(four.iter().all(|runner| (runner.done as f64 / middle - 1.0).abs() < 0.02));
    }
}

#[test]
fn one_stream_gets_what_the_law_leaves_it() {
    // Unloaded, 64 bytes take 1.2 us / 8, which is 427 MB/s, on a controller of 250 MB/s.
    let mut guest = Guest::new(&spec(250.0, 500.0), &[Program::Stream(0, false)]);
    let seen = guest.run(200);
    let law = by_the_law(8.0, 1200.0, 256.0, 200.0);
    assert!((used(&seen[SETTLED..]) / law - 1.0).abs() < 0.01, "{} {law}", used(&seen[SETTLED..]));
    assert!(seen.iter().all(|one| one.used[0] <= 1.01), "one CPU never has more than all, not even at first");
}

#[test]
fn a_mix_stays_within_capacity_and_slows_all_alike() {
    let kinds =
        [Program::Random(0), Program::Stream(0, true), Program::Compute(10_000_000, 0), Program::Stream(1, true)];
    let programs: Vec<_> = kinds.iter().flat_map(|kind| [*kind; 4]).collect();
    let mut guest = Guest::new(&spec(250.0, 200.0), &programs);
    let mut early = guest.run(1000);
    let late = early.split_off(100);
    for node in 0..2 {
        let part = mean(late.iter().map(|one| one.used[node]));
        assert!((0.95..=1.0).contains(&part), "node {node}: {part}");
        let level = mean(late.iter().map(|one| one.delay[node]));
        let longest = early.iter().chain(&late).map(|one| one.delay[node]).fold(0.0, f64::max);
        assert!(longest < 8.0 * level, "node {node}: {longest} once, {level} as a rule");
    }
    for four in guest.runners.chunks(4) {
        let middle = mean(four.iter().map(|runner| runner.done as f64));
        assert!(four.iter().all(|runner| (runner.done as f64 / middle - 1.0).abs() < 0.02), "{four:?}");
    }
}

#[test]
fn a_step_up_and_down_settles_within_ten_windows() {
    let mut guest = Guest::new(&spec(250.0, 500.0), &[Program::Random(0); 16]);
    let up = guest.run(200);
    let level = mean(up[SETTLED..].iter().map(|one| one.delay[0]));
    assert!(up[9..].iter().all(|one| (one.delay[0] / level - 1.0).abs() < 0.1), "{level}");
    for runner in &mut guest.runners {
        runner.program = Program::Idle;
    }
    let down = guest.run(20);
    assert!(down[9].delay[0] < 0.01 * level, "{} of {level}", down[9].delay[0]);
    assert!(down[19].delay[0] < 0.0001 * level);
}

#[test]
fn bursts_do_not_carry_more_than_capacity_over_time() {
    // 16 CPUs with random lines demand 2.1, 3.4 and 8.5 times the capacity while they are on.
    for mb in [400.0, 250.0, 100.0] {
        for (on, off) in [(1, 1), (7, 1), (2, 1), (1, 2), (1, 4), (3, 3), (5, 5), (20, 5), (10, 20)] {
            let mut guest = Guest::new(&spec(mb, 500.0), &[Program::Bursts(on, off, 0); 16]);
            let got = used(&guest.run(600));
            assert!(got <= 1.0, "{mb} MB/s, {on} on, {off} off: {got}");
        }
    }
}

#[test]
fn who_uses_another_node_waits_for_nobody() {
    let mut programs = vec![Program::Stream(0, true); 16];
    programs.extend([Program::Random(1); 1]);
    let mut guest = Guest::new(&spec(250.0, 500.0), &programs);
    guest.run(100);
    let mut alone = Guest::new(&spec(250.0, 500.0), &[vec![Program::Idle; 16], vec![Program::Random(1)]].concat());
    alone.run(100);
    assert_eq!(guest.runners[16].done, alone.runners[16].done);
}

#[test]
fn without_delays_all_is_counted_and_nothing_charged() {
    let free = numasim_model::Spec { delays: false, ..spec(250.0, 500.0) };
    let mut guest = Guest::new(&free, &[Program::Compute(1_000_000, 0); 8]);
    let seen = guest.run(20);
    let counters = guest.machine.cpu_counters(0);
    assert_eq!((counters.stall_ps, counters.accesses), (0, 2000));
    assert!(counters.llc_misses > 1900 && used(&seen) > 2.0, "{counters:?}");
    assert!(seen.iter().all(|one| one.delay == [0.0; 3]));
}

/// A CPU whose time is not given is assumed to have run at least for its stalls, even if counters
/// were reset in the window.
#[test]
fn resetting_counters_changes_no_delay() {
    let delay = |reset: bool| {
        let mut machine = Machine::new(&spec(100.0, 500.0)).unwrap();
        for line in 0..100_u64 {
            machine.access(0, line * 64 * 1021 % NODE, false);
            if reset && line == 60 {
                machine.reset_counters();
            }
        }
        machine.window(WINDOW, &[]);
        machine.access(0, NODE / 2, false)
    };
    assert_eq!(delay(true), delay(false));
    assert!(delay(false) > 1_200_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any programs on the CPUs of a node, any capacities: the throughput is within capacity over
    /// time, and CPUs that do the same get the same.
    #[test]
    fn capacity_holds_for_anything(
        kinds in proptest::collection::vec(0..5_usize, 1..16), mb in 60.0..2000.0f64, link in 60.0..2000.0f64
    ) {
        let program = |kind: &usize| match kind {
            0 => Program::Random(0),
            1 => Program::Random(1),
            2 => Program::Stream(0, true),
            3 => Program::Stream(1, false),
            _ => Program::Compute(3_000_000, 1),
        };
        let programs: Vec<_> = kinds.iter().map(program).collect();
        let mut guest = Guest::new(&spec(mb, link), &programs);
        let late = guest.run(400).split_off(100);
        for part in [used(&late), mean(late.iter().map(|one| one.used[1])), mean(late.iter().map(|one| one.link))] {
            prop_assert!(part <= 1.02, "{part}");
        }
        for kind in 0..5 {
            let mine = kinds.iter().zip(&guest.runners).filter(|(one, _)| **one == kind);
            let done: Vec<_> = mine.map(|(_, runner)| runner.done as f64).collect();
            prop_assert!(done.iter().all(|one| (one / done[0] - 1.0).abs() < 0.02 || (one - done[0]).abs() < 20.0), "{done:?}");
        }
    }
}
