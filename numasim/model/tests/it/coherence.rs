//! Coherence, computed by hand: the exact cost of a line that several CPUs have. CPUs 0 and 1 are
//! on LLC and node 0, 2 and 3 on LLC and node 1. An LLC hit takes 400 ns, so a line that a
//! neighbour has changed takes 800; local memory takes 1200, the other node's memory or cache 2000.

use crate::common::NODE;
use numasim_model::{Coherence, Machine, Spec};

const HIT: u64 = 400_000;
const NEAR: u64 = 800_000;
const LOCAL: u64 = 1_200_000;
const FAR: u64 = 2_000_000;

fn small() -> Spec {
    Spec::parse(include_str!("../../../machines/small-2x2.toml"), "small-2x2").unwrap()
}

fn machine() -> Machine {
    Machine::new(&small()).unwrap()
}

/// Stalls of accesses `(cpu, address, store)`, made one after another.
fn stalls<const N: usize>(machine: &mut Machine, accesses: [(usize, u64, bool); N]) -> [u64; N] {
    accesses.map(|(cpu, address, store)| machine.access(cpu, address, store))
}

#[test]
fn a_line_that_all_read_costs_nothing_after_the_first_read() {
    let mut machine = machine();
    let read = |machine: &mut Machine| stalls(machine, [0, 1, 2, 3].map(|cpu| (cpu, 0, false)));
    assert_eq!(read(&mut machine), [LOCAL, HIT, FAR, HIT]);
    for _ in 0..100 {
        assert_eq!(read(&mut machine), [0; 4]);
    }
    assert!((0..4).all(|cpu| machine.cpu_counters(cpu).invalidated == 0));
    assert_eq!(machine.bounces(), 0);
}

#[test]
fn a_line_that_one_cpu_has_costs_nothing_to_write() {
    let mut machine = machine();
    assert_eq!(stalls(&mut machine, [(0, 0, false), (0, 0, true), (0, 0, true), (0, 0, false)]), [LOCAL, 0, 0, 0]);
}

#[test]
fn two_writers_of_a_line_pay_for_each_turn() {
    for (other, cost) in [(1, NEAR), (2, FAR)] {
        let mut machine = machine();
        assert_eq!(machine.access(0, 0, true), LOCAL);
        for _ in 0..50 {
            assert_eq!(stalls(&mut machine, [(other, 0, true), (other, 8, true)]), [cost, 0]);
            assert_eq!(stalls(&mut machine, [(0, 0, true), (0, 8, true)]), [cost, 0]);
        }
        let seen = machine.cpu_counters(other);
        let local = u64::from(cost == NEAR);
        assert_eq!((seen.hitm_local, seen.hitm_remote, seen.invalidated > 0), (50 * local, 50 * (1 - local), true));
        assert_eq!(machine.cpu_counters(0).bytes_read, 64, "memory was read once");
        assert_eq!(seen.bytes_written, 0);
    }
}

#[test]
fn false_sharing_costs_and_padding_ends_it() {
    let run = |distance: u64| {
        let mut machine = machine();
        let turn = |machine: &mut Machine| stalls(machine, [0, 1, 2, 3].map(|cpu| (cpu, cpu as u64 * distance, true)));
        turn(&mut machine);
        (0..10).flat_map(|_| turn(&mut machine)).sum::<u64>()
    };
    assert_eq!(run(64), 0, "each has a line");
    // CPU 0 takes the line from CPU 3, 1 from 0, 2 from 1, 3 from 2.
    assert_eq!(run(8), 10 * (FAR + NEAR + FAR + NEAR));
}

/// Ping-pong: one CPU writes a word, the other reads it and writes its own word in the same line.
#[test]
fn ping_pong_pays_a_transfer_and_an_upgrade_each_way() {
    for (other, transfer, upgrade) in [(1, NEAR, HIT), (3, FAR, FAR)] {
        let mut machine = machine();
        stalls(&mut machine, [(0, 0, true)]);
        for _ in 0..20 {
            assert_eq!(stalls(&mut machine, [(other, 0, false), (other, 8, true)]), [transfer, upgrade]);
            assert_eq!(stalls(&mut machine, [(0, 8, false), (0, 0, true)]), [transfer, upgrade]);
        }
    }
}

/// A producer fills a buffer on its node, and a consumer of the other LLC reads it, again and
/// again. Every line comes from the producer's cache over the link, and is written back once.
#[test]
fn producer_and_consumer_across_llcs_pass_each_line_from_cache_to_cache() {
    let mut machine = machine();
    let order = |at: u64| at * 37 % 64 * 5 * 64;
    for round in 0..10 {
        let writes: u64 = (0..64).map(|at| machine.access(0, order(at), true)).sum();
        let reads: u64 = (0..64).map(|at| machine.access(2, order(at), false)).sum();
        assert_eq!(reads, 64 * FAR, "round {round}");
        assert_eq!(writes, if round == 0 { 64 * LOCAL } else { 64 * FAR }, "the consumer loses its copies");
    }
    let (producer, consumer) = (machine.cpu_counters(0), machine.cpu_counters(2));
    assert_eq!((consumer.hitm_remote, consumer.bytes_read), (640, 0));
    assert_eq!((producer.bytes_read, producer.bytes_written), (64 * 64, 640 * 64));
    let links: Vec<_> = machine.link_counters().map(|link| link.bytes).collect();
    assert_eq!(links, [640 * 64, 0], "from node 0 to node 1 only");
    // The consumer's 640 misses on lines of node 0 read nothing from its memory.
    let home = machine.node_counters().next().unwrap();
    assert_eq!((home.bytes_read, home.bytes), (64 * 64, 64 * 64 + 640 * 64));
    assert_eq!([machine.bytes_read(0, 0), machine.bytes_read(2, 0)], [64 * 64, 0]);
}

#[test]
fn a_flushed_line_is_gone_everywhere_and_shared_no_more() {
    let mut machine = machine();
    stalls(&mut machine, [(0, 0, false), (1, 0, false), (2, 0, false)]);
    machine.flush(0);
    assert_eq!(stalls(&mut machine, [(3, 0, false), (3, 0, true), (0, 0, false)]), [FAR, 0, FAR]);
}

#[test]
fn latencies_are_those_of_the_file() {
    let rows = vec![vec![1.0, 3000.0], vec![5000.0, 1.0]];
    let given = Coherence { local_ns: Some(700.0), remote_ns: Some(rows), ..Coherence::default() };
    let mut machine = Machine::new(&Spec { coherence: given, ..small() }).unwrap();
    let turns = [(0, 0, true), (1, 0, true), (2, 0, true), (0, 0, true)];
    assert_eq!(stalls(&mut machine, turns), [LOCAL, 700_000, 5_000_000, 3_000_000]);
}

#[test]
fn without_coherence_nobody_pays_for_others() {
    let off = Coherence { modelled: false, ..Coherence::default() };
    let mut machine = Machine::new(&Spec { coherence: off, ..small() }).unwrap();
    let turns = [(0, NODE, true), (1, NODE, true), (2, NODE, true), (0, NODE, true), (1, NODE, true)];
    assert_eq!(stalls(&mut machine, turns), [FAR, HIT, LOCAL, 0, 0]);
}
