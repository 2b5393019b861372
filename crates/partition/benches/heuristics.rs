//! Times one LFOC+ decision for 22 applications, as in the mixes of Divide&Content with the most
//! programs. The target is under 13 us (Divide&Content, section VI).

#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use isobar_model::CacheClass::{LightSharing, Sensitive, Streaming};
use isobar_partition::heuristics::lfoc_plus::{App, Settings, partition};
use std::hint::black_box;

/// Slowdowns and misses at 1 to 11 ways that fall to a knee, at a different place for each program.
fn curves(program: u32) -> (Vec<f64>, Vec<f64>) {
    let (knee, height) = (f64::from(2 + program * 5 % 9), f64::from(3 + program * 7 % 11) / 10.0);
    let above = |ways: u32| (1.0 - f64::from(ways) / knee).max(0.0);
    let slowdown = (1..=11).map(|ways| 1.0 + height * above(ways)).collect();
    let misses = (1..=11).map(|ways| 1.0 + 30.0 * height * above(ways)).collect();
    (slowdown, misses)
}

fn decide(c: &mut Criterion, what: &str, sensitive: usize, streaming: usize, ways: usize) {
    let known: Vec<_> = (0..22).map(curves).collect();
    let app = |(index, (slowdown, llcmpkc)): (usize, &'static (Vec<f64>, Vec<f64>))| match index {
        _ if index < sensitive => App { class: Sensitive, slowdown, llcmpkc },
        _ if index < sensitive + streaming => App { class: Streaming, slowdown: &[], llcmpkc: &[] },
        _ => App { class: LightSharing, slowdown: &[], llcmpkc: &[] },
    };
    let known: &'static Vec<_> = Box::leak(Box::new(known));
    let apps: Vec<App<'static>> = known.iter().enumerate().map(app).collect();
    let settings = Settings::default();
    c.bench_function(&format!("lfoc+/22 applications, {what}"), |b| {
        b.iter(|| partition(black_box(&apps), ways, &settings));
    });
}

fn lfoc_plus(c: &mut Criterion) {
    decide(c, "8 sensitive, 6 streaming, 11 ways", 8, 6, 11);
    decide(c, "11 sensitive, 3 streaming, 11 ways", 11, 3, 11);
    decide(c, "22 sensitive, 11 ways", 22, 0, 11);
    decide(c, "22 sensitive, 20 ways", 22, 0, 20);
}

criterion_group!(benches, lfoc_plus);
criterion_main!(benches);
