//! How fast profiles are read: rows of a trace (a row holds a thread's accesses to a page in a
//! slice), and bytes of a page profile in CSV with 64 threads. Times are CPU times.

#![allow(clippy::unwrap_used)]

mod cpu_time;

use cpu_time::CpuTime;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use isobar_pages::PageProfile;
use isobar_pages::import::numalize;
use isobar_pages::trace::{Header, Row, Slice, Writer};
use std::fmt::Write;
use std::hint::black_box;

/// Slices in one second of the program's run.
const SLICES: u64 = 100;
const ROWS: u64 = 100_000;

/// Slices in which each page is accessed by this many threads. The pages lie in runs, as pages of
/// arrays do.
fn trace(threads: u32) -> Vec<u8> {
    let header = Header { engine: "bench".into(), sampled: None, page_bytes: 4096, slice_ns: 1, command: vec![] };
    let mut writer = Writer::new(Vec::new(), &header).unwrap();
    let mut state = 1_u64;
    for number in 0..SLICES {
        let row = |at: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let page = at / u64::from(threads);
            let thread = u32::try_from(if threads == 1 { page / 500 % 64 } else { at % u64::from(threads) }).unwrap();
            // A fifth of the counts takes two bytes.
            Row { page: page + page / 1000 * 77, thread, loads: (state >> 40) % 160, stores: (state >> 50) % 100 }
        };
        writer.slice(&Slice { number, first: vec![], rows: (0..ROWS).map(row).collect() }).unwrap();
    }
    writer.into_inner()
}

fn csv(pages: u64) -> String {
    let mut text =
        String::from("page.address,alloc.thread,alloc.location,firsttouch.thread,firsttouch.location,structure.name");
    (0..64).for_each(|thread| write!(text, ",T{thread}").unwrap());
    let mut state = 1_u64;
    for page in 0..pages {
        write!(text, "\n{},0,matmul.c:2,0,matmul.c:9,B", 34_000_000_000 + page).unwrap();
        for _ in 0..64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            write!(text, ",{}", state >> 44).unwrap();
        }
    }
    text + "\n"
}

fn speed(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("ingestion");
    group.sample_size(10);
    for threads in [1, 4, 64] {
        let bytes = trace(threads);
        group.throughput(Throughput::Elements(SLICES * ROWS));
        group.bench_function(format!("rows of a trace, {threads} threads a page"), |bench| {
            bench.iter(|| black_box(PageProfile::read(black_box(bytes.as_slice())).unwrap()));
        });
    }
    let text = csv(100_000);
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("CSV of 64 threads", |bench| {
        bench.iter(|| black_box(numalize::read(black_box(text.as_bytes())).unwrap()));
    });
    group.finish();
}

criterion_group!(name = benches; config = Criterion::default().with_measurement(CpuTime); targets = speed);
criterion_main!(benches);
