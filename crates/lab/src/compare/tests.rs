use super::*;
use crate::run::run_policy;
use isobar_model::{Action, CpuId, Observation, Plan, Sensor};
use isobar_policy::baseline::linux::Linux;

/// Binds every thread to a CPU by its rank; with `far`, to a CPU that the machine does not have.
struct Spread {
    far: bool,
}

impl Policy for Spread {
    fn name(&self) -> &'static str {
        "spread"
    }
    fn needs(&self) -> &'static [Sensor] {
        &[]
    }
    fn decide(&mut self, seen: &Observation) -> Plan {
        let cpus: Vec<_> = seen.machine.cpus().iter().map(|cpu| cpu.id).collect();
        let threads =
            seen.threads().enumerate().filter(|(rank, (_, thread))| thread.cpu != Some(cpus[rank % cpus.len()]));
        let actions = threads.map(|(rank, (process, thread))| Action::MoveThread {
            pid: process.pid,
            tid: thread.tid,
            cpu: if self.far { CpuId(999) } else { cpus[rank % cpus.len()] },
            cpus: None,
            reason: "by rank".into(),
        });
        Plan { actions: actions.collect(), ..Plan::nothing("spread") }
    }
}

fn spec() -> CompareSpec {
    let text = "machine = \"barcelona-4x4\"\n[run]\nruns = 1\ninstructions_factor = 0.1\n\
                [[app]]\nprogram = \"milc\"\ncount = 4\n[[app]]\nprogram = \"namd\"\ncount = 4";
    CompareSpec { repeat: 2, ..CompareSpec::new(Workload::from_toml("w.toml", text).unwrap()) }
}

fn policies(far: bool) -> Vec<NamedPolicy<'static>> {
    let spread = move || Box::new(Spread { far }) as Box<dyn Policy>;
    vec![("linux".into(), Box::new(|| Box::new(Linux) as Box<dyn Policy>)), ("spread".into(), Box::new(spread))]
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_the_order_of_policies_does_not_matter() {
    let json = |comparison: &Comparison| serde_json::to_string(comparison).unwrap();
    let first = compare(&spec(), &policies(false)).unwrap();
    assert_eq!(json(&first), json(&compare(&spec(), &policies(false)).unwrap()));
    let mut turned = policies(false);
    turned.reverse();
    let mut second = compare(&spec(), &turned).unwrap();
    second.policies.reverse();
    assert_eq!(json(&first), json(&second));
    assert!(json(&first).contains("\"unfairness_cov\""));
}

#[test]
fn moving_threads_away_from_their_memory_is_seen_to_cost() {
    let got = compare(&spec(), &policies(false)).unwrap();
    let [linux, spread] = &got.policies[..] else { panic!("two policies were asked for") };
    assert_eq!((linux.vs_linux_percent, linux.thread_migrations), (Some(0.0), 0.0));
    assert!(linux.apps.iter().all(|app| app.slowdown > 0.999), "{linux:?}");
    assert!(spread.thread_migrations > 0.0 && spread.pages_moved == 0.0);
    assert!(spread.vs_linux_percent.unwrap() < 0.0, "{spread:?}");
    assert!((linux.summary.antt - linux.apps.iter().map(|app| app.slowdown).sum::<f64>() / 8.0).abs() < 1e-9);
}

/// Twelve threads take turns on each of two CPUs, so each has less than a tenth of a CPU.
#[test]
fn a_workload_says_how_busy_a_thread_has_to_be_to_be_managed() {
    let moved = |more: &str| {
        let text = format!(
            "machine = \"node:2 llc:1 core:1\"\n[run]\nruns = 1\ninstructions_factor = 0.01\n{more}\n\
             [[app]]\nprogram = \"povray\"\ncount = 24"
        );
        let spec = CompareSpec::new(Workload::from_toml("w.toml", &text).unwrap());
        compare(&spec, &policies(false)[1..]).unwrap().policies[0].thread_migrations
    };
    assert!(moved("") == 0.0 && moved("min_cpu_percent = 5") > 0.0);
}

#[test]
fn an_impossible_plan_names_its_policy() {
    let error = isobar_runtime::in_full(&compare(&spec(), &policies(true)).unwrap_err());
    assert!(error.contains("policy spread") && error.contains("cpu 999"), "{error}");
}

#[test]
fn the_table_is_aligned_and_fits() {
    let text = crate::table(&compare(&spec(), &policies(false)).unwrap());
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    assert!(text.contains("spread") && text.contains("milc.4"));
}

