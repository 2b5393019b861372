//! The loop against a machine in memory: what it does in which order, and that it always puts back.

use super::fake::{Fake, FakeError};
use super::*;
use isobar_model::plan::Action;
use isobar_model::{ActionOutcome, Capabilities, CpuId, Pid, Tid};
use std::cell::Cell;
use std::collections::BTreeSet;

/// Moves thread 10 to CPU 1 in every epoch; asks for what the test says.
struct Mover {
    needs: &'static [Sensor],
    cpu: u32,
    panics_at: Option<u64>,
    decided: u64,
}

impl Default for Mover {
    fn default() -> Self {
        Self { needs: &[Sensor::LlcMisses], cpu: 1, panics_at: None, decided: 0 }
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
        let action =
            Action::MoveThread { pid: Pid(10), tid: Tid(10), cpu: CpuId(self.cpu), reason: "because".to_owned() };
        Plan { actions: vec![action], ..Plan::nothing("mover") }
    }
}

#[derive(Default)]
struct Log {
    lines: Vec<String>,
    closed_at: Option<u64>,
    own_cpu_percent: Option<f64>,
}

impl Reporter for Log {
    fn begin(&mut self, start: &Start<'_>) -> anyhow::Result<()> {
        self.lines.push(format!("begin lacking {}", start.lacking.len()));
        Ok(())
    }

    fn epoch(&mut self, epoch: &Epoch<'_>) -> anyhow::Result<()> {
        if self.closed_at == Some(epoch.number) {
            return Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe).into());
        }
        let applied = if epoch.outcome.is_some() { "applied" } else { "dry" };
        self.lines.push(format!("{} at {} {applied}", epoch.number, epoch.seen.time.0));
        Ok(())
    }

    fn end(&mut self, tally: &Tally, _: Option<&Truth>) -> anyhow::Result<()> {
        self.lines.push(format!("end {} epochs {} moves", tally.epochs, tally.moves));
        self.own_cpu_percent = tally.own_cpu_percent();
        Ok(())
    }
}

fn limits() -> Limits {
    Limits { interval: Seconds(1.0), duration: Some(Seconds(3.0)), epochs: None, dry_run: false }
}

fn drive(fake: &mut Fake, policy: &mut Mover, limits: Limits, log: &mut Log) -> anyhow::Result<()> {
    let rules = Rules { only: vec![], ignore: vec![], never: BTreeSet::new(), min_share: 0.1, max_threads: 9 };
    let used = Cell::new(10.0);
    // A quarter of a second every time it is read, from 10 s on.
    let own_cpu = || Seconds(used.replace(used.get() + 0.25));
    let refusal = |lacking: &[(Sensor, &str)], _: &Sample| {
        (!lacking.is_empty() && !limits.dry_run).then(|| anyhow::anyhow!("refused: {}", lacking[0].1))
    };
    let context = Context {
        rules,
        cgroup: &|_| None,
        refusal: &refusal,
        stop: &|| false,
        own_cpu: Some(&own_cpu),
        recovered: None,
    };
    let tally = run(fake, policy, &context, limits, log)?;
    log.end(&tally, None)
}

#[test]
fn it_decides_every_interval_and_puts_back() {
    let (mut fake, mut log) = (Fake::default(), Log::default());
    drive(&mut fake, &mut Mover::default(), limits(), &mut log).unwrap();
    assert_eq!(
        log.lines,
        ["begin lacking 0", "1 at 1 applied", "2 at 2 applied", "3 at 3 applied", "end 3 epochs 3 moves"]
    );
    assert_eq!((fake.applied.len(), fake.restored), (3, 1));
    assert_eq!(log.own_cpu_percent, Some(25.0), "0.25 s in each epoch of 1 s");
}

#[test]
fn a_dry_run_touches_nothing() {
    let (mut fake, mut log) = (Fake::default(), Log::default());
    drive(&mut fake, &mut Mover::default(), Limits { dry_run: true, ..limits() }, &mut log).unwrap();
    assert_eq!(log.lines[1], "1 at 1 dry");
    assert_eq!((fake.applied.len(), fake.restored), (0, 0));
}

#[test]
fn the_duration_cuts_the_last_interval() {
    let (mut fake, mut log) = (Fake::default(), Log::default());
    let limits = Limits { interval: Seconds(2.0), ..limits() };
    drive(&mut fake, &mut Mover::default(), limits, &mut log).unwrap();
    assert_eq!(log.lines[1..3], ["1 at 2 applied", "2 at 3 applied"]);
}

