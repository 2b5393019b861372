//! What simulated time costs: 40 programs with phases on two sockets of 20 cores, in steps of 100
//! ms, against real time; how the cost grows from 10 to 640 programs, each on a machine with a core
//! for it; and steps in which pages are on their way, where everything is set up anew.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use isobar_model::{Action, Machine, NodeId, PageSelection, Pages, Pid, Plan, Seconds};
use isobar_sim::{SimError, SimMachine, Workload};
use std::hint::black_box;

/// Four kinds of programs: streaming, sensitive, light, and in between, each with phases of 3 to 6
/// seconds that begin at different times. Runs are endless, so that only phases change anything.
const PROGRAMS: &str = r#"
[run]
step_seconds = 0.1
max_seconds = 1e8
[[program]]
name = "a"
instructions_billion = 1e6
base_cpi = 0.7
mpki = { streaming = 20.0, reuse = 10.0, half_mib = 2.0 }
mlp = 6.0
write_back = 0.4
footprint_mib = 400
[[program.phase]]
instructions_billion = 7.0
mpki_factor = 1.0
[[program.phase]]
instructions_billion = 9.0
mpki_factor = 0.6
[[program]]
name = "b"
instructions_billion = 1e6
base_cpi = 0.6
mpki = { streaming = 1.0, reuse = 25.0, half_mib = 1.0 }
mlp = 2.0
write_back = 0.2
footprint_mib = 100
[[program.phase]]
instructions_billion = 6.0
mpki_factor = 1.0
[[program.phase]]
instructions_billion = 8.0
mpki_factor = 0.5
[[program]]
name = "c"
instructions_billion = 1e6
base_cpi = 0.5
mpki = { streaming = 0.01, reuse = 0.4, half_mib = 0.5 }
mlp = 1.5
write_back = 0.1
footprint_mib = 10
[[program.phase]]
instructions_billion = 20.0
mpki_factor = 1.0
[[program.phase]]
instructions_billion = 15.0
mpki_factor = 2.0
[[program]]
name = "d"
instructions_billion = 1e6
base_cpi = 0.8
mpki = { streaming = 4.0, reuse = 8.0, half_mib = 4.0 }
mlp = 3.0
write_back = 0.3
footprint_mib = 200
[[program.phase]]
instructions_billion = 11.0
mpki_factor = 1.0
[[program.phase]]
instructions_billion = 10.0
mpki_factor = 0.7
[[program]]
name = "steady"
instructions_billion = 1e6
base_cpi = 0.8
mpki = { streaming = 4.0, reuse = 8.0, half_mib = 4.0 }
mlp = 3.0
write_back = 0.3
footprint_mib = 200
"#;

const FORTY: [(&str, u32); 4] = [("a", 10), ("b", 10), ("c", 10), ("d", 10)];

/// `count` programs of each kind, on a machine such as `node:2 core:20`, in the middle of their
/// runs.
fn running(machine: &str, kinds: &[(&str, u32)]) -> Result<SimMachine, SimError> {
    let mut text = format!("machine = \"{machine}\"\n{PROGRAMS}");
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

/// Eight programs change their phases, all others are steady, so that on every machine equally many
/// fixed points are found in 10 s, and the time of one is what grows; memory is local, so that the
/// resources at work are one controller and one cache a node.
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
    let action = Action::MigratePages {
        pid: Pid(1000),
        from: NodeId(0),
        to: NodeId(1),
        pages: Pages(50_000),
        select: PageSelection::ResidentSet,
        for_thread: None,
        reason: "bench".into(),
    };
    let back = match action.clone() {
        Action::MigratePages { pid, pages, select, for_thread, reason, .. } => {
            Action::MigratePages { pid, pages, select, for_thread, reason, from: NodeId(1), to: NodeId(0) }
        }
        other => other,
    };
    let plan = Plan { actions: vec![action, back], ..Plan::nothing("bench") };
    c.bench_function("50,000 pages move while 40 programs run", |b| {
        b.iter_batched_ref(|| machine.clone(), |m| black_box(m.apply(&plan)), BatchSize::SmallInput);
    });
}

criterion_group!(benches, against_real_time, growth, moving_pages);
criterion_main!(benches);
