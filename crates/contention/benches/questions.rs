//! Measures how long one question takes: as a policy asks it about a candidate placement, as the
//! simulator asks it when a phase changes, and as the exact search of a static study asks it
//! millions of times.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../src/tests/machines.rs"]
mod machines;

use criterion::{Criterion, criterion_group, criterion_main};
use isobar_contention::{
    Budget, Cache, Contender, Demand, Machine, MissCurve, Packets, Parts, Place, Question, Resource, Scratch, Sharers,
    Solver, Steady, least_cost, solve,
};
use machines::{at, mesh, mixed};
use std::hint::black_box;

fn general(criterion: &mut Criterion) {
    for (count, nodes) in [(16, 4), (160, 8)] {
        let (machine, cold) = (mesh(nodes, 1), mixed(count, nodes));
        let question = |threads| Question { machine: &machine, threads, copy: None };
        let name = format!("{count} threads on {nodes} nodes");
        criterion.bench_function(&format!("{name}/cold"), |bencher| {
            bencher.iter(|| solve(black_box(&question(&cold)), Budget::default()).unwrap());
        });
        let mut solver = Solver::default();
        let held = solver.ask(&question(&cold), Budget::default()).unwrap().held.clone();
        let threads: Vec<_> = cold.iter().zip(held).map(|(one, held)| Demand { held, ..one.clone() }).collect();
        let mut swapped = threads.clone();
        (swapped[0].place, swapped[1].place) = (at(1), at(0));
        let mut turn = [&swapped, &threads].into_iter().cycle();
        criterion.bench_function(&format!("{name}/warm, two threads swapped"), |bencher| {
            bencher.iter(|| {
                let threads = turn.next().unwrap();
                solver.ask(black_box(&question(threads)), Budget::default()).unwrap().rates[0]
            });
        });
        let mut factor = [1.1, 1.0].into_iter().cycle();
        criterion.bench_function(&format!("{name}/warm, a phase changes"), |bencher| {
            bencher.iter(|| {
                solver.set_factor(0, factor.next().unwrap());
                solver.settle(Budget::default()).unwrap().rates[0]
            });
        });
    }
}

/// A cache of 27.5 MB with 11 ways and a controller of 76 GB/s, as in `skylake-2x20` (machines).
fn skylake() -> Machine {
    let mut parts = mesh(1, 1).parts().clone();
    parts.resources[0] = Resource { capacity: 76e9, queue: 15e-9 };
    parts.llcs[0] = Cache { bytes: 27.5 * machines::MIB, ways: 11, private: 0.0 };
    Machine::new(parts).unwrap()
}

fn steady(criterion: &mut Criterion) {
    for (limit, gb) in [("wide", 76e9), ("narrow", 8e9)] {
        let steady = Steady::new(&skylake(), Some(gb), &mixed(8, 1));
        let mut scratch = Scratch::default();
        let mut ask = |name: &str, clusters: &[Sharers<'_>]| {
            criterion.bench_function(&format!("steady/{limit}/{name}"), |bencher| {
                bencher.iter(|| steady.paces(black_box(clusters).iter().copied(), &mut scratch).unwrap()[0]);
            });
        };
        let cluster = |programs, ways| Sharers { programs, ways };
        ask("4 programs, 2 clusters", &[cluster(&[0, 1], 4), cluster(&[2, 3], 7)]);
        ask("8 programs, 1 cluster", &[cluster(&[0, 1, 2, 3, 4, 5, 6, 7], 11)]);
        ask(
            "8 programs, 4 clusters",
            &[cluster(&[0], 5), cluster(&[1, 3, 5], 2), cluster(&[4], 2), cluster(&[2, 6, 7], 2)],
        );
    }
}

/// The bound over all placements of 16 threads of 8 programs.
fn pooled(criterion: &mut Criterion) {
    let machine = mesh(4, 1);
    let contender = |thread| Contender { thread, weight: 1.0, count: 1.0 };
    let all: Vec<_> = mixed(16, 4).into_iter().map(contender).collect();
    criterion.bench_function("pooled/16 threads", |bencher| bencher.iter(|| least_cost(&machine, black_box(&all))));
}

criterion_group!(benches, general, steady, pooled);
criterion_main!(benches);