/// Two programs of each kind, memory on node 0: six schedules, some better and some worse than
/// their mean.
fn six() -> CompareSpec {
    let text = "machine = \"nehalem-2x4\"\n[run]\nruns = 1\ninstructions_factor = 0.05\n\
                [[app]]\nprogram = \"mcf\"\nmemory_node = 0\n[[app]]\nprogram = \"milc\"\nmemory_node = 0\n\
                [[app]]\nprogram = \"soplex\"\nmemory_node = 0\n[[app]]\nprogram = \"lbm\"\nmemory_node = 0\n";
    CompareSpec::new(Workload::from_toml("w.toml", text).unwrap())
}

#[test]
fn linux_is_the_mean_over_all_schedules_where_they_are_few() {
    let got = compare(&six(), &policies(false)[..1]).unwrap();
    assert_eq!(got.schedules, Some(6));
    let row = &got.policies[0];
    let crate::Spread { min, max, half_width_95 } = row.spread.antt;
    assert!(min < row.summary.antt && row.summary.antt < max && half_width_95.is_none(), "{row:?}");
    // The mean of the six schedules, run one by one.
    let all = isobar_sim::schedules::balanced(&six().workload, 6).unwrap();
    let seconds = |schedule| {
        let report = run_policy(&six().workload.seated(schedule, false), 1, &mut Linux).unwrap();
        report.apps[0].mean_seconds.unwrap()
    };
    let mean = all.iter().map(seconds).sum::<f64>() / 6.0;
    assert!((row.apps[0].seconds / mean - 1.0).abs() < 1e-12);
    assert!((row.apps[0].slowdown_spread.max - row.apps[0].slowdown_spread.min) > 0.01);
}

#[test]
fn sampled_schedules_come_near_the_mean_over_all() {
    let exact = compare(&six(), &policies(false)[..1]).unwrap().policies[0].summary.antt;
    let spec = CompareSpec { starts: Starts::Sampled, repeat: 40, ..six() };
    let sampled = compare(&spec, &policies(false)[..1]).unwrap();
    let half = sampled.policies[0].spread.antt.half_width_95.unwrap();
    assert_eq!(sampled.schedules, None);
    // 95 % intervals miss one time in twenty. With this seed the interval does not, and one and a
    // half times its width is rarely missed.
    assert!((sampled.policies[0].summary.antt - exact).abs() < 1.5 * half, "{exact} {:?}", sampled.policies[0]);
}

#[test]
fn worker_threads_change_nothing_and_progress_counts_every_run() {
    let spec = CompareSpec { repeat: 3, starts: Starts::Sampled, ..spec() };
    let one = compare(&spec, &policies(false)).unwrap();
    let seen = AtomicUsize::new(0);
    let count = |done: usize, all: usize| {
        assert!(done <= all && all == 6);
        seen.fetch_add(1, Ordering::Relaxed);
    };
    let two = compare_with(&CompareSpec { jobs: 2, ..spec }, &policies(false), &count).unwrap();
    assert_eq!(serde_json::to_string(&one).unwrap(), serde_json::to_string(&two).unwrap());
    assert_eq!(seen.load(Ordering::Relaxed), 6);
}

#[test]
fn schedules_that_are_not_few_are_refused_when_all_are_asked_for() {
    let text = "machine = \"barcelona-4x4\"\n[[app]]\nprogram = \"milc\"\ncount = 6\nphase_stagger = 0.1\n\
                [[app]]\nprogram = \"mcf\"\nmemory_node = 0\n[[app]]\nprogram = \"lbm\"\nmemory_node = 1\n\
                [[app]]\nprogram = \"namd\"\nmemory_node = 2\n[[app]]\nprogram = \"povray\"\nmemory_node = 3\n";
    let workload = Workload::from_toml("w.toml", text).unwrap();
    let spec = CompareSpec { starts: Starts::Every, ..CompareSpec::new(workload) };
    let message = compare(&spec, &policies(false)).unwrap_err().to_string();
    assert!(message.starts_with("balanced schedules: more than 100"), "{message}");
}

#[test]
fn every_run_is_there_and_its_mean_is_the_row() {
    let (got, runs) = compare_in_full(&spec(), &policies(false), &|_, _| ()).unwrap();
    let starts = got.schedules.unwrap_or(1);
    assert_eq!(runs.len(), 2 * 2 * starts * 8);
    assert_eq!(runs.iter().map(|run| run.seed).collect::<std::collections::BTreeSet<_>>(), [1, 2].into());
    for row in &got.policies {
        let of_it = || runs.iter().filter(|run| run.policy == row.policy);
        let all: f64 =
            of_it().map(|run| run.share * run.slowdown).sum::<f64>() / of_it().map(|run| run.share).sum::<f64>();
        assert!((all - row.summary.antt).abs() < 1e-9, "{all} is not {}", row.summary.antt);
        assert!(of_it().all(|run| run.run_seconds >= run.seconds * 0.999));
    }
}
