//! Overlapping misses, tested with programs of x86 instructions: the exact cost of a loop of
//! independent loads, of a chase, of prefetches and of stores around the caches. The small machine
//! takes 1.2 us for a miss, with a window of 10 misses and 128 instructions.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

use crate::common::NODE;
use numasim_model::flow::Block;
use numasim_model::x86::Address;
use numasim_model::{Access, Core, Machine, Overlap, Spec, Tlb};

const MISS: u64 = 1_200_000;
/// Time of an instruction on the machine: 10 ns.
const STEP: u64 = 10_000;

fn machine(misses: u32, tlb: Option<Tlb>) -> Machine {
    let spec = Spec::parse(include_str!("../../../machines/small-2x2.toml"), "small-2x2").unwrap();
    Machine::new(&Spec { overlap: Overlap { misses, instructions: 128 }, tlb, ..spec }).unwrap()
}

/// A CPU that runs blocks.
struct Cpu {
    core: Core,
    machine: Machine,
    now: u64,
    instructions: u64,
}

impl Cpu {
    fn new(misses: u32) -> Self {
        Self { core: Core::new(0), machine: machine(misses, None), now: 0, instructions: 0 }
    }

    /// A CPU whose lines, here a huge page each, need a page walk of half a miss.
    fn walking(misses: u32) -> Self {
        let tlb = Tlb { entries: 1, ways: 1, walk_ns: MISS as f64 / 2e3 };
        Self { machine: machine(misses, Some(tlb)), ..Self::new(misses) }
    }

    /// Runs a block whose accesses go to these addresses, in order; odd addresses store.
    fn run(&mut self, block: &'static Block, addresses: &[u64]) {
        self.instructions += block.count();
        self.now += block.count() * STEP;
        self.now += self.core.begin(&mut self.machine, block, self.now, self.instructions);
        let mut addresses = addresses.iter();
        for role in block.roles() {
            if role.fence {
                self.now += self.core.fence(&mut self.machine, self.now);
            }
            if let Some(reference) = &role.reference {
                let address = *addresses.next().unwrap();
                let access = Access { address, physical: address & !1, store: address & 1 == 1 };
                self.now += self.core.access(&mut self.machine, reference, access, self.now, self.instructions).stall;
            }
        }
        assert_eq!(addresses.next(), None);
    }

    fn end(mut self) -> u64 {
        self.now += self.core.fence(&mut self.machine, self.now);
        self.now
    }
}

fn block(code: &[&[u8]]) -> &'static Block {
    Box::leak(Box::new(Block::of(code.iter().zip(0x1000..).map(|(bytes, at)| (*bytes, at)))))
}

/// Lines without streams.
fn lines(count: u64) -> impl Iterator<Item = u64> {
    (1..=count).map(|at| at * 70_001 % 4_000_000 * 64)
}

/// Time for 1000 rounds of a block with a line for each of its loads, less the time of its
/// instructions.
fn rounds(misses: u32, block: &'static Block, loads: usize) -> u64 {
    rounds_of(Cpu::new(misses), block, loads)
}

fn rounds_of(mut cpu: Cpu, block: &'static Block, loads: usize) -> u64 {
    let all: Vec<_> = lines(1000 * loads as u64).collect();
    all.chunks(loads).for_each(|these| cpu.run(block, these));
    cpu.end()
}

const LOAD_RAX_RAX: &[u8] = &[0x48, 0x8b, 0x00];
const LOAD_RAX_RBX: &[u8] = &[0x48, 0x8b, 0x03];
const ADD_RBX: &[u8] = &[0x48, 0x83, 0xc3, 0x40];
const ADD_RAX: &[u8] = &[0x48, 0x83, 0xc0, 0x08];

