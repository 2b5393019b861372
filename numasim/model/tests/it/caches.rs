//! Caches and costs, computed by hand: what a pointer chase costs at each level, which line evicts
//! which, what way masks keep, and what is written back.

use crate::common::{NODE, random};
use numasim_model::{KnobError, Machine, Spec};

fn small() -> Spec {
    Spec::parse(include_str!("../../../machines/small-2x2.toml"), "small-2x2").unwrap()
}

fn machine() -> Machine {
    Machine::new(&small()).unwrap()
}

/// Number of lines of the LLC and of a private cache.
const LLC: u64 = 4096;
const OWN: u64 = 128;

/// A chase over this many lines from an address on, in an order without streams; returns the stalls
/// of the last of three rounds.
fn chase(machine: &mut Machine, cpu: usize, from: u64, lines: u64) -> Vec<u64> {
    let step = (3 * lines / 8) | 1; // odd, so that it meets every one of a power of two
    let mut round =
        || (0..lines).map(|at| machine.access(cpu, from + at * step % lines * 64, false)).collect::<Vec<_>>();
    round();
    round();
    round()
}

fn all(stalls: &[u64], right: u64) {
    let wrong = stalls.iter().filter(|stall| **stall != right).count();
    assert_eq!(wrong, 0, "of {} stalls are not {right}; the first is {}", stalls.len(), stalls[0]);
}

#[test]
fn a_chase_pays_exactly_what_the_file_says_at_each_level() {
    for (cpu, local, remote) in [(0, 0, NODE), (3, NODE, 0)] {
        all(&chase(&mut machine(), cpu, local, OWN), 0);
        all(&chase(&mut machine(), cpu, local, LLC), 400_000);
        all(&chase(&mut machine(), cpu, local, 8 * LLC), 1_200_000);
        all(&chase(&mut machine(), cpu, remote, 8 * LLC), 2_000_000);
    }
}

#[test]
fn a_line_more_than_fits_misses_always_and_as_many_as_fit_never() {
    for (lines, misses) in [(LLC, 0), (LLC + 256, 17 * 256)] {
        // Cyclic order: a set with 17 lines for 16 ways loses each line before it is used again;
        // 256 sets have one line more than ways.
        let mut machine = machine();
        let mut sweep = || (0..lines).for_each(|line| _ = machine.access(0, line * 64, false));
        sweep();
        sweep();
        machine.reset_counters();
        (0..lines).for_each(|line| _ = machine.access(0, line * 64, false));
        assert_eq!(machine.cpu_counters(0).llc_misses, misses, "{lines}");
    }
}

#[test]
fn emptied_caches_miss_and_masks_and_counters_stay() {
    let mut machine = machine();
    machine.set_mask(0, 1, 0xff).unwrap();
    machine.set_class(0, 1).unwrap();
    chase(&mut machine, 0, 0, LLC / 2);
    let before = machine.cpu_counters(0);
    assert_eq!(machine.occupancy(0, 1), Some(LLC / 2));
    machine.empty();
    assert_eq!((machine.cpu_counters(0), machine.occupancy(0, 1)), (before, Some(0)));
    (0..LLC).for_each(|line| _ = machine.access(0, line * 64, false));
    let after = machine.cpu_counters(0);
    assert_eq!(after.llc_misses - before.llc_misses, LLC, "nothing was there");
    assert_eq!(machine.occupancy(0, 1), Some(LLC / 2), "half the ways, as before");
}

/// Mattson's stack distances: an access hits if and only if fewer other lines of its set were used
/// in between than there are ways.
#[test]
fn hits_are_those_of_the_stack_distances() {
    for ways in [1, 4, 11, 16] {
        // 16 sets in the LLC, and 16 in a private cache of one way: the LLC sees all accesses
        // except immediate repetitions, which change no order.
        let text = include_str!("../../../machines/small-2x2.toml")
            .replace("size_kib = 8\nways = 8", "size_kib = 1\nways = 1")
            .replace("size_kib = 256\nways = 16", &format!("size_kib = {ways}\nways = {ways}"));
        let mut machine = Machine::new(&Spec::parse(&text, "m").unwrap()).unwrap();
        let (mut seed, mut stack) = (9, Vec::<u64>::new());
        for _ in 0..20_000 {
            let line = random(&mut seed) % 24 * 16; // all of set 0
            let distance = stack.iter().position(|one| *one == line);
            distance.map(|at| stack.remove(at));
            stack.insert(0, line);
            let right = match distance {
                Some(0) => 0,
                Some(others) if others < ways => 400_000,
                _ => 1_200_000,
            };
            assert_eq!(machine.access(0, line * 64, false), right, "{ways} ways, distance {distance:?}");
        }
    }
}

