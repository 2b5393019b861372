//! Metrics and all eight mappings of a million pages and 64 threads, on one core. Ten million pages
//! take ten times as long, and 6 GB; `ISOBAR_BENCH_PAGES` sets another number. Times are CPU times,
//! followed by the peak memory of the process.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_macros)]

mod cpu_time;

use cpu_time::CpuTime;
use criterion::{Criterion, criterion_group, criterion_main};
use isobar_pages::report::{Question, Report};
use isobar_pages::trace::Header;
use isobar_pages::{Homes, Mapping, Metrics, Page, PageProfile, Seen, Structure, Usage, exclusivity};
use std::hint::black_box;

const THREADS: usize = 64;

fn usage(pages: u64) -> Usage {
    let mut usage = Usage::new(THREADS, 4096).unwrap();
    let mut row = [0_u64; THREADS];
    let mut state = 1_u64;
    // Sixteen arrays that are touched side by side, as loops do: the order of first touches differs
    // from the order of addresses.
    for at in 0..pages {
        let number = at % 16 * (1 << 28) + at / 16;
        for count in &mut row {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *count = state >> 52;
        }
        // Three pages of four are accessed mostly by one thread.
        let owner = usize::try_from(at / 16 % 64).unwrap_or(0);
        row[owner] += if at % 4 == 0 { 0 } else { 1 << 20 };
        usage.push(Page { number, first: 0 }, &row).unwrap();
    }
    usage
}

fn profile(usage: Usage) -> PageProfile {
    let count = usage.pages().len();
    let one = |number: usize| Structure { name: format!("array {number}"), line: None, region: None };
    let header =
        Header { engine: String::new(), sampled: None, page_bytes: 4096, slice_ns: 10_000_000, command: Vec::new() };
    PageProfile {
        header,
        structures: (0..16).map(one).collect(),
        structure_of: (0..count).map(|page| u32::try_from(page * 16 / count).unwrap_or(0)).collect(),
        threads: (0..THREADS).map(|number| format!("T{number}")).collect(),
        usage,
        linux: None,
        end: None,
    }
}

/// Peak memory of this process, as the kernel reports it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: not known").to_owned()
}

fn metrics(criterion: &mut Criterion<CpuTime>) {
    let pages = std::env::var("ISOBAR_BENCH_PAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let (usage, homes) = (usage(pages), Homes::compact(4, THREADS).unwrap());
    let mut group = criterion.benchmark_group("pages");
    group.sample_size(10);
    group.bench_function(format!("metrics and 8 mappings, {pages} pages x {THREADS} threads"), |bench| {
        bench.iter(|| {
            let seen = Seen::new(&usage, &homes).unwrap();
            black_box(exclusivity(&seen));
            for mapping in Mapping::ALL {
                black_box(Metrics::of(&seen, &mapping.place(&seen)));
            }
        });
    });
    println!("{}", peak());
    let profile = profile(usage);
    group.bench_function(format!("report, {pages} pages x {THREADS} threads, 16 structures"), |bench| {
        bench.iter(|| {
            let question = Question { homes: &homes, min_excl: 0.9, page_bytes: None, sweep: false, course: None };
            black_box(Report::of(&profile, question).unwrap())
        });
    });
    group.finish();
    println!("{}", peak());
}

criterion_group!(name = benches; config = Criterion::default().with_measurement(CpuTime); targets = metrics);
criterion_main!(benches);