#[test]
fn a_chase_waits_for_each_miss_whatever_the_window() {
    for code in [&[LOAD_RAX_RAX][..], &[LOAD_RAX_RAX, ADD_RAX, ADD_RBX]] {
        let took = rounds(10, block(code), 1);
        // The first address is known; its instruction takes time.
        assert_eq!(took, code.len() as u64 * STEP + 1000 * MISS, "{code:x?}");
    }
    assert_eq!(rounds(1, block(&[LOAD_RAX_RAX]), 1), 1000 * (MISS + STEP), "a CPU that waits for each");
}

#[test]
fn independent_loads_overlap_as_many_times_as_there_are_places() {
    for misses in [2, 5, 10] {
        let took = rounds(misses, block(&[LOAD_RAX_RBX, ADD_RBX]), 1);
        let right = 1000 * MISS / u64::from(misses);
        assert!(took.abs_diff(right) < right / 50, "{misses}: {took}, {right}");
    }
    assert_eq!(rounds(1, block(&[LOAD_RAX_RBX, ADD_RBX]), 1), 1000 * (MISS + 2 * STEP));
}

#[test]
fn a_page_walk_makes_the_way_of_its_line_longer() {
    let (chase, independent) = (block(&[LOAD_RAX_RAX]), block(&[LOAD_RAX_RBX, ADD_RBX]));
    let way = 3 * MISS / 2;
    assert_eq!(rounds_of(Cpu::walking(10), chase, 1), STEP + 1000 * way);
    assert_eq!(rounds_of(Cpu::walking(1), chase, 1), 1000 * (way + STEP), "a CPU that waits for each");
    // Ten misses at a time; a load that waits for a place does its page walk meanwhile.
    let took = rounds_of(Cpu::walking(10), independent, 1);
    assert!((100 * MISS..100 * way).contains(&took), "{took}");
}

#[test]
fn loads_overlap_only_within_the_reach_of_instructions() {
    // 64 instructions per load: two loads within 128, each with the 2 us of the other node's
    // memory.
    let mut code = vec![ADD_RBX; 63];
    code.insert(0, LOAD_RAX_RBX);
    let (code, mut cpu) = (block(&code), Cpu::new(10));
    lines(1000).for_each(|line| cpu.run(code, &[NODE + line]));
    let took = cpu.end();
    assert!(took.abs_diff(1_000_000_000) < 5_000_000, "{took}");
}

#[test]
fn two_chases_overlap_with_each_other() {
    let load_rcx_rcx: &[u8] = &[0x48, 0x8b, 0x09];
    let took = rounds(10, block(&[LOAD_RAX_RAX, load_rcx_rcx]), 2);
    assert!(took.abs_diff(1000 * MISS) < 10 * MISS, "two lines in the time of one: {took}");
}

/// A value that depends on a load by arithmetic, by a conditional move, through memory, by a line
/// that is on its way, or across blocks is as serial as a chase.
#[test]
fn dependence_is_seen_wherever_it_goes() {
    let serial = |took: u64| took.abs_diff(1000 * MISS) < 20 * MISS;
    // mov rcx, [rax]; lea rax, [rcx + rbx]: by arithmetic.
    let arithmetic = block(&[&[0x48, 0x8b, 0x08], &[0x48, 0x8d, 0x04, 0x19]]);
    assert!(serial(rounds(10, arithmetic, 1)));
    // cmp [rax], rdx; cmovb rax, rbx: by flags.
    let flags = block(&[&[0x48, 0x39, 0x10], &[0x48, 0x0f, 0x42, 0xc3]]);
    assert!(serial(rounds(10, flags, 1)));
    // xor eax, eax; add rax, rbx; mov rcx, [rax]: nothing depends on what was loaded.
    let cleared = block(&[&[0x31, 0xc0], &[0x48, 0x01, 0xd8], &[0x48, 0x8b, 0x00]]);
    assert!(rounds(10, cleared, 1) < 150 * MISS);
    // mov rax, [rsp]; mov rax, [rax]; mov [rsp], rax: through memory.
    let spilled = block(&[&[0x48, 0x8b, 0x04, 0x24], LOAD_RAX_RAX, &[0x48, 0x89, 0x04, 0x24]]);
    let mut cpu = Cpu::new(10);
    lines(1000).for_each(|line| cpu.run(spilled, &[NODE - 64, line, NODE - 63]));
    assert!(serial(cpu.end() - 2 * MISS));
    // mov rcx, [rax + 8]; mov rax, [rax]: two words of a line.
    let words = block(&[&[0x48, 0x8b, 0x48, 0x08], LOAD_RAX_RAX]);
    let mut cpu = Cpu::new(10);
    lines(1000).for_each(|line| cpu.run(words, &[line + 8, line]));
    assert!(serial(cpu.end()));
    // The load is in one block, the next one in another.
    let (first, second) = (block(&[&[0x48, 0x8b, 0x08]]), block(&[&[0x48, 0x89, 0xc8]]));
    let mut cpu = Cpu::new(10);
    for line in lines(1000) {
        cpu.run(first, &[line]);
        cpu.run(second, &[]);
    }
    assert!(serial(cpu.end()));
}

