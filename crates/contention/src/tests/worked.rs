//! The model on machines that are worked out by hand or told by a paper.

use super::{Contention, Demand, Solution};
use crate::machine::{MachineSpec, Place, find};
use crate::program::MissCurve;

pub(super) fn devil(place: Place, memory: usize, nodes: usize) -> Demand {
    let weights = (0..nodes).map(|node| if node == memory { 1.0 } else { 0.0 }).collect();
    let curve = MissCurve::parametric(12.0, 20.0, 1.0);
    Demand {
        share: 1.0,
        place,
        mask: u64::MAX,
        cpi: 0.8,
        curve,
        factor: 1.0,
        mlp: 3.0,
        write_back: 0.3,
        footprint: 1e9,
        reach: 1.0,
        private: 0.0,
        weights,
    }
}

pub(super) fn at(node: usize) -> Place {
    Place { node, llc: node }
}

/// What a machine gives to threads from a cold start, with the loads of its resources.
pub(super) fn fixed_point(
    machine: &MachineSpec,
    all: &[Demand],
    copy: Option<(usize, usize)>,
) -> (Solution, Contention) {
    let cut = |one: &Demand| Demand { mask: one.mask & machine.llcs[one.place.llc].all_ways(), ..one.clone() };
    let all: Vec<_> = all.iter().map(|one| (cut(one), 0.0)).collect();
    let (mut contention, mut found) = (Contention::default(), Solution::default());
    contention.compete(machine, &all, copy);
    contention.settle(&mut found);
    (found, contention)
}

/// Figure 3 of the DINO paper: a target with three competitors, the factors added one by one.
#[test]
fn the_scenarios_of_dino_order_as_they_must() {
    let machine = find("barcelona-4x4").unwrap();
    let rate = |target: Demand, others: Vec<Demand>| {
        let all: Vec<_> = std::iter::once(target).chain(others).collect();
        fixed_point(&machine, &all, None).0.rates[0]
    };
    let others = |node, memory| vec![devil(at(node), memory, 4); 3];
    let alone = rate(devil(at(0), 0, 4), vec![]);
    let remote = rate(devil(at(1), 0, 4), vec![]);
    let cache = rate(devil(at(0), 0, 4), others(0, 1));
    let controller = rate(devil(at(0), 0, 4), others(1, 0));
    let remote_and_controller = rate(devil(at(1), 0, 4), others(0, 0));
    let worst = rate(devil(at(1), 0, 4), others(1, 0));
    assert!(remote < alone && cache < alone && controller < alone);
    assert!(remote_and_controller < remote && remote_and_controller < controller);
    assert!(worst < remote_and_controller && worst < cache);
}

/// One thread on an idle machine: every term of the model by hand.
#[test]
fn one_thread_by_hand() {
    let machine = find("nehalem-2x4").unwrap();
    let got = fixed_point(&machine, &[Demand { mlp: 1.0, write_back: 0.0, ..devil(at(0), 0, 2) }], None).0;
    // All 8 MiB are its own (but for what the background fills: 64 B * 15 MPKI * 1 GHz a second fill 8 MiB in 9 ms of 1000 s).
    let misses = (12.0 + 20.0 / 9.0) / 1000.0;
    assert!((got.misses[0] / misses - 1.0).abs() < 1e-4, "{}", got.misses[0]);
    // t = 0.8 / 2.27 GHz + 0.014222 * (50 ns + W), u = 64 B * 0.014222 / t / 20.48 GB/s, W = 10 ns * u^2 / (1 - u).
    let mut seconds: f64 = 1e-9;
    for _ in 0..50 {
        let u = 64.0 * misses / seconds / 20.48e9;
        seconds = 0.8 / 2.27e9 + misses * (50e-9 + 10e-9 * u * u / (1.0 - u));
    }
    assert!((got.rates[0] * seconds - 1.0).abs() < 1e-4, "{} {}", got.rates[0], 1.0 / seconds);
}

