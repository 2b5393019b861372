//! Decisions of `fixed` on a machine of three nodes with two CPUs each (0 1 | 2 3 | 4 5).

use super::*;
use crate::test_kit;
use isobar_model::wire::observation_from_json;

fn policy(section: &str) -> Box<dyn Policy> {
    test_kit::policy(&ENTRY, section)
}

fn refused(section: &str) -> String {
    test_kit::refused(&ENTRY, section)
}

/// Process 7 `alpha` with threads 7 and 9, process 8 `beta` with thread 8.
fn seen(alpha_pages: &str, alpha0: &str, alpha1: &str, beta: &str) -> Observation {
    observation_from_json(&format!(
        r#"{{"time": 1, "interval": 1, "machine": {{"nodes": [{{"id": 0}}, {{"id": 1}}, {{"id": 2}}], "cpus": [
            {{"id": 0, "node": 0}}, {{"id": 1, "node": 0}}, {{"id": 2, "node": 1}}, {{"id": 3, "node": 1}},
            {{"id": 4, "node": 2}}, {{"id": 5, "node": 2}}]}},
        "processes": [
            {{"pid": 7, "name": "alpha", "pages": {alpha_pages}, "threads": [{{"tid": 9, {alpha1}}}, {{"tid": 7, {alpha0}}}]}},
            {{"pid": 8, "name": "beta", "threads": [{{"tid": 8, {beta}}}]}}]}}"#
    ))
    .unwrap()
}

