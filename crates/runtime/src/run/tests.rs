//! The loop with a machine in memory: what it does in which order, and that it always puts back.

use super::fake::{Fake, FakeError};
use super::*;
use isobar_model::plan::Action;
use isobar_model::{ActionOutcome, Capabilities, CpuId, NodeId, PageMove, Pages, Pid, Tid};
use std::cell::Cell;

#[path = "tests_commands.rs"]
mod commands;

/// Moves thread 10 to CPU 1 in every epoch, and needs the sensors that the test gives.
struct Mover {
    needs: &'static [Sensor],
    cpu: u32,
    panics_at: Option<u64>,
    decided: u64,
    /// The outcomes of its actions.
    heard: Vec<ActionOutcome>,
}

impl Default for Mover {
    fn default() -> Self {
        Self { needs: &[Sensor::LlcMisses], cpu: 1, panics_at: None, decided: 0, heard: Vec::new() }
    }
}

impl Policy for Mover {
    fn name(&self) -> &'static str {
        "mover"
    }

    fn needs(&self) -> &'static [Sensor] {
        self.needs
    }

    fn decide(&mut self, _: &Observation) -> Plan {
        self.decided += 1;
        assert!(self.panics_at != Some(self.decided), "a bug");
        Plan { actions: vec![moved(self.cpu)], ..Plan::nothing("mover") }
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        assert_eq!(plan.actions.len(), outcome.actions.len());
        self.heard.extend(outcome.actions.iter().cloned());
    }
}

fn moved(cpu: u32) -> Action {
    Action::MoveThread { pid: Pid(10), tid: Tid(10), cpu: CpuId(cpu), cpus: None, reason: "because".to_owned() }
}

#[derive(Default)]
struct Log {
    lines: Vec<String>,
    closed_at: Option<u64>,
    bug_at: Option<u64>,
    own_cpu_percent: Option<f64>,
}

impl Observer for Log {
    fn begin(&mut self, start: &Start<'_>) -> Result<(), BoxError> {
        self.lines.push(format!("begin lacking {}", start.lacking.len()));
        Ok(())
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        if self.closed_at == Some(epoch.number) {
            return Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe).into());
        }
        assert!(self.bug_at != Some(epoch.number), "a bug");
        let applied = if epoch.outcome.is_some() { "applied" } else { "dry" };
        self.lines.push(format!("{} at {} {applied}", epoch.number, epoch.seen.time.0));
        Ok(())
    }
}

fn limits() -> Limits {
    Limits { duration: Some(Seconds(3.0)), ..Limits::every(Seconds(1.0)) }
}

fn dry() -> Limits {
    Limits { dry_run: true, despite_missing: true, ..limits() }
}

fn drive(fake: &mut Fake, policy: &mut Mover, limits: Limits, log: &mut Log) -> Result<(), RunError> {
    let used = Cell::new(10.0);
    // A quarter of a second more at each reading, from 10 s on.
    let own_cpu = || Seconds(used.replace(used.get() + 0.25));
    let around = Surroundings { own_cpu: Some(&own_cpu), ..Surroundings::default() };
    let tally = Loop::new(fake, Box::new(policy), limits).within(around).run(log)?;
    log.lines.push(format!("end {} epochs {} moves", tally.epochs, tally.moves));
    log.own_cpu_percent = tally.own_cpu_percent();
    Ok(())
}

/// A run without an error.
fn driven(mut fake: Fake, limits: Limits) -> (Fake, Log) {
    let mut log = Log::default();
    drive(&mut fake, &mut Mover::default(), limits, &mut log).unwrap();
    (fake, log)
}

#[test]
fn it_decides_every_interval_and_puts_back() {
    let (fake, log) = driven(Fake::default(), limits());
    assert_eq!(
        log.lines,
        ["begin lacking 0", "1 at 1 applied", "2 at 2 applied", "3 at 3 applied", "end 3 epochs 3 moves"]
    );
    assert_eq!((fake.applied.len(), fake.restored), (3, 1));
    assert_eq!(log.own_cpu_percent, Some(25.0), "0.25 s in each epoch of 1 s");
}

#[test]
fn a_dry_run_touches_nothing() {
    let (fake, log) = driven(Fake::default(), dry());
    assert_eq!(log.lines[1], "1 at 1 dry");
    assert_eq!((fake.applied.len(), fake.restored), (0, 0));
}

#[test]
fn the_policy_hears_what_became_of_each_plan_and_nothing_in_a_dry_run() {
    let refused = ActionOutcome::Refused { errno: Some(1), why: "no".to_owned() };
    for (limits, heard) in [(limits(), vec![refused.clone(); 3]), (dry(), Vec::new())] {
        let mut fake = Fake { outcome: refused.clone(), ..Fake::default() };
        let mut policy = Mover::default();
        drive(&mut fake, &mut policy, limits, &mut Log::default()).unwrap();
        assert_eq!(policy.heard, heard);
    }
}

