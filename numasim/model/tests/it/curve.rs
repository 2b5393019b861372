//! Checks that the model reproduces bandwidth and latency as measured on a real machine. CPUs whose
//! loads overlap compute for a longer or shorter time between two loads, as Intel's Memory Latency
//! Checker injects load. The cost of a miss is then what the machine file says for the bandwidth
//! that results, within 5 %.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

use crate::common::{NODE, WINDOW, random};
use numasim_model::flow::Block;
use numasim_model::{Access, Core, Machine, Overlap, Spec};

fn skylake() -> Spec {
    Spec::parse(include_str!("../../../machines/skylake-2x14.toml"), "skylake-2x14").unwrap()
}

/// MB/s of node 0 and the wait for it in ns, with CPUs that compute for `between` before each load.
fn loaded(spec: &Spec, cpus: usize, between: u64) -> (f64, f64) {
    let mut machine = Machine::new(spec).unwrap();
    let load: &'static Block = Box::leak(Box::new(Block::of([(&[0x48_u8, 0x8b, 0x03][..], 0)])));
    let reference = load.roles()[0].reference.unwrap();
    let mut cores: Vec<_> = (0..cpus).map(|cpu| (Core::new(cpu), 0_u64, cpu as u64 * 7919 + 1)).collect();
    let (mut bytes, mut waits) = (0, 0.0);
    for window in 1..=160_u64 {
        for (core, now, seed) in &mut cores {
            while *now < window * WINDOW {
                let address = random(seed) % (NODE / 64) * 64;
                *now += between;
                *now += core.begin(&mut machine, load, *now, 0);
                let access = Access { address, physical: address, store: false };
                *now += core.access(&mut machine, &reference, access, *now, 0).stall;
            }
        }
        machine.window(WINDOW, &vec![WINDOW; spec.cpus()]);
        let node = machine.node_counters().next().unwrap();
        if window == 60 {
            bytes = node.bytes;
        } else if window > 60 {
            waits += node.delay_ps as f64 / 1e3 / 100.0;
        }
    }
    let carried = machine.node_counters().next().unwrap().bytes - bytes;
    (carried as f64 / (100.0 * WINDOW as f64 / 1e12) / 1e6, waits)
}

/// The file's latency at a bandwidth, linear between its points, above that of its first point.
fn published(spec: &Spec, mb_per_s: f64) -> f64 {
    let curve = &spec.node[0].curve;
    let at = curve.windows(2).find(|two| two[0][0] <= mb_per_s && mb_per_s <= two[1][0]).unwrap();
    at[0][1] + (at[1][1] - at[0][1]) * (mb_per_s - at[0][0]) / (at[1][0] - at[0][0])
}

#[test]
fn the_published_curve_comes_out_within_five_per_cent() {
    // Twice the misses of a CPU, to represent its prefetchers: otherwise the load ends at 3,950
    // MB/s.
    let (spec, mut seen) = (Spec { overlap: Overlap { misses: 20, instructions: 4096 }, ..skylake() }, Vec::new());
    for between in [18_000_000, 8_000_000, 4_000_000, 2_000_000, 1_000_000, 500_000, 300_000, 200_000, 170_000] {
        let (mb_per_s, wait) = loaded(&spec, 14, between);
        let (got, right) = (spec.node[0].curve[0][1] + wait, published(&spec, mb_per_s));
        assert!((got / right - 1.0).abs() < 0.05, "{mb_per_s:.0} MB/s: {got:.0} ns, published {right:.0}");
        seen.push(mb_per_s);
    }
    assert!(seen[0] < 50.0 && seen.last().is_some_and(|last| *last > 4_500.0), "{seen:?}");
}

#[test]
fn a_curve_is_never_carried_beyond_the_capacity() {
    // 14 CPUs, each with four times its number of misses.
    let many = Spec { overlap: Overlap { misses: 40, instructions: 4096 }, ..skylake() };
    let (mb_per_s, wait) = loaded(&many, 14, 1_000);
    assert!(mb_per_s <= 5_560.0 * 1.01 && wait > 1_360.0, "{mb_per_s} MB/s, {wait} ns");
}

#[test]
fn a_curve_that_falls_or_goes_beyond_the_capacity_is_refused() {
    let error = |curve: &[[f64; 2]]| {
        let mut spec = skylake();
        spec.node[1].curve = curve.to_vec();
        spec.validate().unwrap_err().to_string()
    };
    for wrong in
        [&[[1.0, 2.0]][..], &[[1.0, 2.0], [1.0, 3.0]], &[[1.0, 3.0], [2.0, 2.0]], &[[1.0, 2.0], [5_560.0, 3.0]]]
    {
        let message = error(wrong);
        assert!(message.starts_with("skylake-2x14: `node.curve` must have two points [MB/s, ns] or more"), "{message}");
    }
}
