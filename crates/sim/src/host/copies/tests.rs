//! Pages that move in parallel with the loop, on the machine with sixteen cores and four nodes.

use super::super::SimMachine;
use crate::workload::Workload;
use isobar_model::{Action, ActionOutcome, Machine, NodeId, PageSelection, Pages, Pid, Plan, Sample, Seconds};

fn workload(apps: &str, factor: f64) -> Workload {
    let text = format!("machine = \"barcelona-4x4\"\n[run]\nruns = 1\ninstructions_factor = {factor:?}\n{apps}");
    Workload::from_toml("w.toml", &text).unwrap()
}

fn milc(rest: &str) -> SimMachine {
    SimMachine::new(&workload(&format!("[[app]]\nprogram = \"milc\"\n{rest}\n"), 0.1), 1)
}

fn plan(actions: Vec<Action>) -> Plan {
    Plan { actions, ..Plan::nothing("test") }
}

fn migrate(pid: u32, (from, to): (u32, u32), pages: u64) -> Action {
    Action::MigratePages {
        pid: Pid(pid),
        from: NodeId(from),
        to: NodeId(to),
        pages: Pages(pages),
        select: PageSelection::AroundSamples,
        for_thread: None,
        reason: "test".into(),
    }
}

/// The number and the size of a migration that was accepted, and the pages that stayed at once.
fn taken_on(outcome: &ActionOutcome) -> (u64, u64, u64) {
    let ActionOutcome::Queued { number, pages, stayed } = outcome else { panic!("{outcome:?}") };
    (*number, pages.0, stayed.iter().map(|(_, pages)| pages.0).sum())
}

/// The end of a migration in a sample: pages moved, and why others stayed.
fn end(sample: &Sample, number: u64) -> Option<(u64, Vec<(String, Pages)>)> {
    let flight = sample.page_moves.iter().find(|flight| flight.number == number && flight.ended)?;
    let ActionOutcome::Pages { moved, stayed } = &flight.outcome else { panic!("{flight:?}") };
    Some((moved.0, stayed.clone()))
}

/// An action returns at once. Pages are copied while time passes, samples report the progress, and
/// one sample reports that they have arrived.
#[test]
fn pages_move_beside_the_loop_and_that_takes_time() {
    let mut machine = milc("cpu = 0");
    let outcome = machine.apply(&plan(vec![migrate(1000, (0, 3), 50_000)])).unwrap();
    assert_eq!(taken_on(&outcome.actions[0]), (1, 50_000, 0));
    let mut before = machine.sample().unwrap();
    assert_eq!((before.time, before.page_moves[0].left()), (Seconds(0.0), Pages(50_000)));
    let took = loop {
        machine.wait(Seconds(0.01)).unwrap();
        let now = machine.sample().unwrap();
        let [flight] = &now.page_moves[..] else { panic!("{:?}", now.page_moves) };
        let there = now.processes[0].pages.as_ref().unwrap().get(NodeId(3)).copied();
        assert_eq!(there, Some(flight.moved()), "what has moved is where the sample shows it");
        assert!(flight.moved() >= before.page_moves[0].moved() && (flight.age.0 - now.time.0).abs() < 1e-9);
        if flight.ended {
            break flight.copying.0;
        }
        assert_eq!(flight.left().0, 50_000 - flight.moved().0);
        before = now;
    };
    // 50,000 pages of 4 KiB at 0.2 to 1 GB/s.
    assert!(took > 0.2 && took < 1.0, "{took}");
    let after = machine.sample().unwrap();
    assert!(after.page_moves.is_empty(), "an end is said once: {:?}", after.page_moves);
    assert_eq!((machine.report().apps[0].pages_moved, machine.report().apps[0].memory_migrations), (50_000, 1));
}

