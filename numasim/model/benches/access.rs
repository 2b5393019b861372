//! What an access costs the host: hits of the private cache (the last used line, and any line of a set), LLC hits, LLC misses of one
//! CPU and of a stream; and what the end of a window costs with 16 CPUs that all miss. Each sample runs a fixed list of addresses.
#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use numasim_model::{Machine, Spec};
use std::hint::black_box;

const COUNT: u64 = 4096;

fn machine() -> Machine {
    Machine::new(&Spec::parse(include_str!("../../machines/small-2x2.toml"), "small-2x2").unwrap()).unwrap()
}

/// A walk over so many lines in an order without streams: steps by a number that has no factor in common with their count.
fn walk(lines: u64, step: u64) -> Vec<u64> {
    (0..COUNT).map(|at| at * step % lines * 64).collect()
}

fn accesses(c: &mut Criterion) {
    let mut group = c.benchmark_group("access");
    group.throughput(Throughput::Elements(COUNT));
    // 8 KiB private (128 lines), 256 KiB LLC (4096 lines), nodes of 512 MiB.
    let cases = [
        ("private hit, same line", walk(1, 1)),
        ("private hit, stream of words", (0..COUNT).map(|at| at * 8 % 4096).collect()),
        ("private hit, any of 8 ways", walk(128, 37)),
        ("llc hit", walk(2048, 389)),
        ("llc miss", walk(1 << 20, 70_001)),
        ("llc miss, stream", walk(1 << 20, 1)),
    ];
    for (name, list) in cases {
        let mut machine = machine();
        let mut base = 0;
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let mut stall = 0;
                for (position, addr) in list.iter().enumerate() {
                    stall += machine.access(0, black_box(addr + base), position % 4 == 0);
                }
                // Where misses are wanted, other lines each time.
                base = if name.starts_with("llc miss") { (base + (64 << 20)) % (512 << 20) } else { 0 };
                stall
            });
        });
    }
    group.finish();
}

/// Two nodes of 8 CPUs each.
fn wide() -> Machine {
    let mut text = include_str!("../../machines/small-2x2.toml").to_owned();
    for (two, eight) in [("\"0-1\"", "\"0-7\""), ("\"2-3\"", "\"8-15\"")] {
        text = text.replace(two, eight);
    }
    Machine::new(&Spec::parse(&text, "wide").unwrap()).unwrap()
}

fn windows(c: &mut Criterion) {
    let mut machine = wide();
    let busy = [100_000_000; 16];
    let mut at = 0_u64;
    c.bench_function("window of 16 CPUs and 40 misses each", |bench| {
        bench.iter(|| {
            for cpu in 0..16 {
                for _ in 0..40 {
                    at = (at + 70_001 * 64) % (1 << 30);
                    machine.access(cpu, at, true);
                }
            }
            machine.window(100_000_000, &busy);
        });
    });
}

criterion_group!(benches, accesses, windows);
criterion_main!(benches);
