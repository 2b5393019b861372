//! Measures the decisions of every policy. Targets: DINO under 15 us for 40 threads and under 10 ms
//! for 10,000, on one core; one decision of Divide&Content for 22 applications and 40 threads under
//! 11 us, one of LFOC+ under 13 us (the paper's own figures, section VI-C).
//!
//! `first` is a decision on a crowded machine, in which almost every thread moves. `steady` are the
//! decisions after it was carried out.

#![allow(missing_docs, clippy::expect_used, clippy::cast_precision_loss)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use isobar_model::topology::synthetic::synthetic;
use isobar_model::{
    Action, Bytes, CacheClass, CpuId, Nanoseconds, NodeId, NodeMap, NodeMatrix, Observation, Pages, Pid, Plan, Process,
    Seconds, Thread, Tid, Topology,
};
use isobar_policy::Settings;
use isobar_policy::registry::build;
use std::hint::black_box;
use std::sync::Arc;

/// All pages on one node, as first touch leaves them.
fn home(machine: &Topology, number: u32) -> NodeMap<Pages> {
    let nodes = u32::try_from(machine.nodes().len()).expect("few nodes");
    let home = NodeId(number.wrapping_mul(2_246_822_519) % nodes);
    machine.nodes().iter().map(|node| (node.id, Pages(if node.id == home { 80_000 } else { 0 }))).collect()
}

/// `programs` programs of `threads` threads each; miss rates come from all three classes, and
/// threads are scattered over the CPUs.
fn observation(machine: &str, programs: u32, threads: u32) -> Observation {
    let machine = Arc::new(synthetic(machine).expect("a machine"));
    let cpus = u32::try_from(machine.cpus().len()).expect("few CPUs");
    let thread = |number: u32| Thread {
        cpu: Some(CpuId(number.wrapping_mul(2_654_435_761) % cpus)),
        instructions: Some(1_000_000),
        cycles: Some(1_000_000),
        llc_misses: Some(u64::from(number.wrapping_mul(40_503) % 997) * 150),
        ..Thread::unmeasured(Tid(number))
    };
    let process = |number: u32| Process {
        pid: Pid(number * threads),
        name: "bench".into(),
        pages: Some(home(&machine, number)),
        threads: (0..threads).map(|index| thread(number * threads + index)).collect(),
        ..Process::default()
    };
    let processes = (0..programs).map(process).collect();
    Observation::bare(machine, processes)
}

fn carried_out(mut seen: Observation, plan: &Plan) -> Observation {
    for action in &plan.actions {
        if let Action::MoveThread { pid, tid, cpu, .. } = action {
            let process = seen.processes.binary_search_by_key(pid, |process| process.pid).expect("a process");
            let threads = &mut seen.processes[process].threads;
            let thread = threads.binary_search_by_key(tid, |thread| thread.tid).expect("a thread");
            threads[thread].cpu = Some(*cpu);
        }
    }
    seen
}

fn decide(c: &mut Criterion) {
    let cases = [
        ("40 threads, 20 programs, 40 cores", observation("node:2 core:20", 20, 2)),
        ("40 threads, 40 programs, 16 cores", observation("node:4 core:4", 40, 1)),
        ("10000 threads, 2500 programs, 256 CPUs", observation("node:4 llc:4 core:8 pu:2", 2500, 4)),
        ("10000 threads, 10 programs, 256 CPUs", observation("node:4 llc:4 core:8 pu:2", 10, 1000)),
        ("10000 threads, 10000 programs, 64 cores", observation("node:4 core:16", 10_000, 1)),
    ];
    for (case, seen) in &cases {
        for name in ["maximum-local", "n-mass", "n-mass-regression", "di-plain", "di-migrate", "dino"] {
            let fresh = || build(name, &Settings::default()).expect("a policy");
            c.bench_function(&format!("{name}/first/{case}"), |b| {
                b.iter_batched(fresh, |mut policy| policy.decide(black_box(seen)), BatchSize::SmallInput);
            });
        }
        for name in ["n-mass", "dino"] {
            let mut policy = build(name, &Settings::default()).expect("a policy");
            let settled = (0..4).fold(seen.clone(), |seen, _| {
                let plan = policy.decide(&seen);
                carried_out(seen, &plan)
            });
            c.bench_function(&format!("{name}/steady/{case}"), |b| b.iter(|| policy.decide(black_box(&settled))));
        }
    }
}

/// The composition of the paper's first ten workloads: twenty programs of one thread and two of
/// ten, on 2 x 20 cores. Classes are known.
fn mixed() -> Observation {
    let mut seen = observation("node:2 core:20", 22, 10);
    let mut cpus = (0..40).map(|cpu| CpuId(cpu * 17 % 40));
    for (index, process) in seen.processes.iter_mut().enumerate() {
        process.threads.truncate(if index < 20 { 1 } else { 10 });
        process.threads.iter_mut().for_each(|thread| thread.cpu = cpus.next());
        let class = [CacheClass::Sensitive, CacheClass::Streaming, CacheClass::LightSharing][index % 3];
        process.cache_class = Some(class);
        if class == CacheClass::Sensitive {
            let need = 1.0 + index as f64 / 20.0;
            process.slowdown_by_ways = Some((1..=16).map(|ways| 1.0 + need / f64::from(ways * ways)).collect());
        }
    }
    seen
}