#[test]
fn a_plan_withdraws_what_was_under_way_before_it_and_what_has_moved_stays() {
    let mut machine = milc("cpu = 0");
    let withdraw =
        |to: u32| Action::WithdrawPages { pid: Pid(1000), from: None, to: Some(NodeId(to)), reason: "test".into() };
    let outcome = machine.apply(&plan(vec![migrate(1000, (0, 3), 100_000), withdraw(3)])).unwrap();
    assert!(matches!(outcome.actions[1], ActionOutcome::LeftAlone { .. }), "what it asked for itself: {outcome:?}");
    machine.wait(Seconds(0.1)).unwrap();
    let outcome = machine.apply(&plan(vec![withdraw(2), withdraw(3), migrate(1000, (0, 1), 1_000)])).unwrap();
    assert!(matches!(outcome.actions[0], ActionOutcome::LeftAlone { .. }), "{outcome:?}");
    assert_eq!((&outcome.actions[1], taken_on(&outcome.actions[2])), (&ActionOutcome::Done, (2, 1_000, 0)));
    let sample = machine.sample().unwrap();
    let (moved, stayed) = end(&sample, 1).unwrap();
    assert!(moved > 0 && moved < 100_000, "{moved}");
    assert_eq!(stayed, [("withdrawn".to_owned(), Pages(100_000 - moved))]);
    machine.wait(Seconds(0.5)).unwrap();
    let sample = machine.sample().unwrap();
    let pages = sample.processes[0].pages.as_ref().unwrap();
    assert_eq!((pages.get(NodeId(3)), pages.get(NodeId(1))), (Some(&Pages(moved)), Some(&Pages(1_000))));
}

/// Processes of 174,080 pages: the first may move all of them. The second may move what the first
/// leaves of 262,144, and a third one batch.
#[test]
fn what_is_under_way_is_bounded_and_nobody_is_left_out() {
    let mut machine = milc("count = 3\nmemory_node = 0");
    let all = |pid| migrate(pid, (0, 1), 174_080);
    let outcomes = machine.apply(&plan([1000, 1001, 1002].map(all).to_vec())).unwrap().actions;
    let taken: Vec<_> = outcomes.iter().map(|outcome| taken_on(outcome).1).collect();
    assert_eq!(taken, [174_080, 262_144 - 174_080, 512]);
    let again = machine.apply(&plan(vec![all(1002)])).unwrap().actions;
    let stays = ("the limit of pages being moved is reached".to_owned(), Pages(174_080 - 512));
    let gone = ("no longer there".to_owned(), Pages(512));
    assert_eq!(again, [ActionOutcome::Pages { moved: Pages(0), stayed: vec![gone, stays] }]);
}

/// A process ends while its pages are being moved: only pages that have moved are reported as
/// moved.
#[test]
fn pages_of_a_process_that_ends_meanwhile_are_not_reported_as_moved() {
    let short = workload("[[app]]\nprogram = \"milc\"\ncpu = 0\n", 0.00025);
    let mut machine = SimMachine::new(&short, 1);
    machine.apply(&plan(vec![migrate(1000, (0, 3), 174_080)])).unwrap();
    machine.wait(Seconds(100.0)).unwrap();
    let (moved, stayed) = end(&machine.sample().unwrap(), 1).unwrap();
    assert!(moved > 0 && moved < 174_080, "{moved}");
    assert_eq!(stayed, [("the process ended".to_owned(), Pages(174_080 - moved))]);
    assert_eq!(machine.report().apps[0].pages_moved, moved);
}

#[test]
fn putting_back_stops_what_is_under_way() {
    let mut machine = milc("cpu = 0");
    machine.apply(&plan(vec![migrate(1000, (0, 3), 100_000)])).unwrap();
    machine.wait(Seconds(0.1)).unwrap();
    let outcome = machine.restore().unwrap();
    let moved = outcome.pages_moved().0;
    assert!(moved > 0 && moved < 100_000 && outcome.actions.len() == 1, "{outcome:?}");
    machine.wait(Seconds(0.5)).unwrap();
    assert_eq!(machine.report().apps[0].pages_moved, moved);
    assert_eq!(machine.restore().unwrap().actions, []);
}