#[test]
fn the_duration_cuts_the_last_interval() {
    let (_, log) = driven(Fake::default(), Limits { interval: Seconds(2.0), ..limits() });
    assert_eq!(log.lines[1..3], ["1 at 2 applied", "2 at 3 applied"]);
}

#[test]
fn an_interruption_and_the_end_of_the_workload_stop_it() {
    for (wake, epochs) in [(Wake::Interrupted, 1), (Wake::Ended, 2)] {
        let (fake, log) = driven(Fake { wakes: vec![(2, wake)], ..Fake::default() }, limits());
        assert_eq!(log.lines.last().unwrap(), &format!("end {epochs} epochs {epochs} moves"));
        assert_eq!(fake.restored, 1);
    }
}

#[test]
fn a_failing_machine_a_closed_pipe_a_panic_and_a_bad_plan_put_back_too() {
    let run = |mut fake: Fake, mut policy: Mover, mut log: Log, applied: usize| {
        let error = drive(&mut fake, &mut policy, limits(), &mut log).unwrap_err();
        assert_eq!((fake.applied.len(), fake.restored), (applied, 1), "{error:?}");
        error
    };
    let error = run(Fake { fails_at: Some(3), ..Fake::default() }, Mover::default(), Log::default(), 1);
    assert!(matches!(&error, RunError::Machine(inner) if inner.is::<FakeError>()), "{error:?}");
    let error = run(Fake::default(), Mover::default(), Log { closed_at: Some(2), ..Log::default() }, 2);
    assert!(matches!(&error, RunError::Observer(inner) if inner.is::<std::io::Error>()), "{error:?}");
    let panics = "internal error in policy mover or its surroundings";
    let error = run(Fake::default(), Mover::default(), Log { bug_at: Some(2), ..Log::default() }, 2);
    assert_eq!(error.to_string(), panics);
    let error = run(Fake::default(), Mover { panics_at: Some(2), ..Mover::default() }, Log::default(), 1);
    assert_eq!(error.to_string(), panics);
    let error = run(Fake::default(), Mover { cpu: 99, ..Mover::default() }, Log::default(), 0);
    assert_eq!(
        crate::in_full(&error),
        "internal error: policy mover made a plan at 1 s that cannot be carried out: cpu 99 is not online on this machine"
    );
}

#[test]
fn a_missing_sensor_refuses_and_a_dry_run_goes_on() {
    let mut fake = Fake::default();
    fake.capabilities.missing.insert(Sensor::LlcMisses, "no PMU in this VM".into());
    let error = drive(&mut fake, &mut Mover::default(), limits(), &mut Log::default()).unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("policy mover cannot run here: LLC misses per thread is not measured (no PMU"), "{said}");
    assert_eq!(driven(fake, dry()).1.lines[0], "begin lacking 1");
}

/// A counter that opens but never counts is noticed while the run continues.
#[test]
fn a_reading_that_is_lost_stops_the_policy_until_it_is_back() {
    let missing =
        Capabilities { missing: [(Sensor::LlcMisses, "reads 0".to_owned())].into(), ..Capabilities::default() };
    // Samples 1, 2, 3, 4 end the epochs 0, 1, 2, 3.
    let mut fake = Fake { later: Some((3, missing.clone())), ..Fake::default() };
    let mut mover = Mover::default();
    drive(&mut fake, &mut mover, limits(), &mut Log::default()).unwrap();
    let actions: Vec<usize> = fake.applied.iter().map(|plan| plan.actions.len()).collect();
    assert_eq!((actions, mover.decided), (vec![1, 0, 0], 1));
    let note = "nothing is planned: policy mover cannot go on: LLC misses per thread is not measured (reads 0)";
    assert_eq!(fake.applied[1].notes, [note]);

    let mut fake = Fake { later: Some((3, Capabilities::default())), capabilities: missing, ..Fake::default() };
    let mut mover = Mover::default();
    drive(&mut fake, &mut mover, dry(), &mut Log::default()).unwrap();
    assert_eq!(mover.decided, 3, "a dry run watches what the policy makes of a machine without the sensor");

    let mut idle = Mover { needs: &[], ..Mover::default() };
    let other = Capabilities { missing: [(Sensor::Latency, "no probe".to_owned())].into(), ..Capabilities::default() };
    let mut fake = Fake { later: Some((3, other)), ..Fake::default() };
    drive(&mut fake, &mut idle, limits(), &mut Log::default()).unwrap();
    assert_eq!(idle.decided, 3, "what it does not need it may be without");
}

