//! The cost of an access of a synthetic trace: a sweep, chased pointers, and four zones of a
//! program with four threads.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use isobar_pages::synthetic::{Pattern, Recipe, RecipeError, Trace, Zone};
use std::hint::black_box;

const ACCESSES: u64 = 1_000_000;

fn zone(lines: u32, pattern: Pattern) -> Zone {
    Zone { pages: 100_000, weight: 1.0, lines, pattern, shared: false }
}

fn trace(threads: u16, zones: Vec<Zone>) -> Result<Trace, RecipeError> {
    Recipe { threads, accesses: ACCESSES, zones }.trace(1)
}

#[allow(clippy::expect_used)]
fn speed(c: &mut Criterion) {
    let sweep = zone(64, Pattern::Sweep);
    let chase = zone(1, Pattern::Chase { hot_pages: 0.1, hot_visits: 0.8, run: 16 });
    let drift = zone(4, Pattern::Drift { window: 2000, visits: 100 });
    let stride = zone(1, Pattern::Stride { pages: 300, rounds: 64 });
    let mut group = c.benchmark_group("accesses of a trace");
    group.throughput(Throughput::Elements(ACCESSES));
    let all = vec![sweep.clone(), chase.clone(), drift, stride];
    for (name, threads, zones) in [("sweep", 1, vec![sweep]), ("chase", 1, vec![chase]), ("mixed", 4, all)] {
        let trace = trace(threads, zones).expect("a recipe of the bench is right");
        group.bench_function(name, |b| {
            b.iter(|| trace.clone().fold(0_u64, |sum, access| sum.wrapping_add(u64::from(black_box(access).page))));
        });
    }
    group.finish();
}

criterion_group!(benches, speed);
criterion_main!(benches);
