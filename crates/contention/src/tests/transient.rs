//! Tests the method that follows the flow, on a machine on which Newton's method stops short.

use super::machines::{MIB, at, devil};
use super::ring::ring;
use crate::budget::{Budget, Meter};
use crate::{Cache, Demand, Machine, MissCurve, Packets, Place, Question, Solver, bracket, newton, solve};

/// Slow links that broadcast probes, on which five threads send and wait for each other. Found by
/// the law `what_is_issued_is_served_and_never_more_than_capacity`.
fn crowded() -> (Machine, Vec<Demand>) {
    let packets = Packets { request: 4.06, probe: 6.217, response: 0.4111 };
    let cache = Cache { bytes: 0.5 * MIB, ways: 2, private: 0.0 };
    let machine = ring(4, 2, [112.1e-9, 123.4e-9], [22.09e9, 1.325e9], packets, cache);
    let thread = |llc,
                  share,
                  [compute, streaming, reuse, half]: [f64; 4],
                  [mlp, prefetch, write_back]: [f64; 3],
                  weights: [f64; 4]| {
        let (curve, sum) = (MissCurve::parametric(streaming, reuse, half), weights.iter().sum::<f64>());
        let (place, weights) = (Place { node: llc / 2, llc }, weights.map(|weight| weight / sum).to_vec());
        let rest = Demand { mask: 1, footprint: 1e5, ..devil(at(0), 0, 4) };
        Demand { share, place, compute: compute * 1e-9, curve, mlp, prefetch, write_back, weights, ..rest }
    };
    let threads = vec![
        thread(6, 0.7389, [0.15, 0.0, 23.08, 16.97], [6.854, 1.775, 0.8712], [0.3529, 0.3375, 0.0, 0.3096]),
        thread(2, 0.8589, [0.15, 0.0, 47.42, 0.05], [7.063, 0.0, 0.3496], [0.2435, 0.3402, 0.3091, 0.1072]),
        thread(2, 0.7641, [0.6559, 19.92, 39.92, 5.1], [3.391, 2.843, 0.6329], [0.5264, 0.0, 0.0, 0.4736]),
        thread(6, 0.1, [0.15, 0.0, 23.62, 6.8], [7.535, 2.658, 0.0], [0.0, 0.6857, 0.2537, 0.06062]),
        thread(2, 0.9981, [0.15, 25.2, 0.0, 0.05], [5.075, 1.853, 0.9815], [0.128, 0.3429, 0.2811, 0.248]),
        thread(6, 0.7308, [0.2367, 18.39, 0.0, 0.05], [7.27, 1.092, 0.7987], [0.2823, 0.3086, 0.04196, 0.3671]),
    ];
    (machine, threads)
}

#[test]
fn what_newton_and_the_search_do_not_find_the_flow_leads_to() {
    let (machine, threads) = crowded();
    let question = Question { machine: &machine, threads: &threads, copy: None };
    let mut solver = Solver::default();
    solver.pose(&question).unwrap();
    let meter = &mut Meter::new(Budget(20_000));
    let Solver { network, at, work, .. } = &mut solver;
    network.evaluate(at, meter).unwrap();
    assert!(!newton::descend(network, at, work, meter).unwrap());
    let short = at.error;
    assert!(bracket::search(network, at, work, meter).is_err());
    let answer = solve(&question, Budget::default()).unwrap();
    assert!(short > 1e-2 && answer.evaluations < 100, "{short}, {}", answer.evaluations);
}