fn at(cpus: [u32; 3]) -> Observation {
    let [alpha0, alpha1, beta] = cpus.map(|cpu| format!(r#""cpu": {cpu}, "instructions": 5"#));
    seen("null", &alpha0, &alpha1, &beta)
}

fn with_pages(pages: &str) -> Observation {
    seen(pages, r#""cpu": 0"#, r#""cpu": 0"#, r#""cpu": 0"#)
}

/// `tid>cpu` and `from>to:pages` for each action.
fn decided(policy: &mut dyn Policy, seen: &Observation) -> Vec<String> {
    let plan = policy.decide(seen);
    assert_eq!(plan.validate(seen), Ok(()));
    let show = |action: &Action| match action {
        Action::MoveThread { tid, cpu, .. } => format!("{tid}>{cpu}"),
        Action::MigratePages { pid, from, to, pages, .. } => format!("{pid}: {from}>{to}:{}", pages.0),
        other => format!("{other:?}"),
    };
    plan.actions.iter().map(show).collect()
}

#[test]
fn named_threads_go_to_their_cpus_and_others_stay() {
    let mut fixed = policy("threads = 'alpha/0=5 beta=3'");
    let plan = fixed.decide(&at([0, 1, 2]));
    assert_eq!(plan.notes, [""; 0]);
    let reasons: Vec<_> = plan.actions.iter().map(Action::reason).collect();
    assert_eq!(
        reasons,
        [
            "alpha/0 belongs on cpu 5 by fixed.threads: it runs elsewhere",
            "beta belongs on cpu 3 by fixed.threads: it runs elsewhere"
        ]
    );
    assert_eq!(decided(policy("threads = 'alpha/0=5 beta=3'").as_mut(), &at([0, 1, 2])), ["7>5", "8>3"]);
}

#[test]
fn an_index_goes_before_the_whole_process_and_a_pid_is_a_name_too() {
    assert_eq!(decided(policy("threads = 'alpha=2 alpha/1=4'").as_mut(), &at([0, 1, 2])), ["7>2", "9>4"]);
    assert_eq!(decided(policy("threads = '8=1 7/0=3'").as_mut(), &at([0, 1, 2])), ["7>3", "8>1"]);
}

#[test]
fn a_thread_on_its_cpu_is_bound_once_and_brought_back_when_it_strays() {
    let mut fixed = policy("threads = 'beta=2'");
    let there = fixed.decide(&at([0, 1, 2]));
    assert_eq!(there.actions[0].reason(), "beta belongs on cpu 2 by fixed.threads: bound so that it stays");
    assert_eq!(decided(fixed.as_mut(), &at([0, 1, 2])), [""; 0]);
    assert_eq!(decided(fixed.as_mut(), &at([0, 1, 4])), ["8>2"]);
    assert_eq!(decided(fixed.as_mut(), &at([0, 1, 2])), [""; 0]);
}

/// A thread that may run on CPUs 1 to 3: on CPU 2 it is bound to these where it is; on CPU 5 it
/// goes to the first of them. Among its CPUs the kernel may move it.
#[test]
fn a_thread_may_have_several_cpus() {
    let bound = |policy: &mut dyn Policy, beta: u32| {
        let plan = policy.decide(&at([0, 1, beta]));
        let one = |action: &Action| match action {
            Action::MoveThread { cpu, cpus, .. } => {
                format!("{cpu} of {}", cpus.as_ref().map_or("itself".into(), CpuSet::to_string))
            }
            other => panic!("{other:?}"),
        };
        plan.actions.iter().map(one).collect::<Vec<_>>()
    };
    let mut fixed = policy("threads = 'beta=1-3'");
    assert_eq!(bound(fixed.as_mut(), 2), ["2 of 1-3"]);
    assert_eq!(bound(fixed.as_mut(), 3), [""; 0]);
    assert_eq!(bound(fixed.as_mut(), 5), ["1 of 1-3"]);
    assert_eq!(bound(policy("threads = 'beta=5,90'").as_mut(), 2), ["5 of itself"], "CPU 90 is not there");
}

#[test]
fn a_thread_that_sleeps_elsewhere_is_bound_once() {
    let asleep = seen("null", r#""cpu": 0"#, r#""cpu": 1"#, r#""cpu": 4, "instructions": 0"#);
    let mut fixed = policy("threads = 'beta=2'");
    assert_eq!(decided(fixed.as_mut(), &asleep), ["8>2"]);
    assert_eq!(decided(fixed.as_mut(), &asleep), [""; 0]);
}

#[test]
fn a_thread_that_went_away_and_came_back_is_bound_again() {
    let mut fixed = policy("threads = 'beta=2'");
    let mut without = at([0, 1, 2]);
    without.processes.pop();
    assert_eq!(decided(fixed.as_mut(), &at([0, 1, 2])), ["8>2"]);
    assert_eq!(fixed.decide(&without).notes, ["fixed.threads: beta=2: no process of this name or pid is seen"]);
    assert_eq!(decided(fixed.as_mut(), &at([0, 1, 2])), ["8>2"]);
}

#[test]
fn what_cannot_be_done_is_reported_and_not_tried() {
    let confined = seen("null", r#""cpu": 0, "pinned": true"#, r#""cpu": 0, "allowed_cpus": [0, 1]"#, r#""cpu": 0"#);
    let section = "threads = 'alpha=5 beta=99 gamma=1 beta/3=0'\npages = 'alpha=7 beta=2 gamma=0>1'";
    let plan = policy(section).decide(&confined);
    assert_eq!(plan.actions, []);
    assert_eq!(
        plan.notes,
        [
            "fixed.threads: beta=99: cpu 99 is not online on this machine",
            "fixed.threads: gamma=1: no process of this name or pid is seen",
            "fixed.threads: beta/3=0: it has no thread 3 (the first is 0)",
            "fixed.pages: pages of alpha to node 7: node 7 is not on this machine",
            "fixed.pages: pages of gamma to node 1: no process of this name or pid is seen",
            "fixed.threads: thread 7 of process 7 is left alone: pinned by its owner",
            "fixed.threads: thread 9 of process 7 may not run on cpu 5: its owner or its cpuset excludes it",
            "fixed.pages: the pages of process 7 (alpha) were not counted by node",
            "fixed.pages: the pages of process 8 (beta) were not counted by node",
        ]
    );
}

#[test]
fn pages_go_where_they_belong_so_many_in_an_interval() {
    let mut fixed = policy("pages = 'alpha=2'\npages_per_epoch = 50");
    assert_eq!(decided(fixed.as_mut(), &with_pages("[120, 30, 10]")), ["7: 0>2:50", "7: 1>2:30"]);
    assert_eq!(decided(fixed.as_mut(), &with_pages("[70, 0, 90]")), ["7: 0>2:50"]);
    let last = fixed.decide(&with_pages("[20, 0, 140]"));
    assert_eq!(last.actions[0].reason(), "pages of alpha belong on node 2 by fixed.pages: 13 % of them are on node 0");
    assert_eq!(decided(fixed.as_mut(), &with_pages("[0, 0, 160]")), [""; 0]);
}

#[test]
fn pages_of_one_node_only() {
    let mut fixed = policy("pages = 'alpha=0>2'");
    assert_eq!(decided(fixed.as_mut(), &with_pages("[9000, 30, 10]")), ["7: 0>2:4096"]);
}

#[test]
fn pages_that_do_not_move_are_left_in_peace() {
    let mut fixed = policy("pages = 'alpha=2'");
    let asked: Vec<_> = (0..5).map(|_| decided(fixed.as_mut(), &with_pages("[12, 0, 90]")).len()).collect();
    assert_eq!(asked, [1, 1, 1, 0, 0]);
    let note = &fixed.decide(&with_pages("[12, 0, 90]")).notes[0];
    assert_eq!(note, "fixed.pages: 12 pages of process 7 (alpha) cannot be moved from node 0");
}

#[test]
fn which_pages_is_a_setting() {
    for (value, select) in [("false", PageSelection::ResidentSet), ("true", PageSelection::AroundSamples)] {
        let plan = policy(&format!("pages = 'alpha=2'\naround_samples = {value}")).decide(&with_pages("[12, 0, 90]"));
        assert!(matches!(plan.actions[0], Action::MigratePages { select: with, .. } if with == select));
    }
}

#[test]
fn around_samples_each_thread_speaks_for_its_own_pages() {
    let around = "pages = 'alpha=2'\naround_samples = true\npages_per_epoch = 8";
    let plan = policy(around).decide(&with_pages("[12, 0, 90]"));
    let asked: Vec<_> = plan
        .actions
        .iter()
        .map(|action| match action {
            Action::MigratePages { pages, for_thread, .. } => (for_thread.map(|tid| tid.0), pages.0),
            _ => panic!("{action:?}"),
        })
        .collect();
    let tids: Vec<_> = with_pages("[12, 0, 90]").processes[0].threads.iter().map(|thread| thread.tid.0).collect();
    // Twelve pages on node 0: eight for the first thread, the other four for the second, none for a
    // third.
    let expected: Vec<_> = tids.iter().zip([8, 4]).map(|(tid, pages)| (Some(*tid), pages)).collect();
    assert_eq!(asked, expected);
}

#[test]
fn bad_settings_name_their_key() {
    for (section, message) in [
        ("threads = 'alpha'", "fixed.threads: `alpha` is impossible: expected NAME=VALUE"),
        ("pages = 'alpha=0>0'", "fixed.pages: `alpha=0>0` is impossible: expected two"),
        ("ways = 'alpha=3'", "fixed.ways: `alpha=3` is impossible: expected NAME=LLC:MASK"),
        ("pages_per_epoch = 0", "fixed.pages_per_epoch: 0 is impossible: expected at least 1"),
    ] {
        assert!(refused(section).starts_with(message), "{}", refused(section));
    }
}

#[test]
fn threads_of_a_name_get_their_ways_once_and_again_when_there_are_others() {
    let seen = |tids: &[u32]| {
        let threads = tids.iter().map(|tid| test_kit::thread(*tid, 0, 0.0)).collect();
        test_kit::observation("node:1 core:2", vec![Process { name: "alpha".into(), ..test_kit::process(7, threads) }])
    };
    let mut fixed = policy("ways = 'alpha=0:0x3:40 7=0:4'");
    let (one, two) = (seen(&[7]), seen(&[7, 8]));
    let plan = fixed.decide(&one);
    assert_eq!((plan.validate(&one), plan.actions.len()), (Ok(()), 1));
    let Action::SetWays { cluster, way_mask: 3, memory_bandwidth_percent: Some(40), threads, .. } = &plan.actions[0]
    else {
        panic!("{plan:?}")
    };
    assert_eq!((cluster.as_str(), &threads[..]), ("alpha", &[Tid(7)][..]));
    assert_eq!(
        plan.notes,
        ["fixed.ways: 7: no process of this name or pid is seen, or an earlier entry applies to it"]
    );
    assert_eq!(fixed.decide(&one).actions, []);
    assert_eq!(fixed.decide(&two).actions.len(), 1);
    let mut beyond = policy("ways = 'alpha=0:0x1ffff'");
    assert_eq!(beyond.decide(&one).notes, ["fixed.ways: alpha: the mask 0x1ffff goes beyond the 16 ways of llc 0"]);
}
