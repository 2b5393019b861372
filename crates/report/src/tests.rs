//! From epochs to a page, with worked numbers.

use crate::{BUCKETS, Collector, Head, Report};
use isobar_model::topology::synthetic::synthetic;
use isobar_model::{
    Action, Capabilities, CpuId, Effect, Gain, NodeId, Observation, Outcome, Pages, Pid, Plan, Prediction, Process,
    Seconds, Thread, Tid,
};
use isobar_view::{Moment, Watch};
use std::sync::Arc;

/// A streaming program that runs on node 0 until `moved`, then on node 1, where a quarter of its
/// pages are.
fn seen(machine: &Arc<isobar_model::Topology>, second: u64, moved: u64) -> Observation {
    let thread = Thread {
        cpu: Some(CpuId(if second > moved { 2 } else { 0 })),
        cpu_time: Some(Seconds(1.0)),
        instructions: Some(1_000_000_000),
        cycles: Some(2_000_000_000),
        llc_misses: Some(20_000_000),
        ..Thread::unmeasured(Tid(7))
    };
    let pages = [(NodeId(0), Pages(300)), (NodeId(1), Pages(100))].into_iter().collect();
    let process = Process {
        pid: Pid(7),
        name: "str<eam".into(),
        pages: Some(pages),
        threads: vec![thread],
        ..Process::default()
    };
    let mut seen = Observation::bare(Arc::clone(machine), vec![process]);
    seen.time = Seconds(isobar_model::num::float(second));
    seen
}

fn plan(second: u64) -> Plan {
    let programs = vec![Gain { pid: Pid(7), gain: 0.25 }];
    let mut plan = Plan { notes: vec!["all is well".into()], ..Plan::nothing("isobar") };
    if second == 10 {
        let reason = "it pays".to_owned();
        plan.actions.push(Action::MoveThread { pid: Pid(7), tid: Tid(7), cpu: CpuId(2), cpus: None, reason });
        plan.predictions.push(Prediction { change: 1, actions: vec![0], gain: 0.25, programs: programs.clone() });
    }
    if second == 14 {
        let programs = vec![Gain { pid: Pid(7), gain: 0.2 }];
        plan.effects.push(Effect {
            change: 1,
            predicted: 0.25,
            measured: 0.2,
            error: 0.01,
            disturbed: false,
            kept: true,
            programs,
        });
    }
    plan
}

fn report(epochs: u64) -> Report {
    let machine = Arc::new(synthetic("node:2 llc:1 core:2").unwrap());
    let (mut watch, mut collector) = (Watch::default(), Collector::new(1, epochs));
    for second in 1..=epochs {
        let (seen, plan) = (seen(&machine, second, 10), plan(second));
        let outcome = Outcome { actions: vec![Default::default(); plan.actions.len()] };
        let capabilities = &Capabilities::default();
        let moment = Moment {
            number: second,
            capabilities,
            seen: &seen,
            managed: &seen,
            plan: &plan,
            outcome: Some(&outcome),
            first_id: None,
            undone: &[],
        };
        collector.take(&moment, watch.take(&moment));
    }
    collector.finish(Head { title: "a run".into(), ..Head::default() })
}

#[test]
fn a_move_is_a_new_stay_and_pages_stay_where_they_are() {
    let report = report(20);
    // A stay begins with the interval in which the thread was first seen there.
    assert_eq!(report.lanes[0].stays, [(0.0, Some(0)), (10.0, Some(1))]);
    let document = serde_json::to_value(&report).unwrap();
    assert_eq!(document["nodes"][0]["pages"][19], 300.0);
    assert_eq!(document["programs"][0]["pages"][1][0], 100.0);
    // A quarter of its pages are remote at first, and three quarters after the move.
    assert_eq!(document["programs"][0]["remote"][0], 0.25);
    assert_eq!(document["programs"][0]["remote"][19], 0.75);
    assert_eq!(document["programs"][0]["mpki"][0], 20.0);
}

#[test]
fn what_was_predicted_stands_beside_what_was_measured() {
    let report = report(20);
    let change = &report.changes[0];
    assert_eq!((change.seconds, change.judged_seconds), (Some(10.0), Some(14.0)));
    assert_eq!((change.predicted, change.measured, change.kept), (Some(0.25), Some(0.2), Some(true)));
    assert_eq!(change.programs, [(0, Some(0.25), Some(0.2))]);
    assert_eq!((report.actions.len(), report.actions[0].reason.as_str()), (1, "it pays"));
    assert_eq!((report.notes.len(), report.notes[0].times), (1, 20));
    let words = report.summary.join("\n");
    assert!(words.contains("One action was carried out. Of 1 changes whose gain was measured"), "{words}");
    assert!(
        words.contains("predicted +25 % of one program's speed in total, measured +20 %; the median difference is 5 %"),
        "{words}"
    );
}

#[test]
fn an_hour_is_as_many_spans_as_a_chart_shows() {
    let report = report(3600);
    assert_eq!(u64::try_from(report.times.len()).unwrap(), BUCKETS);
    assert_eq!(report.times.last(), Some(&3600.0));
    assert!(report.html().len() < 200_000, "{}", report.html().len());
}
