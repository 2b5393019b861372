//! Tests the model on machines that are worked out by hand or described by a paper.

use super::machines::{MIB, at, devil, mesh};
use super::{fixed_point, loads};
use crate::{Cache, Demand, Machine, MissCurve, Packets, PageCopy, Parts, Resource};

/// Four nodes in a square, with the latencies, bandwidths and caches of `barcelona-4x4` (machines).
fn square() -> Machine {
    let resource = |gb: f64, ns: f64| Resource { capacity: gb * 1e9, queue: ns * 1e-9 };
    let latency = [[110, 150, 150, 190], [150, 110, 190, 150], [150, 190, 110, 150], [190, 150, 150, 110]];
    // Links by position: 0-1, 0-2, 1-3, 2-3; after the four controllers, two directions each.
    let routes: [[&[usize]; 4]; 4] = [
        [&[], &[4], &[6], &[4, 8]],
        [&[5], &[], &[5, 6], &[8]],
        [&[7], &[7, 4], &[], &[10]],
        [&[9, 5], &[9], &[11], &[]],
    ];
    let parts = Parts {
        latency: latency.map(|row| row.map(|ns| f64::from(ns) * 1e-9).to_vec()).to_vec(),
        resources: [vec![resource(8.5, 20.0); 4], vec![resource(4.0, 15.0); 8]].concat(),
        routes: routes.map(|row| row.map(<[_]>::to_vec).to_vec()).to_vec(),
        packets: Packets::default(),
        llcs: vec![Cache { bytes: 2.0 * MIB, ways: 32, private: 0.0 }; 4],
    };
    Machine::new(parts).unwrap()
}

/// Figure 3 of the DINO paper: a target with three competitors, with the factors added one by one.
#[test]
fn the_scenarios_of_dino_order_as_they_must() {
    let machine = square();
    let rate = |target: Demand, others: Vec<Demand>| {
        let all: Vec<_> = std::iter::once(target).chain(others).collect();
        fixed_point(&machine, &all, None).0.rates[0]
    };
    let others = |node, memory| vec![devil(at(node), memory, 4); 3];
    let alone = rate(devil(at(0), 0, 4), vec![]);
    let remote = rate(devil(at(1), 0, 4), vec![]);
    let cache = rate(devil(at(0), 0, 4), others(0, 1));
    let controller = rate(devil(at(0), 0, 4), others(1, 0));
    let remote_and_controller = rate(devil(at(1), 0, 4), others(0, 0));
    let worst = rate(devil(at(1), 0, 4), others(1, 0));
    assert!(remote < alone && cache < alone && controller < alone);
    assert!(remote_and_controller < remote && remote_and_controller < controller);
    assert!(worst < remote_and_controller && worst < cache);
}

/// One thread on an idle machine, with every term of the model computed by hand.
#[test]
fn one_thread_by_hand() {
    let controller = Resource { capacity: 20.48e9, queue: 10e-9 };
    let machine = Machine::new(Parts {
        latency: vec![vec![50e-9]],
        resources: vec![controller],
        routes: vec![vec![vec![]]],
        packets: Packets::default(),
        llcs: vec![Cache { bytes: 8.0 * MIB, ways: 16, private: 0.0 }],
    });
    let one = Demand { mlp: 1.0, write_back: 0.0, compute: 0.8 / 2.27e9, ..devil(at(0), 0, 1) };
    let got = fixed_point(&machine.unwrap(), &[one], None).0;
    // All 8 MiB are its own (except what the background fills: 64 B * 15 MPKI * 1 GHz per second
    // fill 8 MiB in 9 ms of 1000 s).
    let misses = (12.0 + 20.0 / 9.0) / 1000.0;
    assert!((got.misses[0] / misses - 1.0).abs() < 1e-4, "{}", got.misses[0]);
    // t = 0.8 / 2.27 GHz + 0.014222 * (50 ns + W), u = 64 B * 0.014222 / t / 20.48 GB/s, W = 10 ns
    // * u^2 / (1 - u).
    let mut seconds: f64 = 1e-9;
    for _ in 0..50 {
        let u = 64.0 * misses / seconds / 20.48e9;
        seconds = 0.8 / 2.27e9 + misses * (50e-9 + 10e-9 * u * u / (1.0 - u));
    }
    assert!((got.rates[0] * seconds - 1.0).abs() < 1e-4, "{} {}", got.rates[0], 1.0 / seconds);
}

