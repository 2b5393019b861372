//! What an access costs the host: hits of the private cache (the last used line, and any line of a
//! set), LLC hits, LLC misses of one CPU and of a stream; and what the end of a window costs with
//! CPUs that all miss everywhere. Each sample runs a fixed list of addresses.
#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use numasim_model::{Link, Llc, Machine, Node, Spec};
use std::hint::black_box;

const COUNT: u64 = 4096;

fn machine() -> Machine {
    Machine::new(&Spec::parse(include_str!("../../machines/small-2x2.toml"), "small-2x2").unwrap()).unwrap()
}

/// A walk over this many lines in an order without streams: steps by a number that has no factor in
/// common with their count.
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

/// A ring of this many nodes with 8 CPUs each.
fn ring(nodes: u32) -> Machine {
    let mut spec = Spec::parse(include_str!("../../machines/small-2x2.toml"), "ring").unwrap();
    let (node, llc, link) = (spec.node[0].clone(), spec.llc[0].clone(), spec.link[0].clone());
    let cpus = |id: u32| (8 * id as usize..8 * id as usize + 8).collect();
    spec.node = (0..nodes).map(|id| Node { id, cpus: cpus(id), ..node.clone() }).collect();
    spec.llc = (0..nodes).map(|id| Llc { id, cpus: cpus(id), ..llc.clone() }).collect();
    spec.link = (0..nodes).map(|a| Link { a, b: (a + 1) % nodes, ..link.clone() }).collect();
    spec.latency.ns = vec![vec![1200.0; nodes as usize]; nodes as usize];
    Machine::new(&spec).unwrap()
}

/// Every CPU misses 40 times, on all nodes by turns.
fn windows(c: &mut Criterion) {
    let mut group = c.benchmark_group("window, 40 misses a CPU");
    for nodes in [2_u32, 4, 8] {
        let mut machine = ring(nodes);
        let (cpus, memory) = (8 * nodes as usize, u64::from(nodes) * (512 << 20));
        let (busy, mut at) = (vec![100_000_000; cpus], 0_u64);
        for end in [false, true] {
            let name = format!("{nodes} nodes of 8 CPUs{}", if end { "" } else { ", the misses alone" });
            group.bench_function(name, |bench| {
                bench.iter(|| {
                    for cpu in 0..cpus {
                        for _ in 0..40 {
                            at = (at + 70_001 * 64) % memory;
                            machine.access(cpu, at, true);
                        }
                    }
                    if end {
                        machine.window(100_000_000, &busy);
                    }
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, accesses, windows);
criterion_main!(benches);