#[test]
fn refusals_are_counted_by_errno_and_explained_once() {
    let refused = ActionOutcome::Refused { errno: Some(1), why: "needs CAP_SYS_NICE".into() };
    let mut tally = Tally::default();
    let plan = Plan { actions: vec![moved(1)], ..Plan::nothing("mover") };
    for _ in 0..3 {
        tally.add(&plan, Some(&Outcome { actions: vec![refused.clone()] }));
    }
    assert_eq!(tally.refused, [(Some(1), (3, "needs CAP_SYS_NICE".to_owned()))].into());
    assert_eq!((tally.epochs, tally.planned, tally.moves), (3, 3, 0));
}

/// Pages move in parallel to the loop: samples report the outcome, and pages still under way at the
/// end are counted when their move is stopped.
#[test]
fn pages_are_counted_once_when_their_migration_has_ended() {
    let became = |moved, busy| ActionOutcome::Pages { moved: Pages(moved), stayed: vec![("busy".into(), Pages(busy))] };
    let flight = |moved, busy, ended| PageMove {
        number: 1,
        pid: Pid(10),
        from: NodeId(0),
        to: NodeId(1),
        pages: Pages(100),
        outcome: became(moved, busy),
        age: Seconds(1.0),
        copying: Seconds(0.5),
        ended,
    };
    let flights = vec![(2, vec![flight(40, 0, false)]), (3, vec![flight(90, 10, true)]), (4, Vec::new())];
    let stayed = vec![("the limit of pages being moved is reached".to_owned(), Pages(7))];
    let outcome = ActionOutcome::Queued { number: 1, pages: Pages(100), stayed };
    let mut fake = Fake { flights, outcome, left_over: vec![became(5, 1)], ..Fake::default() };
    let mut seen = Vec::new();
    let mut run = Loop::new(&mut fake, Box::new(Mover::default()), limits());
    while let Some(epoch) = run.step().unwrap() {
        seen.push((epoch.managed.in_flight().count(), epoch.tally.pages.0));
    }
    assert_eq!(seen, [(1, 0), (0, 90), (0, 90)]);
    let tally = run.finish().unwrap();
    assert_eq!(
        (tally.pages, tally.stayed["busy"], tally.stayed["the limit of pages being moved is reached"]),
        (Pages(95), 11, 21)
    );
    assert_eq!(tally.restored.unwrap().actions, vec![ActionOutcome::Done; 3]);
}

#[test]
fn a_request_to_stop_ends_it_in_order() {
    let (mut fake, mut log) = (Fake::default(), Log::default());
    let around = Surroundings { stop: &|| true, ..Surroundings::default() };
    let tally = Loop::new(&mut fake, Box::new(Mover::default()), limits()).within(around).run(&mut log).unwrap();
    assert_eq!((log.lines, tally.epochs), (vec!["begin lacking 0".to_owned()], 0));
    assert_eq!(fake.restored, 1);
}

#[test]
fn it_can_be_stepped_and_puts_back_when_it_is_dropped() {
    let mut fake = Fake::default();
    let mut run = Loop::new(&mut fake, Box::new(Mover::default()), limits());
    let mut times = Vec::new();
    while let Some(epoch) = run.step().unwrap() {
        times.push((epoch.number, epoch.seen.time, epoch.plan.actions.len()));
    }
    assert_eq!(times, [(1, Seconds(1.0), 1), (2, Seconds(2.0), 1), (3, Seconds(3.0), 1)]);
    assert!(run.step().unwrap().is_none());
    assert_eq!((run.machine().restored, run.finish().unwrap().moves), (0, 3));
    drop(run);
    assert_eq!(fake.restored, 1, "once");

    let mut run = Loop::new(&mut fake, Box::new(Mover { panics_at: Some(2), ..Mover::default() }), limits());
    run.step().unwrap();
    assert!(matches!(run.step(), Err(RunError::Panic { policy: "mover" })));
    assert!(run.step().unwrap().is_none(), "what has failed does not go on");
    drop(run);
    assert_eq!(fake.restored, 2);
    drop(Loop::new(&mut fake, Box::new(Mover::default()), limits()));
    assert_eq!(fake.restored, 2, "what has not begun has nothing to put back");
}

#[test]
fn what_cannot_be_put_back_is_said_also_after_another_failure() {
    let said = |fails_at| {
        let mut fake = Fake { fails_at, cannot_restore: true, ..Fake::default() };
        crate::in_full(&drive(&mut fake, &mut Mover::default(), limits(), &mut Log::default()).unwrap_err())
    };
    let left = "not every change could be put back; run `isobar restore` to try again: state file: gone";
    assert_eq!(said(None), left);
    assert_eq!(said(Some(2)), format!("{left} (the run had ended with: /proc: gone)"));
}