#[test]
fn two_cpus_share_an_llc_and_two_llcs_are_apart() {
    let misses = |other: usize| {
        let mut machine = machine();
        let mut sweep = |count: u64| {
            for line in (0..3 * LLC / 4).map(|at| at * 1021 % (3 * LLC / 4)) {
                (0..count).for_each(|_| _ = machine.access(0, line * 64, false));
                machine.access(other, NODE + line * 64, false);
            }
        };
        (0..4).for_each(|_| sweep(1));
        machine.reset_counters();
        for line in (0..3 * LLC / 4).map(|at| at * 1021 % (3 * LLC / 4)) {
            machine.access(0, line * 64, false);
            machine.access(other, NODE + line * 64, false);
        }
        machine.cpu_counters(0).llc_misses
    };
    assert_eq!(misses(2), 0, "an LLC of its own holds three quarters of it");
    assert!(misses(1) > 3 * LLC / 4 * 9 / 10, "two times three quarters do not fit: {}", misses(1));
}

#[test]
fn a_class_fills_its_ways_only_and_hits_everywhere() {
    let mut machine = machine();
    (0..LLC).for_each(|line| _ = machine.access(0, line * 64, false));
    assert_eq!(machine.occupancy(0, 0), Some(LLC));
    // Class 1 has 4 of 16 ways. CPU 1 hits lines that CPU 0 filled, and they remain counted for
    // class 0.
    machine.set_mask(0, 1, 0x00f0).unwrap();
    machine.set_class(1, 1).unwrap();
    (0..LLC).for_each(|line| _ = machine.access(1, line * 64, false));
    assert_eq!((machine.cpu_counters(1).llc_hits, machine.cpu_counters(1).llc_misses), (LLC, 0));
    assert_eq!((machine.occupancy(0, 0), machine.occupancy(0, 1)), (Some(LLC), Some(0)));
    // However much it misses, it takes a quarter and no more.
    (0..8 * LLC).for_each(|line| _ = machine.access(1, NODE + line * 64, false));
    assert_eq!((machine.occupancy(0, 0), machine.occupancy(0, 1)), (Some(3 * LLC / 4), Some(LLC / 4)));
    machine.reset_counters();
    (0..LLC).for_each(|line| _ = machine.access(1, line * 64, false));
    assert_eq!(machine.cpu_counters(1).llc_hits, 3 * LLC / 4, "what class 0 holds of its lines is hit");
    assert_eq!(machine.occupancy(1, 0), Some(0), "the other LLC saw nothing");
}

#[test]
fn halving_the_ways_halves_what_a_cyclic_walk_may_hold() {
    let hits = |mask: u64| {
        let mut machine = machine();
        machine.set_mask(0, 0, mask).unwrap();
        let stalls = chase(&mut machine, 0, 0, LLC / 2);
        stalls.iter().filter(|stall| **stall == 400_000).count() as u64
    };
    assert_eq!((hits(0xffff), hits(0xff00), hits(0x7f00)), (LLC / 2, LLC / 2, 0));
}

#[test]
fn a_mask_or_class_that_cannot_be_is_refused_by_name() {
    let mut machine = machine();
    assert_eq!(machine.set_mask(2, 0, 1).unwrap_err(), KnobError::Llc { llc: 2, count: 2 });
    assert_eq!(machine.set_mask(0, 16, 1).unwrap_err(), KnobError::Clos { llc: 0, clos: 16, count: 16 });
    let beyond = machine.set_mask(0, 0, 0x1_0000).unwrap_err().to_string();
    assert_eq!(beyond, "way mask 0x10000 of LLC 0 must have at least one bit, none beyond 0xffff");
    assert!(machine.set_mask(0, 0, 0).is_err());
    assert_eq!(machine.set_class(4, 0).unwrap_err(), KnobError::Cpu { cpu: 4, count: 4 });
    assert!(machine.set_class(0, 16).unwrap_err().to_string().contains("class of service 16"));
    assert_eq!(machine.access(4, 0, false), 0, "a CPU that does not exist is not stalled");
}