#[test]
fn an_interruption_and_the_end_of_the_workload_stop_it() {
    for (wake, epochs) in [(Wake::Interrupted, 1), (Wake::Ended, 2)] {
        let mut fake = Fake { wakes: vec![(2, wake)], ..Fake::default() };
        let mut log = Log::default();
        drive(&mut fake, &mut Mover::default(), limits(), &mut log).unwrap();
        assert_eq!(log.lines.last().unwrap(), &format!("end {epochs} epochs {epochs} moves"));
        assert_eq!(fake.restored, 1);
    }
}

#[test]
fn a_failing_machine_a_closed_pipe_a_panic_and_a_bad_plan_put_back_too() {
    let mut fake = Fake { fails_at: Some(3), ..Fake::default() };
    let error = drive(&mut fake, &mut Mover::default(), limits(), &mut Log::default()).unwrap_err();
    assert!(error.is::<FakeError>());
    assert_eq!(fake.restored, 1);

    let mut fake = Fake::default();
    let mut log = Log { closed_at: Some(2), ..Log::default() };
    let error = drive(&mut fake, &mut Mover::default(), limits(), &mut log).unwrap_err();
    assert!(error.is::<std::io::Error>());
    assert_eq!(fake.restored, 1);

    let mut fake = Fake::default();
    let mut buggy = Mover { panics_at: Some(2), ..Mover::default() };
    let error = drive(&mut fake, &mut buggy, limits(), &mut Log::default()).unwrap_err();
    assert_eq!(error.to_string(), "internal error in policy mover or its surroundings");
    assert_eq!((fake.applied.len(), fake.restored), (1, 1));

    let mut fake = Fake::default();
    let mut wild = Mover { cpu: 99, ..Mover::default() };
    let error = drive(&mut fake, &mut wild, limits(), &mut Log::default()).unwrap_err();
    assert!(format!("{error:#}").ends_with("cpu 99 is not online on this machine"), "{error:#}");
    assert_eq!((fake.applied.len(), fake.restored), (0, 1));
}

#[test]
fn a_missing_sensor_refuses_and_a_dry_run_goes_on() {
    let mut fake = Fake::default();
    fake.capabilities.missing.insert(Sensor::LlcMisses, "no PMU in this VM".into());
    let error = drive(&mut fake, &mut Mover::default(), limits(), &mut Log::default()).unwrap_err();
    assert_eq!(error.to_string(), "refused: no PMU in this VM");
    let mut log = Log::default();
    drive(&mut fake, &mut Mover::default(), Limits { dry_run: true, ..limits() }, &mut log).unwrap();
    assert_eq!(log.lines[0], "begin lacking 1");
}

/// A counter that opens and never counts is found out while the run goes on.
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
    drive(&mut fake, &mut mover, Limits { dry_run: true, ..limits() }, &mut Log::default()).unwrap();
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
    let plan = Mover::default().decide_once();
    for _ in 0..3 {
        tally.add(&plan, Some(&Outcome { actions: vec![refused.clone()] }));
    }
    assert_eq!(tally.refused, [(Some(1), (3, "needs CAP_SYS_NICE".to_owned()))].into());
    assert_eq!((tally.epochs, tally.planned, tally.moves), (3, 3, 0));
}

#[test]
fn a_request_to_stop_ends_it_in_order() {
    let (mut fake, mut log) = (Fake::default(), Log::default());
    let rules = Rules { only: vec![], ignore: vec![], never: BTreeSet::new(), min_share: 0.1, max_threads: 9 };
    let context =
        Context { rules, cgroup: &|_| None, refusal: &|_, _| None, stop: &|| true, own_cpu: None, recovered: None };
    let tally = run(&mut fake, &mut Mover::default(), &context, limits(), &mut log).unwrap();
    log.end(&tally, None).unwrap();
    assert_eq!(log.lines, ["begin lacking 0", "end 0 epochs 0 moves"]);
    assert_eq!(fake.restored, 1);
}

impl Mover {
    fn decide_once(&mut self) -> Plan {
        self.decided += 1;
        let action = Action::MoveThread { pid: Pid(10), tid: Tid(10), cpu: CpuId(1), reason: "because".to_owned() };
        Plan { actions: vec![action], ..Plan::nothing("mover") }
    }
}
