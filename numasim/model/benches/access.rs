//! The host time of an access: hits of the private cache (the last used line, and any line of a
//! set), LLC hits, LLC misses of one CPU and of a stream; the same accesses in loops as compilers
//! write them, whose misses overlap; and the host time of closing a window with CPUs that all miss
//! on all nodes. Each sample runs a fixed list of addresses.
#![allow(clippy::unwrap_used, missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use numasim_model::flow::{Block, Reference};
use numasim_model::{Access, Core, Link, Llc, Machine, Node, Spec};
use std::hint::black_box;

const COUNT: u64 = 4096;

fn machine() -> Machine {
    Machine::new(&Spec::parse(include_str!("../../machines/small-2x2.toml"), "small-2x2").unwrap()).unwrap()
}

/// A walk over this many lines in an order without streams: the step has no factor in common with
/// the number of lines.
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
                // Uses other lines each time if misses are wanted.
                base = if name.starts_with("llc miss") { (base + (64 << 20)) % (512 << 20) } else { 0 };
                stall
            });
        });
    }
    group.finish();
}

/// Picoseconds of an instruction.
const INSTRUCTION: u64 = 8_000;

/// A CPU that runs a loop of one block again and again, as numasim's plugin drives the model.
struct Cpu {
    machine: Machine,
    core: Core,
    block: &'static Block,
    /// The memory references of the block, each with whether it stores.
    references: Vec<(Reference, bool)>,
    now: u64,
    executed: u64,
}

impl Cpu {
    fn of(instructions: &[&[u8]]) -> Self {
        let block: &'static Block = Box::leak(Box::new(Block::of(instructions.iter().map(|bytes| (*bytes, 0)))));
        // In these loops, memory is the last operand of a load and the first operand of a store.
        let stores = |at: usize| matches!(instructions[at], [0xf2, 0x0f, 0x11, ..] | [0x48, 0x89, ..]);
        let accesses = block.roles().iter().enumerate();
        let references = accesses.filter_map(|(at, role)| Some((role.reference?, stores(at)))).collect();
        Self { machine: machine(), core: Core::new(0), block, references, now: 0, executed: 0 }
    }

    /// Runs the loop once. `addresses` has an address for each access; `further` is added to all of
    /// them.
    fn turn(&mut self, addresses: &[u64], further: u64) {
        let count = self.block.count();
        let begun = self.now;
        self.executed += count;
        self.now += count * INSTRUCTION;
        self.now += self.core.begin(&mut self.machine, self.block, begun, self.executed);
        for ((reference, store), at) in self.references.iter().zip(addresses) {
            let (rest, at) = (u64::from(reference.rest), at + further);
            let access = Access { address: at, physical: at, store: *store };
            let (now, instruction) = (self.now - rest * INSTRUCTION, self.executed - rest);
            self.now += self.core.access(&mut self.machine, reference, access, now, instruction).stall;
        }
    }
}

/// `mov rax, [rax]`; `dec rcx`; `jne`: one load in flight.
const CHASE: [&[u8]; 3] = [&[0x48, 0x8b, 0x00], &[0x48, 0xff, 0xc9], &[0x75, 0xf8]];
/// Two loads, a store that needs both, and the loop: `movsd xmm0, [rsi+8*rcx]`; `addsd xmm0,
/// [rdx+8*rcx]`; `movsd [rdi+8*rcx], xmm0`; `inc rcx`; `jne`.
const TRIAD: [&[u8]; 5] = [
    &[0xf2, 0x0f, 0x10, 0x04, 0xce],
    &[0xf2, 0x0f, 0x58, 0x04, 0xca],
    &[0xf2, 0x0f, 0x11, 0x04, 0xcf],
    &[0x48, 0xff, 0xc1],
    &[0x75, 0xef],
];
/// A load indexed by a counter, and a store to the loaded address: `mov rax, [rsi+8*rcx]`;
/// `mov [rdi+rax], rax`; `inc rcx`; `jne`.
const SCATTER: [&[u8]; 4] = [&[0x48, 0x8b, 0x04, 0xce], &[0x48, 0x89, 0x04, 0x07], &[0x48, 0xff, 0xc1], &[0x75, 0xf3]];

/// Loops whose misses overlap.
fn overlapping(c: &mut Criterion) {
    let mut group = c.benchmark_group("access, overlapping");
    let chase = |lines: u64, step: u64| walk(lines, step).into_iter().map(|at| vec![at]).collect::<Vec<_>>();
    let words = |array: u64, at: u64| (array << 26) + at * 8;
    let cases = [
        ("chase in the LLC", &CHASE[..], chase(2048, 389)),
        ("chase in memory", &CHASE[..], chase(1 << 20, 70_001)),
        ("triad", &TRIAD[..], (0..COUNT).map(|at| [0, 1, 2].map(|array| words(array, at)).to_vec()).collect()),
        (
            "scatter",
            &SCATTER[..],
            walk(1 << 14, 7_919).iter().zip(0..).map(|(to, at)| vec![words(1, at), *to]).collect(),
        ),
    ];
    for (name, code, list) in cases {
        let mut cpu = Cpu::of(code);
        group.throughput(Throughput::Elements(COUNT * list[0].len() as u64));
        // Uses other lines each time if misses are wanted.
        let (step, mut further) = if name.ends_with("LLC") { (0, 0) } else { (4 << 20, 0) };
        group.bench_function(name, |bench| {
            bench.iter(|| {
                further = (further + step) % (64 << 20);
                list.iter().for_each(|addresses| cpu.turn(black_box(addresses), further));
                cpu.now
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

/// Every CPU misses 40 times, on all nodes in turn.
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

criterion_group!(benches, accesses, overlapping, windows);
criterion_main!(benches);
