//! Compares the bound over all placements with actual placements.

use super::machines::{mesh, mixed};
use crate::{Budget, Contender, Demand, Machine, Place, Question, Solver, least_cost};
use proptest::prelude::*;

fn contenders(threads: &[Demand]) -> Vec<Contender> {
    threads.iter().map(|thread| Contender { thread: thread.clone(), weight: 1.0, count: 1.0 }).collect()
}

fn cost(machine: &Machine, threads: &[Demand]) -> f64 {
    let mut solver = Solver::default();
    let question = Question { machine, threads, copy: None };
    solver.ask(&question, Budget::default()).unwrap().rates.iter().map(|rate| 1.0 / rate).sum()
}

/// If nothing is contended, the bound is what a thread takes alone with the whole cache.
#[test]
fn one_thread_alone_is_at_its_bound() {
    let machine = mesh(1, 1);
    for thread in mixed(8, 1) {
        let (bound, alone) =
            (least_cost(&machine, &contenders(std::slice::from_ref(&thread))), cost(&machine, &[thread]));
        assert!(bound <= alone && bound > 0.97 * alone, "{bound} {alone}");
    }
}

/// Equal threads on equal nodes, one on each: nothing better is possible, and the bound is near.
#[test]
fn equal_threads_on_equal_nodes_are_near_their_bound() {
    let machine = mesh(4, 1);
    let all = mixed(1, 4);
    let place = |index: usize| Demand {
        place: Place { node: index % 4, llc: index % 4 },
        weights: (0..4).map(|node| if node == index % 4 { 1.0 } else { 0.0 }).collect(),
        ..all[0].clone()
    };
    let threads: Vec<_> = (0..16).map(place).collect();
    let (bound, cost) = (least_cost(&machine, &contenders(&threads)), cost(&machine, &threads));
    assert!(bound <= cost && bound > 0.95 * cost, "{bound} {cost}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Threads anywhere, pages anywhere, ways of any kind.
    #[test]
    fn no_placement_is_below_the_bound(
        drawn in prop::collection::vec((0..4_usize, prop::collection::vec(0.0..1.0f64, 4), 0..16_u32, 1..16_u32), 2..12),
    ) {
        let machine = mesh(4, 1);
        let threads: Vec<Demand> = mixed(drawn.len(), 4)
            .into_iter()
            .zip(&drawn)
            .map(|(thread, (llc, raw, first, count))| {
                let sum: f64 = raw.iter().sum::<f64>() + 1e-9;
                let mut weights: Vec<f64> = raw.iter().map(|weight| weight / sum).collect();
                weights[0] += 1.0 - weights.iter().sum::<f64>();
                let mask = (u64::MAX >> (64 - count)) << first | 1;
                Demand { place: Place { node: *llc, llc: *llc }, mask, weights, ..thread }
            })
            .collect();
        let bound = least_cost(&machine, &contenders(&threads));
        let cost = cost(&machine, &threads);
        prop_assert!(bound <= cost * (1.0 + 1e-9), "{} {}", bound, cost);
        prop_assert!(bound > 0.0);
    }
}

/// Less memory bandwidth and less cache raise the bound.
#[test]
fn a_smaller_machine_has_a_higher_bound() {
    let threads = contenders(&mixed(16, 1));
    let wide = least_cost(&mesh(4, 1), &threads);
    let narrow = least_cost(&mesh(1, 1), &threads);
    assert!(narrow > 1.1 * wide, "{narrow} {wide}");
}