#[test]
fn fences_and_locked_instructions_overlap_with_nothing() {
    let lfence: &[u8] = &[0x0f, 0xae, 0xe8];
    assert_eq!(rounds(10, block(&[LOAD_RAX_RBX, lfence]), 1), 1000 * (MISS + 2 * STEP));
    // lock xadd [rbx], rax: a load and a store of a line.
    let locked = block(&[&[0xf0, 0x48, 0x0f, 0xc1, 0x03]]);
    assert!(locked.roles()[0].fence && locked.roles()[0].reference.unwrap().alone);
    assert_eq!(rounds(10, locked, 1), 1000 * (MISS + STEP));
}

#[test]
fn stores_overlap_too_and_hold_nothing_up() {
    // mov [rbx], rax. With 200 instructions in between, stores have no visible cost.
    let store: &[u8] = &[0x48, 0x89, 0x03];
    let dense = block(&[store, ADD_RBX]);
    let mut cpu = Cpu::new(10);
    lines(1000).for_each(|line| cpu.run(dense, &[line + 1]));
    assert!(cpu.end().abs_diff(100 * MISS) < 2 * MISS);
    let mut code = vec![ADD_RBX; 200];
    code.push(store);
    let sparse = block(&code);
    let mut cpu = Cpu::new(10);
    lines(1000).for_each(|line| cpu.run(sparse, &[line + 1]));
    assert_eq!(cpu.machine.cpu_counters(0).stall_ps, 0);
}

#[test]
fn what_was_prefetched_early_enough_costs_nothing() {
    let load = block(&[LOAD_RAX_RAX]);
    for (early, right) in [(MISS, 0), (MISS / 2, MISS / 2), (0, MISS)] {
        let mut cpu = Cpu::new(10);
        assert_eq!(cpu.machine.prefetch(0, 4096, 0).stall, 0);
        cpu.now = early - early.min(STEP);
        cpu.run(load, &[4096]);
        let before = cpu.now;
        assert!(cpu.end().abs_diff(before + right) <= STEP, "{early}");
    }
    let mut waits = machine(1, None);
    waits.prefetch(0, 4096, 0);
    assert_eq!(waits.access(0, 4096, false), MISS, "a CPU that waits for each miss prefetches nothing");
}

#[test]
fn prefetches_and_stores_around_the_caches_are_known_by_their_bytes() {
    let code: [&[u8]; 4] = [
        &[0x0f, 0x18, 0x4c, 0x8b, 0x40], // prefetcht0 0x40(%rbx,%rcx,4)
        &[0x0f, 0x0d, 0x0f],             // prefetchw (%rdi)
        &[0x0f, 0xc3, 0x03],             // movnti %eax,(%rbx)
        &[0x66, 0x0f, 0xe7, 0x03],       // movntdq %xmm0,(%rbx)
    ];
    let block = block(&code);
    let roles = block.roles();
    let address = Address::from(roles[0].prefetch.unwrap());
    assert_eq!((address.base, address.index, address.scale, address.displacement), (Some(3), Some(1), 4, 64));
    assert_eq!(Address::from(roles[1].prefetch.unwrap()).base, Some(7));
    assert!(roles[2].reference.unwrap().around && roles[3].reference.unwrap().around);
    assert!(roles[0].reference.is_none());
}

