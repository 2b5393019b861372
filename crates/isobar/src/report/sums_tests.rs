//! Tests how many actions become few lines.

use super::*;
use isobar_model::topology::synthetic::synthetic;
use isobar_model::{Outcome, Plan, Process, Sample, Seconds, Thread, Tid};
use isobar_runtime::{Epoch, Tally};
use std::sync::Arc;

fn seen() -> Observation {
    let names = ["mcf", "mcf", "lbm", "mcf", "mcf", "(sd-pam)"];
    let process = |(pid, name): (u32, &str)| {
        let thread = Thread { cpu: Some(CpuId(0)), ..Thread::unmeasured(Tid(pid)) };
        Process { pid: Pid(pid), name: name.into(), threads: vec![thread], ..Process::default() }
    };
    let machine = Arc::new(synthetic("node:2 core:4").unwrap());
    Observation::bare(machine, (10..).step_by(10).zip(names).map(process).collect())
}

fn said(actions: Vec<Action>, outcomes: Option<Vec<ActionOutcome>>, each: bool) -> Vec<String> {
    let seen = seen();
    let sample = Sample::bare(seen.time, Arc::clone(&seen.machine), Vec::new());
    let outcome = outcomes.map(|actions| Outcome { actions });
    let epoch = Epoch {
        number: 1,
        policy: "p",
        interval: Seconds(1.0),
        sample: &sample,
        seen: &seen,
        managed: &seen,
        plan: &Plan { actions, ..Plan::nothing("p") },
        outcome: outcome.as_ref(),
        first_id: None,
        undone: &[],
        lacking: Vec::new(),
        own_cpu: None,
        unmatched: None,
        tally: &Tally::default(),
    };
    lines(&epoch, each).into_iter().map(|(_, line)| line).collect()
}

fn moved(pid: u32, tid: u32, cpu: u32, reason: &str) -> Action {
    Action::MoveThread { pid: Pid(pid), tid: Tid(tid), cpu: CpuId(cpu), cpus: None, reason: reason.to_owned() }
}

#[test]
fn a_handful_is_a_line_each() {
    let actions = |count: u32| (0..count).map(|tid| moved(10, tid, 1, "because")).collect::<Vec<_>>();
    assert_eq!(said(actions(8), None, false).len(), 8);
    assert_eq!(said(actions(9), None, false).len(), 1);
    assert_eq!(said(actions(9), None, true).len(), 9, "--verbose prints each");
}

#[test]
fn more_are_a_line_a_program_and_reason() {
    let mut actions: Vec<Action> =
        (0..7).map(|tid| moved(10, 100 + tid, tid % 4, &format!("misses {tid}.5 per 1000"))).collect();
    actions.push(moved(30, 30, 5, "misses most"));
    actions.extend([20, 40, 50].map(|pid| moved(pid, pid, 7, "misses 77 per 1000")));
    actions.extend((0..2).map(|tid| moved(60, 600 + tid, 6, "makes room")));
    let refused = ActionOutcome::Refused { errno: Some(1), why: "no".into() };
    let outcomes = (0..actions.len()).map(|index| if index == 3 { refused.clone() } else { ActionOutcome::Done });
    assert_eq!(
        said(actions.clone(), Some(outcomes.collect()), false),
        [
            "  move 10 threads of mcf (processes 10, 20, 40 and 1 more) to cpus 0-3,7 (nodes 0, 1): such as \
             misses 0.5 per 1000 [9 done; 1 refused, errno 1]",
            "  move thread 30 (lbm) to cpu 5 (node 1, llc 1): misses most [done]",
            "  move 2 threads of (sd-pam) (process 60) to cpu 6 (node 1): makes room [done]",
        ]
    );
    assert!(said(actions, None, false)[0].ends_with("[not done: dry run]"));
}

#[test]
fn pages_are_summed() {
    let migrate = |pid: u32, to: u32| Action::MigratePages {
        pid: Pid(pid),
        from: NodeId(0),
        to: NodeId(to),
        pages: Pages(64),
        select: PageSelection::ResidentSet,
        for_thread: None,
        reason: "far".to_owned(),
    };
    let actions = (0..9).map(|index| migrate(if index % 2 == 0 { 10 } else { 20 }, 1)).collect();
    let outcome = |index| match index {
        0 => ActionOutcome::Vanished,
        _ => ActionOutcome::Pages { moved: Pages(60), stayed: vec![("busy".to_owned(), Pages(4))] },
    };
    assert_eq!(
        said(actions, Some((0..9).map(outcome).collect()), false),
        ["  migrate up to 576 pages of resident sets of mcf (processes 10, 20) from node 0 to node 1: far \
             [480 pages moved (32 stayed: busy); 1 gone meanwhile]"]
    );
}
