use super::*;
use isobar_model::{Action, CpuId, Observation, Plan, Sensor};

struct Nothing;

impl Policy for Nothing {
    fn name(&self) -> &'static str {
        "linux"
    }
    fn needs(&self) -> &'static [Sensor] {
        &[]
    }
    fn decide(&mut self, _: &Observation) -> Plan {
        Plan::nothing("linux")
    }
}

/// Binds every thread to a CPU by its rank; with `far`, to one that the machine lacks.
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
    vec![("linux".into(), Box::new(|| Box::new(Nothing) as Box<dyn Policy>)), ("spread".into(), Box::new(spread))]
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

#[test]
fn an_impossible_plan_is_told_with_its_policy() {
    let error = compare(&spec(), &policies(true)).unwrap_err().to_string();
    assert!(error.contains("policy spread") && error.contains("cpu 999"), "{error}");
}

#[test]
fn the_table_is_aligned_and_fits() {
    let text = crate::table(&compare(&spec(), &policies(false)).unwrap());
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    assert!(text.contains("spread") && text.contains("milc.4"));
}
