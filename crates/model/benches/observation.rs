//! Measures how long it takes to derive an observation from two samples of 1,000 threads; the
//! target is under 1 ms.

#![allow(missing_docs, clippy::expect_used)]

use criterion::{Criterion, criterion_group, criterion_main};
use isobar_model::sample::{ProcessSample, Sample, ThreadSample};
use isobar_model::topology::synthetic::synthetic;
use isobar_model::{Count, Counters, CpuId, NodeId, NodeMap, Observation, Pages, Pid, Seconds, Tid};
use std::hint::black_box;
use std::sync::Arc;

fn sample(time: u32, processes: u32, threads: u32) -> Sample {
    let topology = Arc::new(synthetic("node:4 llc:1 core:16").expect("a machine"));
    let count =
        |tid: u32| Some(Count::whole(u64::from(time) * u64::from(tid + 1) * 1000, u64::from(time) * 1_000_000_000));
    let thread = |tid: u32| ThreadSample {
        tid: Tid(tid),
        start: 1,
        cpu: Some(CpuId(tid % 64)),
        allowed: Some(topology.online().clone()),
        cpu_time: Some(Seconds(f64::from(time))),
        counters: Counters {
            instructions: count(tid),
            cycles: count(tid),
            llc_references: count(tid),
            llc_misses: count(tid),
            cache_transfers: None,
            bytes: None,
        },
        ..ThreadSample::default()
    };
    let process = |index: u32| ProcessSample {
        pid: Pid(index * threads),
        start: 1,
        name: "bench".into(),
        pages: Some(NodeMap::from_iter((0..4).map(|node| (NodeId(node), Pages(1000))))),
        threads: (0..threads).map(|tid| thread(index * threads + tid)).collect(),
        ..ProcessSample::default()
    };
    let processes = (0..processes).map(process).collect();
    Sample::bare(Seconds(f64::from(time)), Arc::clone(&topology), processes)
}

fn between(c: &mut Criterion) {
    for (processes, threads) in [(100, 10), (1000, 1)] {
        let (prev, next) = (sample(1, processes, threads), sample(2, processes, threads));
        c.bench_function(&format!("between/{processes} processes of {threads} threads"), |b| {
            b.iter(|| Observation::between(black_box(&prev), black_box(&next)));
        });
    }
}

criterion_group!(benches, between);
criterion_main!(benches);