/// All sensitive programs on the first LLC, so that there is something to even out.
fn lopsided() -> Observation {
    let mut seen = mixed();
    let mut front = 0..40;
    let mut back = (0..40).rev();
    for process in &mut seen.processes {
        let sensitive = process.cache_class == Some(CacheClass::Sensitive);
        for thread in &mut process.threads {
            thread.cpu = if sensitive { front.next() } else { back.next() }.map(CpuId);
        }
    }
    seen
}

/// First a decision with all of its work: `lfoc+` clusters both LLCs anew because a class changed,
/// `divide-content` evens out two groups. Then decisions in which nothing changed.
fn ways(c: &mut Criterion) {
    let of = "40 threads, 22 programs, 40 cores";
    let (one, mut other) = (mixed(), mixed());
    for process in other.processes.iter_mut().step_by(3).take(1) {
        process.cache_class = Some(CacheClass::LightSharing);
        process.slowdown_by_ways = None;
    }
    let mut policy = build("lfoc+", &Settings::default()).expect("a policy");
    let mut turn = false;
    c.bench_function(&format!("lfoc+/changed/{of}"), |b| {
        b.iter(|| {
            turn = !turn;
            policy.decide(black_box(if turn { &one } else { &other }))
        });
    });
    c.bench_function(&format!("lfoc+/steady/{of}"), |b| b.iter(|| policy.decide(black_box(&one))));
    let uneven = lopsided();
    // No plan is carried out, so every fourth decision again finds the groups uneven and no thread
    // under way.
    let primed = || {
        let mut policy = build("divide-content", &impatient()).expect("a policy");
        (0..4).for_each(|_| drop(policy.decide(&uneven)));
        policy
    };
    c.bench_function(&format!("divide-content/balancing/{of}"), |b| {
        b.iter_batched(primed, |mut policy| policy.decide(black_box(&uneven)), BatchSize::SmallInput);
    });
    let mut policy = build("divide-content", &Settings::default()).expect("a policy");
    let settled = (0..4).fold(uneven.clone(), |seen, _| {
        let plan = policy.decide(&seen);
        carried_out(seen, &plan)
    });
    c.bench_function(&format!("divide-content/steady/{of}"), |b| b.iter(|| policy.decide(black_box(&settled))));
}

/// A `divide-content` policy that balances whenever it can.
fn impatient() -> Settings {
    let mut settings = Settings::default();
    for key in ["uneven_epochs", "group_rest_seconds", "min_migration_seconds", "balance_seconds"] {
        settings.set(&format!("divide-content.{key}"), "0").expect("a setting");
    }
    settings
}

/// Decisions on latency for 40 threads and for 160 processes; node 0 is congested.
fn latency(c: &mut Criterion) {
    let cases = [
        ("40 threads, 20 programs, 40 cores", observation("node:2 core:20", 20, 2)),
        ("160 programs, 80 cores", observation("node:8 core:10", 160, 1)),
    ];
    for (case, mut seen) in cases {
        let nodes: Vec<NodeId> = seen.machine.nodes().iter().map(|node| node.id).collect();
        let one = |from: &NodeId, to: &NodeId| match (from == to, to.0) {
            (_, 0) => Nanoseconds(400.0),
            (local, _) => Nanoseconds(if local { 100.0 } else { 160.0 }),
        };
        let rows = nodes.iter().map(|from| nodes.iter().map(|to| one(from, to)).collect()).collect();
        seen.latency = NodeMatrix::from_rows(nodes.clone(), rows);
        seen.free = nodes.iter().map(|node| (*node, Bytes(1 << 31))).collect();
        seen.processes.iter_mut().for_each(|process| process.accessed_pages = process.pages.clone());
        for name in ["cama", "capm", "camm", "static-P", "colloid"] {
            let fresh = || build(name, &Settings::default()).expect("a policy");
            c.bench_function(&format!("{name}/first/{case}"), |b| {
                b.iter_batched(fresh, |mut policy| policy.decide(black_box(&seen)), BatchSize::SmallInput);
            });
        }
    }
}

/// The first decision of `isobar` that finds a change, after those that only read, or that of the
/// twelfth epoch. Targets: 40 threads under 1 ms, 1,000 under 20 ms.
fn predicted(c: &mut Criterion) {
    let cases = [
        ("40 threads, 20 programs, 40 cores", observation("node:2 core:20", 20, 2)),
        ("40 threads, 40 programs, 40 cores", observation("node:4 core:10", 40, 1)),
        ("1000 threads, 250 programs, 256 CPUs", observation("node:4 llc:4 core:8 pu:2", 250, 4)),
        ("1000 threads, 1000 programs, 1024 CPUs", observation("node:8 llc:4 core:32", 1000, 1)),
    ];
    for (case, mut seen) in cases {
        seen.free = seen.machine.nodes().iter().map(|node| (node.id, Bytes(1 << 36))).collect();
        let fresh = || build("isobar", &Settings::default()).expect("a policy");
        let at = |epoch: u32| Observation { time: Seconds(f64::from(epoch)), ..seen.clone() };
        let mut first = fresh();
        let acts = (0..12).find(|epoch| !first.decide(&at(*epoch)).actions.is_empty()).unwrap_or(12);
        let (earlier, now): (Vec<Observation>, _) = ((0..acts).map(at).collect(), at(acts));
        let primed = || {
            let mut policy = fresh();
            earlier.iter().for_each(|seen| drop(policy.decide(seen)));
            policy
        };
        c.bench_function(&format!("isobar/search/{case}"), |b| {
            b.iter_batched(primed, |mut policy| policy.decide(black_box(&now)), BatchSize::SmallInput);
        });
    }
}

criterion_group!(benches, decide, ways, latency, predicted);
criterion_main!(benches);
