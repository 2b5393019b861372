//! What simulated time costs: a second of 16 programs that are steady, and one in which every step finds a new fixed point
//! because pages are on their way.

use criterion::{Criterion, criterion_group, criterion_main};
use isobar_model::{Action, Machine, NodeId, PageSelection, Pages, Pid, Plan, Seconds};
use isobar_sim::{SimError, SimMachine, Workload};
use std::hint::black_box;

const WORKLOAD: &str = include_str!("../../../examples/workloads/dino-spec.toml");

fn machine() -> Result<SimMachine, SimError> {
    let workload = Workload::from_toml("dino-spec.toml", WORKLOAD)?;
    let mut machine = SimMachine::new(&workload, 1);
    let Ok(_) = machine.wait(Seconds(1.0));
    Ok(machine)
}

fn copying(steady: &SimMachine) -> SimMachine {
    let mut machine = steady.clone();
    let migrate = |from, to| Action::MigratePages {
        pid: Pid(1002),
        from: NodeId(from),
        to: NodeId(to),
        pages: Pages(1 << 30),
        select: PageSelection::ResidentSet,
        for_thread: None,
        reason: "bench".into(),
    };
    let actions = (1..4).flat_map(|node| [migrate(0, node), migrate(node, 0)]).collect();
    let Ok(_) = machine.apply(&Plan { actions, ..Plan::nothing("bench") });
    machine
}

#[allow(clippy::expect_used)]
fn steps(c: &mut Criterion) {
    let steady = machine().expect("the example is read by tests too");
    c.bench_function("step of 100 ms, 16 programs, steady", |b| {
        b.iter_batched_ref(|| steady.clone(), |m| black_box(m.wait(Seconds(0.1))), criterion::BatchSize::SmallInput);
    });
    let moving = copying(&steady);
    c.bench_function("step of 100 ms, 16 programs, pages moving", |b| {
        b.iter_batched_ref(|| moving.clone(), |m| black_box(m.wait(Seconds(0.1))), criterion::BatchSize::SmallInput);
    });
}

criterion_group!(benches, steps);
criterion_main!(benches);
