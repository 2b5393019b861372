//! How long one question to the fixed point takes: what a static study's exact search asks millions of times.

#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use isobar_sim::contention::steady::{Scratch, Sharers, Steady};
use isobar_sim::{Program, machine, program};
use std::hint::black_box;
use std::sync::Arc;

const PROGRAMS: [&str; 8] = ["mcf", "lbm", "povray", "milc", "omnetpp", "soplex", "namd", "gobmk"];

fn questions(criterion: &mut Criterion) {
    let library = program::shipped().unwrap();
    let programs: Vec<Arc<Program>> =
        PROGRAMS.iter().map(|name| library.find("bench", "program", name).unwrap()).collect();
    let machine = machine::find("skylake-2x20").unwrap();
    let all: Vec<&Program> = programs.iter().map(Arc::as_ref).collect();
    for (limit, gb) in [("wide", 76e9), ("narrow", 8e9)] {
        let steady = Steady::new(&machine, Some(gb), &all);
        let mut scratch = Scratch::default();
        let mut ask = |name: &str, clusters: &[Sharers<'_>]| {
            criterion.bench_function(&format!("steady/{limit}/{name}"), |bencher| {
                bencher.iter(|| steady.paces(black_box(clusters).iter().copied(), &mut scratch)[0]);
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

criterion_group!(benches, questions);
criterion_main!(benches);