/// A saturated controller serves prefetched and written lines too: (1 + 1) (1 + 0.5) lines per miss
/// leave a third of the misses that would be possible with lines read alone.
#[test]
fn lines_beside_misses_take_their_part_of_a_controller() {
    let machine = square();
    let stream = Demand { curve: MissCurve::parametric(60.0, 0.0, 1.0), write_back: 0.0, ..devil(at(0), 0, 4) };
    let misses = |one: &Demand| {
        let got = fixed_point(&machine, &vec![one.clone(); 100], None).0;
        64.0 * 100.0 * got.rates[0] * got.misses[0]
    };
    let more = Demand { prefetch: 1.0, write_back: 0.5, ..stream.clone() };
    assert!((misses(&stream) / 8.5e9 - 1.0).abs() < 0.02, "{}", misses(&stream));
    assert!((3.0 * misses(&more) / 8.5e9 - 1.0).abs() < 0.02, "{}", misses(&more));
}

/// Eight of nine threads that fill a controller are limited to a tenth of a core's bandwidth. The
/// ninth thread, which is not limited and has one line in flight, waits less for their lines.
#[test]
fn a_limit_on_the_bandwidth_of_others_shortens_the_wait_of_one() {
    let machine = square();
    let stream = Demand { curve: MissCurve::parametric(60.0, 0.0, 1.0), write_back: 0.0, ..devil(at(0), 0, 4) };
    let chase = Demand { mlp: 1.0, ..stream.clone() };
    let seconds = |delay: f64| {
        let mut all = vec![Demand { delay, ..stream.clone() }; 8];
        all.push(chase.clone());
        let got = fixed_point(&machine, &all, None).0;
        [0, 8].map(|one| 1.0 / got.rates[one] / got.misses[one])
    };
    let idle = machine.latency()[0][0];
    let (free, limited) = (seconds(0.0), seconds(crate::delay(10, idle)));
    // The eight are delayed by 0.75 of the idle latency for each line, and wait for three lines at
    // once.
    let alone = chase.compute / 0.06 + idle;
    assert!(
        free[1] > 1.5 * alone && limited[1] < 0.9 * free[1] && limited[0] > free[0],
        "{free:?} {limited:?} {alone}"
    );
}

/// On an idle machine no thread waits for prefetched and written lines: the rate is the same to a
/// part in a thousand.
#[test]
fn what_nobody_waits_for_costs_nothing_on_an_idle_machine() {
    let one = Demand { compute: 1e-7, write_back: 0.0, ..devil(at(0), 3, 4) };
    let more = Demand { prefetch: 1.0, write_back: 1.0, ..one.clone() };
    let (few, more) = (fixed_point(&square(), &[one], None).0, fixed_point(&square(), &[more], None).0);
    assert!((more.rates[0] / few.rates[0] - 1.0).abs() < 1e-3, "{few:?} {more:?}");
}

/// Requests of 12 bytes, probes of 8 and answers of 4, on the square. Node 0 reads its own memory:
/// a probe passes 0-1, 0-2 and 1-3, and of the answers only that of node 3 passes through node 1.
/// Node 3 reads memory of node 0: the request goes 3-1, 1-0 (its shortest way), probes go as
/// before, and answers come from 1 and 2.
#[test]
fn probes_and_requests_pass_the_links() {
    let packets = Packets { request: 12.0, probe: 8.0, response: 4.0 };
    let machine = Machine::new(Parts { packets, ..square().parts().clone() }).unwrap();
    let on_links = |node: usize| {
        let one = Demand { write_back: 0.0, ..devil(at(node), 0, 4) };
        let (got, after) = fixed_point(&machine, &[one], None);
        let lines = got.rates[0] * got.misses[0];
        loads(&machine, &after)[4..].iter().map(|bytes| bytes / lines).collect::<Vec<_>>()
    };
    let near = |seen: Vec<f64>, bytes: [f64; 8]| {
        assert!(seen.iter().zip(bytes).all(|(seen, bytes)| (seen - bytes).abs() < 1e-6), "{seen:?} {bytes:?}");
    };
    // There and back of 0-1, 0-2, 1-3, 2-3.
    near(on_links(0), [8.0, 8.0, 8.0, 4.0, 8.0, 4.0, 0.0, 0.0]);
    near(on_links(3), [72.0, 12.0, 8.0, 0.0, 76.0, 12.0, 4.0, 0.0]);
}

