use super::{Demand, Solution, State, solve};
use crate::machine::{MachineSpec, Place, find};
use crate::program::MissCurve;
use proptest::prelude::*;

fn devil(place: Place, memory: usize, nodes: usize) -> Demand {
    let weights = (0..nodes).map(|node| if node == memory { 1.0 } else { 0.0 }).collect();
    let curve = MissCurve::parametric(12.0, 20.0, 1.0);
    Demand {
        share: 1.0,
        place,
        cpi: 0.8,
        curve,
        factor: 1.0,
        mlp: 3.0,
        write_back: 0.3,
        footprint: 1e9,
        reach: 1.0,
        weights,
    }
}

fn at(node: usize) -> Place {
    Place { node, llc: node }
}

fn fixed_point(machine: &MachineSpec, all: &[Demand]) -> Solution {
    solve(machine, all, None, &mut State::default())
}

/// Figure 3 of the DINO paper: a target with three competitors, the factors added one by one.
#[test]
fn the_scenarios_of_dino_order_as_they_must() {
    let machine = find("barcelona-4x4").unwrap();
    let rate = |target: Demand, others: Vec<Demand>| {
        let all: Vec<_> = std::iter::once(target).chain(others).collect();
        fixed_point(&machine, &all).rates[0]
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

#[test]
fn accesses_issued_are_accesses_served() {
    let machine = find("nehalem-2x4").unwrap();
    let all = [devil(at(0), 0, 2), devil(at(0), 1, 2), devil(at(1), 1, 2)];
    let got = fixed_point(&machine, &all);
    let issued: f64 = (0..3).map(|i| 64.0 * 1.3 * got.misses[i] * got.rates[i]).sum();
    let served: f64 = got.loads.iter().take(2).sum();
    assert!((issued / served - 1.0).abs() < 1e-12);
    // The remote one reads over one direction of the link and writes back over the other.
    let remote = 64.0 * got.misses[1] * got.rates[1];
    assert!((got.loads[3] / remote - 1.0).abs() < 1e-12 && (got.loads[2] / (0.3 * remote) - 1.0).abs() < 1e-12);
}

#[test]
fn a_page_copy_takes_bandwidth_from_both_nodes() {
    let machine = find("barcelona-4x4").unwrap();
    let all = vec![devil(at(0), 0, 4); 4];
    let quiet = fixed_point(&machine, &all);
    let copying = solve(&machine, &all, Some((0, 3)), &mut State::default());
    assert!(copying.rates[0] < quiet.rates[0]);
    assert!(copying.copied > 10_000.0 && copying.copied < 250_000.0, "{}", copying.copied);
    assert!((copying.loads[3] / (4096.0 * copying.copied) - 1.0).abs() < 1e-9);
}

#[test]
fn relabelling_nodes_relabels_the_result() {
    let machine = MachineSpec::synthetic("node:3 llc:1 core:4").unwrap();
    let turn = |node: usize| (node + 1) % 3;
    let homes = [(0, 0), (0, 1), (1, 0), (2, 2), (2, 0)];
    let rates = |map: &dyn Fn(usize) -> usize| {
        let all: Vec<_> = homes.iter().map(|(cpu, memory)| devil(at(map(*cpu)), map(*memory), 3)).collect();
        fixed_point(&machine, &all).rates
    };
    for (a, b) in rates(&|node| node).iter().zip(rates(&turn)) {
        assert!((a / b - 1.0).abs() < 1e-5, "{a} {b}");
    }
}

fn any_demand(nodes: usize) -> impl Strategy<Value = Demand> {
    let curve = (0.0..60.0f64, 0.0..60.0f64, 0.05..20.0f64);
    let place = (0..nodes, proptest::collection::vec(0.0..1.0f64, nodes), 0.1..1.0f64);
    (curve, place, 0.3..2.0f64, 1.0..8.0f64, 0.0..1.0f64, 1e5..1e9f64).prop_map(
        |((streaming, reuse, half_mib), (node, raw, share), cpi, mlp, write_back, footprint)| {
            let sum: f64 = raw.iter().sum::<f64>() + 1e-9;
            let mut weights: Vec<_> = raw.iter().map(|weight| weight / sum).collect();
            weights[0] += 1.0 - weights.iter().sum::<f64>();
            let curve = MissCurve::parametric(streaming, reuse, half_mib);
            Demand { share, place: at(node), cpi, curve, factor: 1.0, mlp, write_back, footprint, reach: 1.0, weights }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn it_settles_and_never_delivers_more_than_capacity(all in proptest::collection::vec(any_demand(4), 1..20)) {
        let machine = find("barcelona-4x4").unwrap();
        let got = fixed_point(&machine, &all);
        prop_assert!(got.settled);
        for (load, resource) in got.loads.iter().zip(&machine.resources) {
            prop_assert!(*load <= resource.capacity * (1.0 + 1e-8));
        }
    }

    #[test]
    fn on_one_domain_nobody_gains_from_a_neighbour(all in proptest::collection::vec(any_demand(1), 2..10)) {
        let machine = MachineSpec::synthetic("node:1 core:8").unwrap();
        let without = fixed_point(&machine, &all[1..]);
        let with = fixed_point(&machine, &all);
        for (before, after) in without.rates.iter().zip(&with.rates[1..]) {
            prop_assert!(*after <= before * (1.0 + 1e-5), "{before} {after}");
        }
    }
}