#[test]
fn stores_around_the_caches_write_each_line_once_and_read_none() {
    for misses in [1, 10] {
        let mut cpu = Cpu::new(misses);
        let movnti = block(&[&[0x48, 0x0f, 0xc3, 0x03], ADD_RBX]);
        let (lines, words) = (1000, 8);
        // Three arrays side by side.
        for word in 0..lines * words {
            (0..3).for_each(|array| cpu.run(movnti, &[NODE + (array << 20) + word * 8 + 1]));
        }
        let sfence = block(&[&[0x0f, 0xae, 0xf8]]);
        cpu.run(sfence, &[]);
        let counters = cpu.machine.cpu_counters(0);
        assert_eq!((counters.bytes_read, counters.bytes_written), (0, 3 * lines * 64), "{misses}");
        let nodes: Vec<_> = cpu.machine.node_counters().map(|node| node.bytes).collect();
        let links: Vec<_> = cpu.machine.link_counters().map(|link| link.bytes).collect();
        assert_eq!((nodes, links), (vec![0, 3 * lines * 64], vec![3 * lines * 64, 0]), "{misses}");
        assert!(counters.stall_ps > 0);
    }
}

#[test]
fn a_line_stored_around_the_caches_is_in_none() {
    let mut machine = machine(10, None);
    machine.access(0, 4096, true);
    machine.store_around(0, 4096, 0);
    assert_eq!(machine.cpu_counters(0).bytes_written, 64, "what was dirty is written back");
    assert_eq!(machine.access(0, 4096, false), MISS);
}

/// Sixteen CPUs with ten overlapping misses each obey the queue's law for the traffic that results.
#[test]
fn misses_that_overlap_still_obey_the_queue() {
    let spec = Spec { overlap: Overlap { misses: 10, instructions: 128 }, ..crate::common::spec(1000.0, 500.0) };
    let (mut machine, load) = (Machine::new(&spec).unwrap(), block(&[LOAD_RAX_RBX, ADD_RBX]));
    let reference = load.roles()[0].reference.unwrap();
    let mut cores: Vec<_> = (0..4).map(|cpu| (Core::new(cpu), 0_u64, 7919 * cpu as u64 + 1)).collect();
    let mut bytes = 0;
    for window in 1..=200_u64 {
        for (core, now, seed) in &mut cores {
            while *now < window * crate::common::WINDOW {
                let address = crate::common::random(seed) % (NODE / 64) * 64;
                *now += STEP;
                *now += core.begin(&mut machine, load, *now, 0);
                let access = Access { address, physical: address, store: false };
                *now += core.access(&mut machine, &reference, access, *now, 0).stall;
            }
        }
        machine.window(crate::common::WINDOW, &[crate::common::WINDOW; 4]);
        if window == 100 {
            bytes = machine.node_counters().next().unwrap().bytes;
        }
    }
    let node = machine.node_counters().next().unwrap();
    let used = (node.bytes - bytes) as f64 / (100.0 * 1e5);
    // 4 CPUs of 10 misses in 1200 ns + w at 64 ns each: u = 40 * 64 / (1200 + w), where w is
    // 200 u^2 / (1 - u).
    let (mut low, mut high) = (0.0_f64, 1.0 - 1e-12);
    for _ in 0..60 {
        let u = 0.5 * (low + high);
        if 2560.0 / (1200.0 + 200.0 * u * u / (1.0 - u)) > u { low = u } else { high = u }
    }
    assert!((used / low - 1.0).abs() < 0.03, "{used} of the capacity, by the law {low}");
}