#[test]
fn every_line_stored_to_is_written_back_once() {
    let mut machine = machine();
    let lines = 3 * LLC;
    (0..lines).for_each(|line| _ = machine.access(0, NODE + line * 64, true));
    let early = machine.cpu_counters(0).bytes_written / 64;
    // The remaining lines are dirty in a cache: most in the LLC, the last ones in the private cache
    // only or in both.
    assert!((lines - LLC - OWN..lines).contains(&early), "{early}");
    (0..lines).for_each(|line| machine.flush(NODE + line * 64));
    let counters = machine.cpu_counters(0);
    assert_eq!((counters.bytes_written, counters.bytes_read), (lines * 64, lines * 64));
    // Node 1 carried both; the link to CPU 0 carried what was read, the link back what was written.
    let nodes: Vec<_> = machine.node_counters().map(|node| node.bytes).collect();
    let links: Vec<_> = machine.link_counters().map(|link| (link.from, link.to, link.bytes)).collect();
    assert_eq!(nodes, [0, 2 * lines * 64]);
    assert_eq!(links, [(0, 1, lines * 64), (1, 0, lines * 64)]);
    let busy = machine.node_counters().nth(1).unwrap().busy_ps;
    assert_eq!(busy, 2 * lines * 64_000, "64 bytes at 1000 MB/s take 64 ns");
}

#[test]
fn a_flushed_line_misses_again() {
    let mut machine = machine();
    assert_eq!([machine.access(0, 4096, false), machine.access(0, 4096 + 63, false)], [1_200_000, 0]);
    machine.flush(4100);
    assert_eq!(machine.access(0, 4096, false), 1_200_000);
    assert_eq!(machine.cpu_counters(0).bytes_written, 0, "clean lines are not written back");
}

#[test]
fn what_is_no_memory_costs_nothing_and_counts_as_no_miss() {
    let mut machine = machine();
    assert_eq!(machine.access(0, 3 << 30, true), 0);
    assert_eq!(machine.access(0, u64::MAX, true), 0);
    (0..OWN * 2).for_each(|line| _ = machine.access(0, (3 << 30) + line * 64, true));
    let counters = machine.cpu_counters(0);
    assert_eq!((counters.private_misses, counters.llc_misses, counters.bytes_written), (0, 0, 0));
}

#[test]
fn a_stream_costs_an_eighth_from_its_third_line_on_and_an_llc_hit_too() {
    let mut machine = machine();
    let cold: Vec<_> = (0..5).map(|line| machine.access(0, line * 64, false)).collect();
    assert_eq!(cold, [1_200_000, 1_200_000, 150_000, 150_000, 150_000]);
    let remote: Vec<_> = (0..4).map(|line| machine.access(0, NODE + (1000 - line) * 64, false)).collect();
    assert_eq!(remote, [2_000_000, 2_000_000, 250_000, 250_000]);
    let warm: Vec<_> = (0..4).map(|line| machine.access(1, line * 64, false)).collect();
    assert_eq!(warm, [400_000, 400_000, 50_000, 50_000]);
    assert_eq!(machine.cpu_counters(0).prefetched, 5);
    let mut off =
        Machine::new(&Spec { prefetch: numasim_model::Prefetch { streams: 8, depth: 1 }, ..small() }).unwrap();
    all(&(0..100).map(|line| off.access(0, line * 64, false)).collect::<Vec<_>>(), 1_200_000);
    assert_eq!(off.cpu_counters(0).prefetched, 0);
}

#[test]
fn a_stream_is_never_faster_than_the_slowest_it_passes() {
    // The link of 500 MB/s carries a line in 128 ns; 2000 ns / 32 would be 62.5 ns.
    let deep = Spec { prefetch: numasim_model::Prefetch { streams: 8, depth: 32 }, ..small() };
    let mut machine = Machine::new(&deep).unwrap();
    let stalls: Vec<_> = (0..3).map(|line| machine.access(0, NODE + line * 64, false)).collect();
    assert_eq!(stalls, [2_000_000, 2_000_000, 128_000]);
}
