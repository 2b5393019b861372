use super::super::SimMachine;
use super::{Queue, turns};
use crate::workload::Workload;
use isobar_model::{Action, CpuId, Machine, Pid, Plan, Seconds, Tid, Wake};
use proptest::prelude::*;
use std::sync::Arc;

fn workload(rotates: bool, apps: &str) -> Workload {
    let run = "[run]\nruns = 1\ninstructions_factor = 0.05\n";
    let text = format!("machine = \"node:1 core:4\"\n{run}{apps}");
    let mut all = Workload::from_toml("w.toml", &text).unwrap();
    all.machine = Arc::new(crate::MachineSpec::clone(&all.machine).with_rotation(rotates));
    all
}

/// CPU seconds of each process in two seconds.
fn cpu_seconds(machine: &mut SimMachine) -> Vec<f64> {
    machine.wait(Seconds(2.0)).unwrap();
    let sample = machine.sample().unwrap();
    sample.processes.iter().map(|process| process.threads[0].cpu_time.unwrap().0).collect()
}

const FIVE: &str = "[[app]]\nprogram = \"povray\"\ncount = 5\n";

#[test]
fn five_threads_on_four_cpus_get_four_fifths_each() {
    let got = cpu_seconds(&mut SimMachine::new(&workload(true, FIVE), 1));
    assert!(got.iter().all(|seconds| (seconds - 1.6).abs() < 1e-9), "{got:?}");
    let still = cpu_seconds(&mut SimMachine::new(&workload(false, FIVE), 1));
    assert_eq!(still.iter().filter(|seconds| (**seconds - 1.0).abs() < 1e-9).count(), 2, "{still:?}");
}

/// Three threads bound to one CPU share it. The other two have CPUs of their own, and one CPU is
/// idle.
#[test]
fn bound_threads_do_not_rotate() {
    let mut machine = SimMachine::new(&workload(true, FIVE), 1);
    let bind =
        |id: u32| Action::MoveThread { pid: Pid(id), tid: Tid(id), cpu: CpuId(0), cpus: None, reason: "test".into() };
    let actions = (1000..1003).map(bind).collect();
    machine.apply(&Plan { actions, ..Plan::nothing("test") }).unwrap();
    let got = cpu_seconds(&mut machine);
    assert!(got[..3].iter().all(|seconds| (seconds - 2.0 / 3.0).abs() < 1e-9), "{got:?}");
    assert!(got[3..].iter().all(|seconds| (seconds - 2.0).abs() < 1e-9), "{got:?}");
}

/// All five threads are sent to one CPU. If they may be balanced over the cache, they have four
/// fifths each, as if they were free. If they may use two CPUs of the cache, they share these.
#[test]
fn threads_that_may_use_their_whole_cache_rotate() {
    let got = |cpus: &str| {
        let mut machine = SimMachine::new(&workload(true, FIVE), 1);
        let send = |id: u32| {
            let (cpus, reason) = (Some(cpus.parse().unwrap()), "test".into());
            Action::MoveThread { pid: Pid(id), tid: Tid(id), cpu: CpuId(0), cpus, reason }
        };
        machine.apply(&Plan { actions: (1000..1005).map(send).collect(), ..Plan::nothing("test") }).unwrap();
        (cpu_seconds(&mut machine), machine.affinity(Pid(1000), Tid(1000)).unwrap().to_string())
    };
    let (whole, may) = got("0-3");
    assert!(whole.iter().all(|seconds| (seconds - 1.6).abs() < 1e-9) && may == "0-3", "{whole:?} {may}");
    let (half, may) = got("0-1");
    assert!((half.iter().sum::<f64>() - 4.0).abs() < 1e-9 && may == "0-1", "two CPUs for 2 s: {half:?} {may}");
}

/// One thread more is 25 % more if the other CPUs have four: the kernel considers that balanced.
#[test]
fn full_cpus_do_not_rotate() {
    let got = cpu_seconds(&mut SimMachine::new(&workload(true, "[[app]]\nprogram = \"povray\"\ncount = 17\n"), 1));
    assert_eq!(got.iter().filter(|seconds| (**seconds - 0.4).abs() < 1e-9).count(), 5, "{got:?}");
}

#[test]
fn where_every_thread_has_a_cpu_nothing_changes() {
    let ended = |rotates| {
        let mut machine = SimMachine::new(&workload(rotates, "[[app]]\nprogram = \"mcf\"\ncount = 4\n"), 3);
        while machine.wait(Seconds(1.0)).unwrap() != Wake::Ended {}
        machine.report()
    };
    assert_eq!(ended(true), ended(false));
}

fn queue((cpu, (bound, free)): (u32, (u32, u32))) -> Queue {
    Queue { cpu: CpuId(cpu), threads: bound + free, bound }
}

proptest! {
    /// Free threads get equal fractions, at least as large as the bound threads leave them. All
    /// fractions together equal the number of CPUs that have something to run, or the number of
    /// threads if that is smaller.
    #[test]
    fn parts_are_fair_and_use_every_cpu(counts in prop::collection::vec((0_u32..4, 0_u32..4), 1..9)) {
        let queues: Vec<Queue> = (0..).zip(counts).map(queue).collect();
        let parts = turns(&queues);
        prop_assume!(!parts.is_empty());
        let both = || queues.iter().zip(&parts);
        let free = parts[0].1.free;
        let all: f64 = both().map(|(queue, (_, part))| {
            f64::from(queue.bound) * part.bound + f64::from(queue.threads - queue.bound) * part.free
        }).sum();
        prop_assert!(both().all(|(_, (_, part))| part.free.to_bits() == free.to_bits()));
        prop_assert!(both().all(|(queue, (_, part))| f64::from(queue.bound) * part.bound <= 1.0 + 1e-12));
        prop_assert!(both().all(|(queue, (_, part))| queue.bound == 0 || part.bound <= free + 1e-12));
        let movable: u32 = queues.iter().map(|queue| queue.threads - queue.bound).sum();
        let held = queues.iter().filter(|queue| queue.bound > 0).count();
        let most = (isobar_model::num::float_len(held) + f64::from(movable)).min(isobar_model::num::float_len(queues.len()));
        prop_assert!((all - most).abs() < 1e-9, "{all} {most} {queues:?} {parts:?}");
    }
}
