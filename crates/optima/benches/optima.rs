//! How long exact optima take, for generated profiles (falling miss curves from a fixed sequence)
//! and for the measured tables if they are available.

#![allow(clippy::unwrap_used, missing_docs)]

#[allow(dead_code)]
#[path = "../tests/support/random.rs"]
mod random;
#[path = "../../partition/tests/support/mod.rs"]
mod reference;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, criterion_group, criterion_main};
use isobar_model::Profile;
use isobar_optima::{Objective, Options, opt_cluster, optimal};
use isobar_partition::model::{Bandwidth, PbbCache};
use random::{Random, Shape, workload};
use std::hint::black_box;

type Benches<'a> = BenchmarkGroup<'a, WallTime>;

fn simple(programs: Vec<Profile>, ways: usize, limit: f64) -> PbbCache {
    PbbCache::new(Bandwidth::Simple, programs, ways, Some(limit))
}

fn cluster(criterion: &mut Benches<'_>, name: &str, model: &PbbCache) {
    let options = Options::new(Objective::Unfairness);
    criterion.bench_function(name, |bench| bench.iter(|| opt_cluster(black_box(model), &options).unwrap()));
}

fn in_groups(criterion: &mut Benches<'_>, name: &str, model: &PbbCache, groups: usize) {
    for (objective, word) in [(Objective::Unfairness, "unfairness"), (Objective::Throughput, "throughput")] {
        let options = Options { groups, cores: Some(4), ..Options::new(objective) };
        let name = format!("{name}, {word}");
        criterion.bench_function(&name, |bench| bench.iter(|| optimal(black_box(model), &options).unwrap()));
    }
}

fn generated(criterion: &mut Benches<'_>) {
    let programs = |count| workload(&mut Random(7), count, 11, Shape::Falling);
    cluster(criterion, "opt-cluster, 8 generated on 11 ways", &simple(programs(8), 11, 20_000.0));
    cluster(criterion, "opt-cluster, 12 generated on 11 ways", &simple(programs(12), 11, 20_000.0));
    for (count, groups, ways) in [(8, 2, 11), (12, 3, 16), (16, 4, 16)] {
        let name = format!("optimal, {count} generated in {groups} on {ways} ways");
        in_groups(criterion, &name, &simple(programs(count), ways, 6000.0), groups);
    }
}

fn measured(criterion: &mut Benches<'_>) {
    let (Some(profiles), Some(eight), Some(twelve), Some(sixteen)) = (
        reference::profiles(),
        reference::reference("timed8.csv"),
        reference::reference("timed12.csv"),
        reference::reference("timed16.csv"),
    ) else {
        return;
    };
    let programs = |line: &str| line.split(',').map(|name| profiles[name].clone()).collect::<Vec<_>>();
    let first = |text: &str| programs(text.lines().next().unwrap());
    cluster(criterion, "opt-cluster, timed8 line 1", &simple(first(&eight), 11, 20_000.0));
    for (index, line) in twelve.lines().enumerate() {
        let name = format!("opt-cluster, timed12 line {}", index + 1);
        cluster(criterion, &name, &simple(programs(line), 11, 20_000.0));
    }
    let issue = "astar06,lbm06,perlbmk00,zeusmp06,cactusADM06,gap00,perlbench06,GemsFDTD06";
    in_groups(criterion, "optimal, the issue's 8 in 2 on 11 ways", &simple(programs(issue), 11, 6000.0), 2);
    in_groups(criterion, "optimal, timed12 line 1 in 3 on 16 ways", &simple(first(&twelve), 16, 6000.0), 3);
    in_groups(criterion, "optimal, timed16 line 1 in 4 on 16 ways", &simple(first(&sixteen), 16, 6000.0), 4);
    let both = [first(&sixteen), first(&eight)].concat();
    in_groups(criterion, "optimal, timed16 and timed8 line 1 (24) in 6 on 16 ways", &simple(both, 16, 6000.0), 6);
}

fn all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("optima");
    // A search takes long, so every sample has the same number of runs.
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    generated(&mut group);
    measured(&mut group);
    group.finish();
}

criterion_group!(benches, all);
criterion_main!(benches);
