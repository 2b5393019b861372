//! What simulated time costs. The benchmarks are: 40 programs with phases on two sockets of 20
//! cores, in steps of 100 ms, compared with real time; how the cost grows from 10 to 640 programs,
//! each on a machine with a core for it; and steps during which pages are being moved, so that the
//! contention problem is set up again in each.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use isobar_model::{Action, Machine, NodeId, PageSelection, Pages, Pid, Plan, Seconds};
use isobar_sim::{SimError, SimMachine, Workload};
use std::hint::black_box;

/// A program: name, CPI, misses (streaming, reuse, MiB that halve the reuse misses), misses in
/// flight, lines written back, MiB; and its phases: billions of instructions, factor on the misses.
type Kind = (&'static str, f64, [f64; 3], f64, f64, u32, &'static [(f64, f64)]);

/// Streaming, sensitive, light and intermediate programs, each with phases of 3 to 6 seconds that
/// begin at different times; and one steady program. Runs are endless, so that only phases change
/// anything.
const PROGRAMS: [Kind; 5] = [
    ("a", 0.7, [20.0, 10.0, 2.0], 6.0, 0.4, 400, &[(7.0, 1.0), (9.0, 0.6)]),
    ("b", 0.6, [1.0, 25.0, 1.0], 2.0, 0.2, 100, &[(6.0, 1.0), (8.0, 0.5)]),
    ("c", 0.5, [0.01, 0.4, 0.5], 1.5, 0.1, 10, &[(20.0, 1.0), (15.0, 2.0)]),
    ("d", 0.8, [4.0, 8.0, 4.0], 3.0, 0.3, 200, &[(11.0, 1.0), (10.0, 0.7)]),
    ("steady", 0.8, [4.0, 8.0, 4.0], 3.0, 0.3, 200, &[]),
];

fn section((name, cpi, [streaming, reuse, half_mib], mlp, write_back, mib, phases): Kind) -> String {
    let phase = |(length, factor): &(f64, f64)| {
        format!("[[program.phase]]\ninstructions_billion = {length}\nmpki_factor = {factor}\n")
    };
    format!(
        "[[program]]\nname = \"{name}\"\ninstructions_billion = 1e6\nbase_cpi = {cpi}\nmlp = {mlp}\n\
         mpki = {{ streaming = {streaming}, reuse = {reuse}, half_mib = {half_mib} }}\nwrite_back = {write_back}\n\
         footprint_mib = {mib}\n{}",
        phases.iter().map(phase).collect::<String>()
    )
}

const FORTY: [(&str, u32); 4] = [("a", 10), ("b", 10), ("c", 10), ("d", 10)];

/// A machine such as `node:2 core:20` with `count` programs of each kind, in the middle of their
/// runs.
fn running(machine: &str, kinds: &[(&str, u32)]) -> Result<SimMachine, SimError> {
    let mut text = format!("machine = \"{machine}\"\n[run]\nstep_seconds = 0.1\nmax_seconds = 1e8\n");
    text.extend(PROGRAMS.map(section));
    for (kind, count) in kinds {
        text += &format!("[[app]]\nprogram = \"{kind}\"\ncount = {count}\nphase_stagger = 0.37\n");
    }
    let mut machine = SimMachine::new(&Workload::from_toml("bench", &text)?, 1);
    machine.wait(Seconds(1.0))?;
    Ok(machine)
}

#[allow(clippy::expect_used)]
fn against_real_time(c: &mut Criterion) {
    let steady = running("skylake-2x20", &FORTY).expect("the text above is a workload");
    let mut group = c.benchmark_group("100 simulated seconds in steps of 100 ms");
    group.sample_size(20).throughput(Throughput::Elements(100));
    group.bench_function("40 programs with phases on skylake-2x20", |b| {
        b.iter_batched_ref(|| steady.clone(), |m| black_box(m.wait(Seconds(100.0))), BatchSize::SmallInput);
    });
    group.finish();
}

/// Eight programs change their phases and all others are steady. Every machine therefore computes
/// the same number of fixed points in 10 s, and what grows is the time of one. Memory is local, so
/// each node uses one controller and one cache.
#[allow(clippy::expect_used)]
fn growth(c: &mut Criterion) {
    let mut group = c.benchmark_group("10 simulated seconds with 8 changing programs");
    group.sample_size(10);
    for (shape, programs, resources) in
        [("node:1 core:10", 10, 2), ("node:2 core:20", 40, 4), ("node:4 core:40", 160, 8), ("node:16 core:40", 640, 32)]
    {
        let kinds = [("a", 4), ("b", 4), ("steady", programs - 8)];
        let machine = running(shape, &kinds).expect("the text above is a workload");
        group.throughput(Throughput::Elements(u64::from(programs) * resources));
        group.bench_function(BenchmarkId::new("programs", programs), |b| {
            b.iter_batched_ref(|| machine.clone(), |m| black_box(m.wait(Seconds(10.0))), BatchSize::SmallInput);
        });
    }
    group.finish();
}

#[allow(clippy::expect_used)]
fn moving_pages(c: &mut Criterion) {
    let machine = running("node:2 core:20", &FORTY).expect("the text above is a workload");
    let action = |from, to| Action::MigratePages {
        pid: Pid(1000),
        from: NodeId(from),
        to: NodeId(to),
        pages: Pages(50_000),
        select: PageSelection::ResidentSet,
        for_thread: None,
        reason: "bench".into(),
    };
    let plan = Plan { actions: vec![action(0, 1), action(1, 0)], ..Plan::nothing("bench") };
    c.bench_function("50,000 pages move while 40 programs run", |b| {
        b.iter_batched_ref(|| machine.clone(), |m| black_box(m.apply(&plan)), BatchSize::SmallInput);
    });
}

criterion_group!(benches, against_real_time, growth, moving_pages);
criterion_main!(benches);
