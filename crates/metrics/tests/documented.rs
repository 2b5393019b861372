//! The page on metrics lists every family with its type, and no other. The output keeps its
//! promises whatever names processes have.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use isobar_metrics::{About, Exposition, Families, Family, Form, Kind, Own, Taken, write};
use isobar_model::{
    Action, ActionOutcome, CpuId, Effect, NodeId, Observation, Outcome, Pid, Plan, Prediction, Sensor, Tid,
};
use isobar_view::{
    Answer, Cluster, Finding, LinkView, LlcView, NodeView, Pair, ProgramView, Proposed, ThreadView, Verdict, View,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn program(pid: u32, name: &str) -> ProgramView {
    ProgramView {
        pid: Pid(pid),
        name: name.to_owned(),
        processes: 1,
        cpus: Some(1.0),
        ipc: Some(0.5),
        mpki: Some(20.0),
        bandwidth: Some(1e9),
        pages: Some(vec![3, 1]),
        runs_on: Some(vec![1.0, 0.0]),
        remote: Some(0.25),
        slowdown: Some(1.5),
        contention: Some(1.25),
        distance: Some(1.2),
        threads: vec![ThreadView::default()],
        ..ProgramView::default()
    }
}

/// A view in which everything is measured.
fn full(programs: Vec<ProgramView>) -> View {
    let node = |id: u32| NodeView {
        id: NodeId(id),
        cpus: 4,
        busy: Some(0.5),
        memory_bytes: Some(1 << 30),
        free_bytes: Some(1 << 29),
        bandwidth: Some(5e9),
        max_bandwidth: Some(1e10),
        latency_ns: Some(180.0),
        idle_latency_ns: Some(90.0),
        ..NodeView::default()
    };
    let cluster = Cluster { name: "streaming".into(), way_mask: 0x3, threads: vec![Tid(1)], programs: vec![Pid(1)] };
    let llc = LlcView {
        size_bytes: Some(1 << 24),
        ways: Some(16),
        pressure: Some(30.0),
        clusters: vec![cluster],
        ..LlcView::default()
    };
    let (from, to) = (NodeId(0), NodeId(1));
    View {
        number: 1,
        time_seconds: 1.0,
        acts: true,
        nodes: vec![node(0), node(1)],
        latency: vec![Pair { from, to, latency_ns: 200.0, idle_latency_ns: None, congested: false }],
        llcs: vec![llc],
        links: vec![LinkView { from, to, bandwidth: 1e9, max_bandwidth: 4e9 }],
        programs,
        verdict: Verdict {
            answer: Answer::Yes,
            findings: vec![Finding { words: "x".into(), weight: 2.0 }],
            ..Verdict::default()
        },
        proposed: Some(Proposed { moves: vec![], gain: 0.3 }),
        ..View::default()
    }
}

fn shown(view: &View) -> Vec<Family> {
    let machine = isobar_model::topology::synthetic::synthetic("node:2 core:4").unwrap();
    let seen = Observation::bare(Arc::new(machine), vec![]);
    let action = Action::MoveThread { pid: Pid(1), tid: Tid(1), cpu: CpuId(0), cpus: None, reason: "because".into() };
    let effect = |kept, measured| Effect { kept, measured, ..Effect::default() };
    let plan = Plan {
        actions: vec![action.clone(), action],
        predictions: vec![Prediction { gain: 0.3, ..Prediction::default() }],
        effects: vec![effect(true, 0.2), effect(false, -0.1)],
        ..Plan::nothing("isobar")
    };
    let refused = ActionOutcome::Refused { errno: Some(1), why: "no".into() };
    let outcome = Outcome { actions: vec![ActionOutcome::Done, refused] };
    let about = About { interval_seconds: 0.5, most_groups: 2, ..About::default() };
    let mut exposition = Exposition::new(about);
    let missing = &[Sensor::CacheWays];
    exposition.take(&Taken { view, seen: &seen, managed: &seen, plan: &plan, outcome: Some(&outcome), missing });
    let own = Own {
        cpu_seconds: Some(1.0),
        resident_bytes: Some(1),
        open_descriptors: Some(3),
        max_descriptors: Some(1024),
        threads: Some(4),
        start_seconds: Some(1e9),
        last_epoch_age_seconds: Some(0.1),
        dropped_lines: Some(0),
        recording_bytes: Some(1),
        ..Own::default()
    };
    let mut all: Families = exposition.families();
    all.extend(own.families());
    all.into_all()
}

/// The rows of the page: name and type.
fn documented() -> BTreeMap<String, String> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md")).unwrap();
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `isobar_")?.split(" | ");
        Some((format!("isobar_{}", cells.next()?.trim_end_matches('`')), cells.next()?.to_owned()))
    };
    page.lines().filter_map(row).collect()
}

#[test]
fn the_page_has_every_family_with_its_type() {
    let name = |family: &Family| match family.kind {
        Kind::Counter => (format!("{}_total", family.full_name()), "counter".to_owned()),
        Kind::Gauge => (family.full_name(), "gauge".to_owned()),
        Kind::Histogram => (family.full_name(), "histogram".to_owned()),
    };
    let families: BTreeMap<String, String> = shown(&full(vec![program(1, "a")])).iter().map(name).collect();
    let page = documented();
    let missing: Vec<_> = families.iter().filter(|family| page.get(family.0) != Some(family.1)).collect();
    let gone: Vec<_> = page.keys().filter(|name| !families.contains_key(*name)).collect();
    assert!(missing.is_empty() && gone.is_empty(), "not in docs/metrics.md: {missing:?}; only there: {gone:?}");
    assert!(families.len() > 60);
}