#[test]
fn a_page_copy_takes_bandwidth_from_both_nodes() {
    let machine = find("barcelona-4x4").unwrap();
    let all = vec![devil(at(0), 0, 4); 4];
    let quiet = fixed_point(&machine, &all, None).0;
    let (copying, after) = fixed_point(&machine, &all, Some((0, 3)));
    assert!(copying.rates[0] < quiet.rates[0]);
    assert!(copying.copied > 10_000.0 && copying.copied < 250_000.0, "{}", copying.copied);
    assert!((after.loads()[3] / (4096.0 * copying.copied) - 1.0).abs() < 1e-9);
}

/// Eight streams of 8 GB/s each on a controller of 8.5: it saturates, and they share.
#[test]
fn a_hundred_streams_saturate_and_share() {
    let machine = find("barcelona-4x4").unwrap();
    let stream = Demand { curve: MissCurve::parametric(60.0, 0.0, 1.0), ..devil(at(0), 0, 4) };
    let (got, after) = fixed_point(&machine, &vec![stream; 100], None);
    let load = after.loads()[0];
    assert!(load < 8.5e9 && load > 0.95 * 8.5e9, "{load}");
    assert!((got.rates[7] * got.misses[7] * 64.0 * 1.3 / (load / 100.0) - 1.0).abs() < 1e-9);
}

/// A private cache whose lines the LLC does not hold is space of its own, whoever shares the LLC: half of what a thread could use.
#[test]
fn private_space_is_beside_the_shared_one() {
    let machine = MachineSpec::synthetic("node:1 core:4").unwrap();
    let one = |private| Demand { curve: MissCurve::parametric(0.0, 20.0, 8.0), private, ..devil(at(0), 0, 1) };
    let misses = |private, count| fixed_point(&machine, &vec![one(private); count], None).0.misses[0];
    let mib = 1_048_576.0;
    // Alone 8 MiB of LLC and 4 private ones: 20 * 8 / (8 + 12); four share the 8: 20 * 8 / (8 + 2 + 4).
    assert!((misses(4.0 * mib, 1) / 0.008 - 1.0).abs() < 1e-4, "{}", misses(4.0 * mib, 1));
    assert!((misses(4.0 * mib, 4) / (0.16 / 14.0) - 1.0).abs() < 1e-4, "{}", misses(4.0 * mib, 4));
    assert!(
        misses(0.0, 4) / misses(0.0, 1) > misses(4.0 * mib, 4) / misses(4.0 * mib, 1),
        "it takes the edge off sharing"
    );
    // What fits into the private cache needs nothing of the LLC.
    let small = Demand { footprint: 2.0 * mib, ..one(2.0 * mib) };
    assert_eq!(fixed_point(&machine, &[small], None).0.held, [0.0]);
}

/// A partition keeps a sensitive program's lines from a streaming one.
#[test]
fn a_partition_protects() {
    let machine = MachineSpec::synthetic("node:1 core:4").unwrap();
    let curve = MissCurve::parametric(0.5, 30.0, 0.5);
    let soft = |mask| Demand { curve: curve.clone(), mask, ..devil(at(0), 0, 1) };
    let stream = |mask| Demand { curve: MissCurve::parametric(60.0, 30.0, 0.5), mask, ..devil(at(0), 0, 1) };
    let first = |soft, other| fixed_point(&machine, &[soft, other], None).0;
    let shared = first(soft(0xffff), stream(0xffff));
    let apart = first(soft(0xfffc), stream(0x3));
    assert!(apart.rates[0] > 1.05 * shared.rates[0], "{} {}", apart.rates[0], shared.rates[0]);
    // 14 of 16 ways of 8 MiB are 7 MiB, all its own.
    assert!((apart.held[0] / (7.0 * 1_048_576.0) - 1.0).abs() < 1e-3, "{}", apart.held[0]);
    // Two ways that both may fill: worse than apart, better than all shared.
    let overlap = first(soft(0xffff), stream(0x3));
    assert!(overlap.rates[0] > shared.rates[0] && overlap.held[0] > apart.held[0], "{overlap:?}");
}