/// A local miss waits for answers. If other threads fill the links, a thread with local memory is
/// slower if the machine probes, and as fast as alone if it does not.
#[test]
fn answers_to_probes_are_waited_for() {
    let packets = Packets { probe: 8.0, response: 4.0, ..Packets::default() };
    let square = square();
    let probing = Machine::new(Parts { packets, ..square.parts().clone() }).unwrap();
    let stream = |node, memory| Demand { curve: MissCurve::parametric(60.0, 0.0, 1.0), ..devil(at(node), memory, 4) };
    let remote = (0..12).map(|i| stream(1 + i % 3, [3, 3, 1][i % 3]));
    let all: Vec<_> = std::iter::once(devil(at(0), 0, 4)).chain(remote).collect();
    let rate = |machine, threads| fixed_point(machine, threads, None).0.rates[0];
    let slowed = |machine| rate(machine, &all[..1]) / rate(machine, &all);
    let (quiet, probing) = (slowed(&square), slowed(&probing));
    assert!(quiet < 1.0 + 1e-6 && probing > 1.02, "{quiet} {probing}");
}

#[test]
fn a_page_copy_takes_bandwidth_from_both_nodes() {
    let machine = square();
    let all = vec![devil(at(0), 0, 4); 4];
    let quiet = fixed_point(&machine, &all, None).0;
    let (copying, after) = fixed_point(&machine, &all, Some(PageCopy { from: 0, to: 3 }));
    assert!(copying.rates[0] < quiet.rates[0]);
    assert!(copying.copied > 10_000.0 && copying.copied < 250_000.0, "{}", copying.copied);
    assert!((loads(&machine, &after)[3] / (4096.0 * copying.copied) - 1.0).abs() < 1e-9);
}

/// A hundred streams, each of which would take 2 GB/s alone, on a controller of 8.5: it saturates,
/// and they share.
#[test]
fn a_hundred_streams_saturate_and_share() {
    let machine = square();
    let stream = Demand { curve: MissCurve::parametric(60.0, 0.0, 1.0), ..devil(at(0), 0, 4) };
    let (got, after) = fixed_point(&machine, &vec![stream; 100], None);
    let load = loads(&machine, &after)[0];
    assert!(load < 8.5e9 && load > 0.95 * 8.5e9, "{load}");
    assert!((got.rates[7] * got.misses[7] * 64.0 * 1.3 / (load / 100.0) - 1.0).abs() < 1e-9);
}

/// A private cache whose lines the LLC does not hold is additional space, however many threads
/// share the LLC: here half of what a thread could use.
#[test]
fn private_space_is_beside_the_shared_one() {
    let victim = |mib: f64| {
        let mut parts = mesh(1, 1).parts().clone();
        parts.llcs[0].private = mib * MIB;
        Machine::new(parts).unwrap()
    };
    let (with, without) = (victim(4.0), victim(0.0));
    let one = Demand { curve: MissCurve::parametric(0.0, 20.0, 8.0), ..devil(at(0), 0, 1) };
    let misses = |machine, count| fixed_point(machine, &vec![one.clone(); count], None).0.misses[0];
    // Alone, a thread has 8 MiB of LLC and 4 private ones: 20 * 8 / (8 + 12). If four share the 8:
    // 20 * 8 / (8 + 2 + 4).
    assert!((misses(&with, 1) / 0.008 - 1.0).abs() < 1e-4, "{}", misses(&with, 1));
    assert!((misses(&with, 4) / (0.16 / 14.0) - 1.0).abs() < 1e-4, "{}", misses(&with, 4));
    let worse = |machine| misses(machine, 4) / misses(machine, 1);
    assert!(worse(&without) > worse(&with), "it softens sharing");
    // A footprint that fits into the private cache needs nothing of the LLC.
    let small = Demand { footprint: 2.0 * MIB, ..one.clone() };
    assert_eq!(fixed_point(&with, &[small], None).0.held, [0.0]);
}

/// A partition keeps a sensitive program's lines from a streaming one.
#[test]
fn a_partition_protects() {
    let machine = mesh(1, 1);
    let curve = MissCurve::parametric(0.5, 30.0, 0.5);
    let soft = |mask| Demand { curve: curve.clone(), mask, ..devil(at(0), 0, 1) };
    let stream = |mask| Demand { curve: MissCurve::parametric(60.0, 30.0, 0.5), mask, ..devil(at(0), 0, 1) };
    let first = |soft, other| fixed_point(&machine, &[soft, other], None).0;
    let shared = first(soft(0xffff), stream(0xffff));
    let apart = first(soft(0xfffc), stream(0x3));
    assert!(apart.rates[0] > 1.05 * shared.rates[0], "{} {}", apart.rates[0], shared.rates[0]);
    // 14 of 16 ways of 8 MiB are 7 MiB, all for the first program.
    assert!((apart.held[0] / (7.0 * MIB) - 1.0).abs() < 1e-3, "{}", apart.held[0]);
    // Two ways that both may fill: worse than apart, better than all shared.
    let overlap = first(soft(0xffff), stream(0x3));
    assert!(overlap.rates[0] > shared.rates[0] && overlap.held[0] > apart.held[0], "{overlap:?}");
}