#[test]
fn what_is_decided_is_counted() {
    let text = write(shown(&full(vec![program(1, "a")])), Form::OpenMetrics).unwrap();
    for line in [
        "isobar_actions_total{kind=\"move_thread\",result=\"done\"} 1",
        "isobar_action_refusals_total{errno=\"EPERM\"} 1",
        "isobar_changes_measured_total{result=\"kept\"} 1",
        "isobar_change_measured_speedup_ratio_sum 2.1",
        "isobar_node_memory_latency_seconds{node=\"0\"} 1.8e-7",
        "isobar_node_controller_utilization_ratio{node=\"1\"} 0.5",
        "isobar_epochs_late_total 1",
        "isobar_sensor_missing{sensor=\"cache_ways\"} 1.0",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
    }
}

#[test]
fn a_machine_that_measures_nothing_has_no_samples() {
    let bare = ProgramView { pid: Pid(1), name: "a".into(), processes: 1, ..ProgramView::default() };
    let nodes = vec![NodeView { id: NodeId(0), ..NodeView::default() }];
    let text = write(shown(&View { programs: vec![bare], nodes, ..View::default() }), Form::Classic).unwrap();
    for absent in
        ["group_ipc", "group_slowdown", "node_controller", "node_memory_free", "contended", "latency_sec", "group_cpus"]
    {
        assert!(!text.contains(&format!("isobar_{absent}")), "{absent}\n{text}");
    }
    assert!(text.contains("isobar_group_processes{group=\"a\"} 1.0\n"), "{text}");
}

#[test]
fn the_busiest_groups_have_series_and_the_rest_is_one() {
    let named = |(name, cpus): (&str, f64)| ProgramView { cpus: Some(cpus), ..program(1, name) };
    let mut programs: Vec<_> = [("a", 3.0), ("b", 0.1), ("c", 0.2), ("d", 2.0), ("a", 1.0)].map(named).into();
    (1..).zip(&mut programs).for_each(|(pid, program)| program.pid = Pid(pid));
    let text = write(shown(&full(programs)), Form::Classic).unwrap();
    let cpus: Vec<&str> = text.lines().filter(|line| line.starts_with("isobar_group_cpus")).collect();
    let [a, d, other] = &cpus[..] else { panic!("{cpus:?}") };
    assert_eq!((*a, *d), ("isobar_group_cpus{group=\"a\"} 4.0", "isobar_group_cpus{group=\"d\"} 2.0"));
    assert!(other.starts_with("isobar_group_cpus{group=\"other\"} 0.3"), "{other}");
}

/// The first name contains the characters of the escape sequence that replaces a character of the
/// second name.
#[test]
fn two_names_that_look_alike_are_one_series() {
    let long = "x".repeat(300);
    let names = ["a\\u{1b}", "a\u{1b}", &long, &format!("{long}y"), "other"];
    let programs = (1..).zip(names).map(|(pid, name)| ProgramView { cpus: Some(f64::from(pid)), ..program(pid, name) });
    let text = write(shown(&full(programs.collect())), Form::Classic).unwrap();
    let series = text.lines().filter(|line| line.starts_with("isobar_group_ipc{"));
    let unique: BTreeSet<&str> = series.clone().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
    assert_eq!((unique.len(), series.count()), (3, 3), "{text}");
}

/// Checks a sample of the text: returns the name, and whether its labels are well formed.
fn is_well_formed(line: &str) -> bool {
    let Some(open) = line.find('{') else { return line.split(' ').count() == 2 };
    let (mut quoted, mut escaped, mut quotes, mut end) = (false, false, 0, None);
    for (at, c) in line.char_indices().skip(open + 1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => (quoted, quotes) = (!quoted, quotes + 1),
            '}' if !quoted => {
                end = Some(at);
                break;
            }
            _ => {}
        }
    }
    let value = end.and_then(|end| line.get(end + 2..)).unwrap_or_default();
    quotes % 2 == 0 && quotes > 0 && value.parse::<f64>().is_ok()
}

proptest! {
    #[test]
    fn whatever_processes_are_called_the_text_stays_a_text(names in prop::collection::vec(any::<String>(), 1..6)) {
        let programs = (1..).zip(&names).map(|(pid, name)| program(pid, name)).collect();
        let families = shown(&full(programs));
        let mut series = BTreeSet::new();
        for form in [Form::OpenMetrics, Form::Classic] {
            for line in write(families.clone(), form).unwrap().lines() {
                let described = ["# HELP isobar_", "# TYPE isobar_", "# UNIT isobar_", "# EOF"];
                let is_sample = line.starts_with("isobar_") && is_well_formed(line);
                prop_assert!(is_sample || described.iter().any(|head| line.starts_with(head)), "{:?}", line);
                if form == Form::Classic && is_sample {
                    prop_assert!(series.insert(line.rsplit_once(' ').unwrap().0.to_owned()), "twice: {}", line);
                }
            }
        }
    }
}
