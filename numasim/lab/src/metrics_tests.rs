use super::*;
use numasim_guest::counters::Cpu;
use numasim_guest::wire::{DaemonRan, SetupResult};
use serde_json::json;

fn job_ran(name: &str, seconds: f64) -> JobRan {
    JobRan {
        name: name.to_owned(),
        background: false,
        line: Some(json!({"program": "chase", "seconds": seconds})),
        problem: None,
        migrations: Some(2),
        pages: None,
    }
}

fn job(name: &str, cpus: Option<Vec<u32>>) -> Job {
    Job {
        name: name.to_owned(),
        argv: vec!["chase".into()],
        setup_cpus: vec![0],
        begin_cpus: None,
        run_cpus: cpus,
        background: false,
        placed_by_hand: false,
    }
}

/// CPU 0 of node 0: 30 local misses, 10 remote. CPU 1 of node 1: 60 remote (to node 0), none local.
fn counters() -> Counters {
    let cpu = |node, misses: [u64; 2]| Cpu { node, misses_by_node: misses.to_vec(), ..Cpu::default() };
    Counters { time_ns: 5, cpus: vec![cpu(0, [30, 10]), cpu(1, [60, 0])], ..Counters::default() }
}

fn ran() -> Ran {
    Ran {
        id: "under/linux".into(),
        jobs: vec![job_ran("a#1", 2.0), job_ran("a#2", 3.0)],
        seconds: 3.1,
        problem: None,
        counters: Some(counters()),
        vmstat: BTreeMap::from([("pgmigrate_success".to_owned(), 7)]),
        daemon: None,
        before: None,
    }
}

/// With 1 s alone, the slowdowns are 2 and 3, unfairness is 1.5, and STP 1/2 + 1/3. 70 of 100
/// misses are remote; on CPU 0, 10 of 40 are.
#[test]
fn worked_by_hand() {
    let alone = BTreeMap::from([("a".to_owned(), 1.0)]);
    let got = measures(&ran(), &alone, &[job("a#1", Some(vec![0])), job("a#2", Some(vec![1]))]);
    let summary = got.summary.unwrap();
    assert!((summary.unfairness - 1.5).abs() < 1e-12 && (summary.stp - 5.0 / 6.0).abs() < 1e-12);
    assert_eq!(
        (got.remote_share, got.remote_share_by_job["a#1"], got.remote_share_by_job["a#2"]),
        (Some(0.7), 0.25, 1.0)
    );
    assert_eq!((got.pages_migrated, got.pages_balanced, got.thread_migrations), (Some(7), None, Some(4)));
}

#[test]
fn where_jobs_may_meet_misses_belong_to_no_job() {
    let alone = BTreeMap::new();
    let share = |a, b| measures(&ran(), &alone, &[job("a#1", a), job("a#2", b)]).remote_share_by_job;
    assert!(share(Some(vec![0]), None).is_empty());
    assert!(share(Some(vec![0]), Some(vec![0, 1])).is_empty());
    let got = measures(&ran(), &alone, &[]);
    assert!(got.summary.is_none() && got.slowdowns.is_empty());
    assert_eq!(remote_share(&Counters::default(), |_| true), None);
}

#[test]
fn what_did_not_run_counts_for_nothing() {
    assert_eq!(problem(&ran()), None);
    let mut late = ran();
    late.jobs[1].problem = Some("exit status: 1: no memory".into());
    assert_eq!(problem(&late).unwrap(), "a#2: exit status: 1: no memory");
    let mut dead = ran();
    let daemon =
        DaemonRan { problem: Some("it ended".into()), log: String::new(), errors: "why\n".into(), cpu_seconds: None };
    dead.daemon = Some(daemon);
    assert_eq!(problem(&dead).unwrap(), "the daemon: it ended why");
    let unmeasured = JobRan { line: Some(json!({"seconds": 0.0})), ..job_ran("a", 1.0) };
    assert_eq!(seconds(&unmeasured), None);
}

#[test]
fn a_daemons_summary_is_read() {
    let log = "{\"epoch\":1}\n{\"summary\":{\"threads_moved\":3,\"pages_moved\":400,\"epochs\":9}}\n";
    assert_eq!(reported(log), Some(Reported { threads_moved: 3, pages_moved: 400, epochs: 9 }));
    assert_eq!(reported("{\"epoch\":1}\nnot json"), None);
}

/// Pages that were moved before the measured part count as pages moved. What was printed is kept.
#[test]
fn what_came_before_counts() {
    let said =
        BTreeMap::from([("a#1".to_owned(), "{\"moved\": 5}\n".to_owned()), ("a#2".to_owned(), "five".to_owned())]);
    let ran = Ran { before: Some(SetupResult { pages_moved: 5, said }), ..ran() };
    let got = measures(&ran, &BTreeMap::new(), &[]);
    assert_eq!((got.pages_migrated, got.pages_moved_before), (Some(12), Some(5)));
    assert_eq!((&got.before["a#1"]["moved"], &got.before["a#2"]), (&json!(5), &json!("five")));
}
