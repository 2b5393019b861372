use super::super::SimMachine;
use crate::workload::Workload;
use isobar_model::{Machine, Seconds, Wake, num};
use proptest::prelude::*;

const RUN: &str = "[run]\nruns = 2\ninstructions_factor = 0.05\n";

fn workload(apps: &str) -> Workload {
    Workload::from_toml("w.toml", &format!("machine = \"barcelona-4x4\"\n{RUN}{apps}")).unwrap()
}

/// Three processes with local memory and one with remote memory.
fn uneven(barrier: &str) -> Workload {
    let app = |cpu: u32, rest: &str| format!("[[app]]\nprogram = \"milc\"\ncpu = {cpu}\n{rest}\n{barrier}\n");
    let near: String = [0, 4, 8].map(|cpu| app(cpu, "")).concat();
    workload(&format!("{near}{}", app(12, "memory_node = 0")))
}

fn ended(mut machine: SimMachine) -> SimMachine {
    while machine.wait(Seconds(1.0)).unwrap() != Wake::Ended {}
    machine
}

fn seconds(workload: &Workload) -> Vec<f64> {
    let report = ended(SimMachine::new(workload, 1)).report();
    report.apps.iter().map(|app| app.mean_seconds.unwrap()).collect()
}

fn equal(a: f64, b: f64, part: f64) -> bool {
    (a / b - 1.0).abs() < part
}

/// The slowest process has its memory on another node, which the others load less while they wait.
/// It takes no longer than beside processes that never wait, and no less than alone.
#[test]
fn a_job_ends_when_its_slowest_process_does() {
    let apart = seconds(&uneven(""));
    let together = seconds(&uneven("job = \"a\"\nbarrier_billion = 0.1"));
    assert!(apart[0] < 0.9 * apart[3], "{apart:?}");
    assert!(together.iter().all(|seconds| equal(*seconds, together[0], 1e-12)), "{together:?}");
    let alone = seconds(&workload("[[app]]\nprogram = \"milc\"\ncpu = 12\nmemory_node = 0\n"))[0];
    assert!(together[0] < 1.001 * apart[3] && together[0] > 0.999 * alone, "{together:?} {apart:?} {alone}");
}

#[test]
fn one_barrier_is_that_at_the_end() {
    let apart = seconds(&uneven(""));
    let together = seconds(&uneven("job = \"a\"\nbarrier_billion = 1000.0"));
    assert!(together.iter().all(|seconds| equal(*seconds, together[0], 1e-12)), "{together:?}");
    assert!(equal(together[0], apart[3], 0.02), "{together:?} {apart:?}");
}

/// While the processes run, none is a whole stretch ahead of another, and none is beyond its
/// barrier.
#[test]
fn nobody_passes_a_barrier_early() {
    let mut machine = SimMachine::new(&uneven("job = \"a\"\nbarrier_billion = 0.2"), 1);
    let mut waiting = 0;
    for _ in 0..200 {
        machine.wait(Seconds(0.013)).unwrap();
        let threads: Vec<_> = machine.processes.iter().map(|process| &process.threads[0]).collect();
        let gates: Vec<_> = threads.iter().map(|thread| thread.gate.unwrap()).collect();
        assert!(gates.iter().all(|gate| gate.number == gates[0].number), "{gates:?}");
        assert!(threads.iter().zip(&gates).all(|(thread, gate)| thread.done <= gate.at(thread.goal) * (1.0 + 1e-12)));
        waiting += threads.iter().filter(|thread| thread.waits()).count();
        assert!(threads.iter().any(|thread| !thread.waits()), "when all are there they go on");
    }
    assert!(waiting > 10, "{waiting}");
}

/// A process that waits burns its CPU once, like one that works, and misses nothing meanwhile.
#[test]
fn who_waits_burns_its_cpu_and_misses_nothing() {
    let counters = |all: &Workload| {
        let mut machine = SimMachine::new(all, 1);
        machine.wait(Seconds(2.0)).unwrap();
        let sample = machine.sample().unwrap();
        sample.processes.iter().map(|process| process.threads[0].counters).collect::<Vec<_>>()
    };
    let value = |count: Option<isobar_model::Count>| num::float(count.unwrap().value);
    let mpki = |one: &isobar_model::Counters| 1000.0 * value(one.llc_misses) / value(one.instructions);
    let found = |one: &isobar_model::Counters| 1.0 - value(one.llc_misses) / value(one.llc_references);
    let (apart, together) = (counters(&uneven("")), counters(&uneven("job = \"a\"\nbarrier_billion = 0.1")));
    assert!(together.iter().all(|one| equal(value(one.cycles), 2.0 * 2.3e9, 1e-9)), "{together:?}");
    for (alone, waiting) in apart.iter().zip(&together).take(3) {
        assert!(value(waiting.llc_misses) < 0.9 * value(alone.llc_misses), "{waiting:?} {alone:?}");
    }
    assert!(mpki(&together[0]) < 0.95 * mpki(&apart[0]), "{together:?}");
    assert!(equal(found(&together[0]), found(&apart[0]), 0.1), "it looks for nothing meanwhile");
    assert!(equal(mpki(&together[3]), mpki(&apart[3]), 0.01), "the slowest hardly ever waits");
}

#[test]
fn a_job_of_one_waits_for_nobody() {
    let one = |barrier: &str| seconds(&workload(&format!("[[app]]\nprogram = \"mpi-phases\"\ncpu = 0\n{barrier}")))[0];
    assert!(equal(one(""), one("barrier_billion = 0.01"), 1e-9));
}

/// Two programs of one job have the same number of barriers, however long they are, and so do the
/// threads of one process.
#[test]
fn processes_of_different_length_have_as_many_barriers() {
    let job = "job = \"a\"\nbarrier_billion = 0.1";
    let both = format!("[[app]]\nprogram = \"povray\"\n{job}\n[[app]]\nprogram = \"mysqld\"\n{job}\n");
    let seconds = seconds(&workload(&both));
    assert!(equal(seconds[0], seconds[1], 1e-12), "{seconds:?}");
}

#[test]
fn gone_jobs_leave_their_cpus() {
    let mut all =
        workload("[[app]]\nprogram = \"povray\"\ncount = 3\nbarrier_billion = 0.3\n[[app]]\nprogram = \"mcf\"\n");
    all.run.restart = false;
    let machine = ended(SimMachine::new(&all, 1));
    assert!(machine.load().values().all(|count| *count == 0));
    assert!(machine.report().apps.iter().all(|app| app.completed == 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn copies_end_together_whatever_they_are(
        program in prop::sample::select(vec!["milc", "povray", "mpi-phases", "gcc"]),
        (count, seed) in (2_u32..12, 0_u64..1000),
        (barrier, stagger) in (0.05_f64..4.0, 0.0_f64..0.4),
    ) {
        let app = format!(
            "[[app]]\nprogram = \"{program}\"\ncount = {count}\nphase_stagger = {stagger}\nbarrier_billion = \
             {barrier}\n"
        );
        let all = workload(&app);
        let run = || ended(SimMachine::new(&all, seed)).report();
        let report = run();
        prop_assert_eq!(&report, &run());
        let first = report.apps[0].mean_seconds.unwrap();
        prop_assert!(report.apps.iter().all(|app| equal(app.mean_seconds.unwrap(), first, 1e-12)), "{report:?}");
        prop_assert!(report.apps.iter().all(|app| app.completed == 2));
    }
}
