//! Requests to the loop while it runs: taking back, pausing, other settings.

use super::*;

/// Undoes an action, pauses and resumes, as a person would between epochs.
struct Hand(Vec<(u64, &'static str)>, Vec<String>);

impl Commander<&mut Fake> for &mut Hand {
    fn command(&mut self, run: &mut Loop<'_, &mut Fake>) {
        let epochs = run.tally().epochs;
        for (_, what) in self.0.extract_if(.., |(after, _)| *after == epochs) {
            self.1.push(match what {
                "pause" | "resume" => {
                    run.pause(what == "pause");
                    what.to_owned()
                }
                id => match run.undo(ActionId(id.parse().unwrap())) {
                    Ok(undone) => format!("undone {}: {:?}", undone.id, undone.outcome),
                    Err(why) => why.to_string(),
                },
            });
        }
    }
}

/// Records what was undone.
#[derive(Default)]
struct Undoing {
    mover: Mover,
    undone: Vec<Action>,
}

impl Policy for Undoing {
    fn name(&self) -> &'static str {
        "undoing"
    }

    fn needs(&self) -> &'static [Sensor] {
        &[]
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        self.mover.decide(seen)
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        self.mover.applied(plan, outcome);
    }

    fn undone(&mut self, action: &Action) {
        self.undone.push(action.clone());
    }
}

/// For each epoch: its first number, the outcomes of its actions, what was undone before, and
/// whether it was paused.
#[derive(Default)]
struct Seen(Vec<(Option<u64>, Vec<ActionOutcome>, usize, bool)>);

impl Observer for Seen {
    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), BoxError> {
        let outcomes = epoch.outcome.map(|outcome| outcome.actions.clone()).unwrap_or_default();
        self.0.push((epoch.first_id.map(|id| id.0), outcomes, epoch.undone.len(), epoch.plan.is_paused()));
        Ok(())
    }
}

/// After the second epoch its action is taken back. The machine and the policy are told, and in the
/// following epochs the same action is held off, whatever the policy asks.
#[test]
fn what_is_taken_back_by_hand_is_held_off_and_the_policy_knows() {
    let (mut fake, mut policy, mut seen) = (Fake::default(), Undoing::default(), Seen::default());
    let mut hand = Hand(vec![(1, "1"), (2, "1"), (2, "9")], Vec::new());
    let run = Loop::new(&mut fake, Box::new(&mut policy), Limits { duration: Some(Seconds(4.0)), ..limits() });
    let mut run = run.commanded_by(Box::new(&mut hand));
    run.run(&mut seen).unwrap();
    drop(run);
    assert_eq!(
        hand.1,
        ["undone 1: Done", "action 1 was taken back already", "there is no action 9; the last one has the number 2"]
    );
    assert_eq!((fake.undone.len(), policy.undone), (1, vec![moved(1)]));
    let held =
        |left: u64| ActionOutcome::LeftAlone { why: format!("taken back by hand: held off for another {left} s") };
    assert_eq!(seen.0[0], (Some(1), vec![ActionOutcome::Done], 0, false));
    assert_eq!(seen.0[1], (Some(2), vec![held(59)], 1, false));
    assert_eq!(seen.0[2], (Some(3), vec![held(58)], 0, false));
    assert_eq!(policy.mover.heard, [ActionOutcome::Done, held(59), held(58), held(57)]);
    assert!(fake.applied[1].actions.is_empty(), "the machine was not asked again");
}

/// Moves thread 11 to the CPU that thread 10 leaves, in every epoch.
struct Swapper;

impl Policy for Swapper {
    fn name(&self) -> &'static str {
        "swapper"
    }

    fn needs(&self) -> &'static [Sensor] {
        &[]
    }

    fn decide(&mut self, _: &Observation) -> Plan {
        let other =
            Action::MoveThread { pid: Pid(10), tid: Tid(11), cpu: CpuId(0), cpus: None, reason: "because".into() };
        Plan { actions: vec![moved(1), other], ..Plan::nothing("swapper") }
    }
}

/// One thread of a swap is held off, so the other one does not join it on its CPU.
#[test]
fn half_of_a_swap_is_never_made() {
    let (mut fake, mut seen) = (Fake::default(), Seen::default());
    let mut hand = Hand(vec![(1, "1")], Vec::new());
    let run = Loop::new(&mut fake, Box::new(Swapper), limits());
    run.commanded_by(Box::new(&mut hand)).run(&mut seen).unwrap();
    assert_eq!(hand.1, ["undone 1: Done"]);
    let held = |left: u64| {
        let why = format!("taken back by hand: held off for another {left} s");
        let other = format!("planned together with the move of thread 10, which is held off ({why})");
        [why, other].map(|why| ActionOutcome::LeftAlone { why }).to_vec()
    };
    let outcomes: Vec<_> = seen.0.into_iter().map(|(_, outcomes, ..)| outcomes).collect();
    assert_eq!(outcomes, [vec![ActionOutcome::Done; 2], held(59), held(58)]);
    assert!(fake.applied[1..].iter().all(|plan| plan.actions.is_empty()), "the machine was not asked again");
}

#[test]
fn a_machine_that_takes_nothing_back_says_why_and_nothing_is_held_off() {
    let why = "its owner has changed it meanwhile".to_owned();
    let mut fake = Fake { undo: Some(ActionOutcome::LeftAlone { why }), ..Fake::default() };
    let mut hand = Hand(vec![(1, "1")], Vec::new());
    let mut policy = Undoing::default();
    let run = Loop::new(&mut fake, Box::new(&mut policy), limits());
    run.commanded_by(Box::new(&mut hand)).run(&mut ()).unwrap();
    assert_eq!(hand.1, ["action 1 is not taken back: its owner has changed it meanwhile"]);
    assert_eq!(policy.mover.heard, vec![ActionOutcome::Done; 3]);
    assert!(policy.undone.is_empty());
}

/// Paused after the first of four epochs and resumed after the third: the policy is asked twice,
/// and every epoch is observed.
#[test]
fn a_pause_decides_nothing_and_goes_on_watching() {
    let (mut fake, mut policy, mut seen) = (Fake::default(), Undoing::default(), Seen::default());
    let mut hand = Hand(vec![(1, "pause"), (3, "resume")], Vec::new());
    let run = Loop::new(&mut fake, Box::new(&mut policy), Limits { duration: Some(Seconds(4.0)), ..limits() });
    run.commanded_by(Box::new(&mut hand)).run(&mut seen).unwrap();
    assert_eq!(seen.0.iter().map(|epoch| epoch.3).collect::<Vec<_>>(), [false, true, true, false]);
    assert_eq!((policy.mover.decided, policy.mover.heard.len(), fake.samples), (2, 2, 5));
}

/// A call ends a wait but not an epoch: the next wait continues.
#[test]
fn a_call_makes_no_epoch() {
    let mut fake = Fake { wakes: vec![(1, Wake::Called), (3, Wake::Called)], ..Fake::default() };
    let mut policy = Undoing::default();
    let tally = Loop::new(&mut fake, Box::new(&mut policy), limits()).run(&mut ()).unwrap();
    assert_eq!((tally.epochs, fake.waits, fake.samples), (3, 5, 4));
}

#[test]
fn a_dry_run_numbers_nothing_and_takes_nothing_back() {
    let (mut fake, mut policy, mut seen) = (Fake::default(), Undoing::default(), Seen::default());
    let mut hand = Hand(vec![(1, "1")], Vec::new());
    let run = Loop::new(&mut fake, Box::new(&mut policy), dry());
    run.commanded_by(Box::new(&mut hand)).run(&mut seen).unwrap();
    assert_eq!(hand.1, ["nothing is changed in a dry run: there is nothing to take back"]);
    assert!(seen.0.iter().all(|epoch| epoch.0.is_none()));
}

/// Another policy decides from its first epoch on. If a policy cannot run here, the old one stays.
#[test]
fn a_loop_goes_on_by_another_policy_and_interval() {
    let mut fake = Fake::default();
    fake.capabilities.missing.insert(Sensor::LlcMisses, "no PMU".to_owned());
    let (mut first, mut second, mut third) = (Undoing::default(), Undoing::default(), Mover::default());
    let mut run = Loop::new(&mut fake, Box::new(&mut first), Limits::every(Seconds(1.0)));
    run.step().unwrap();
    assert!(run.decide_by(Box::new(&mut third)).unwrap_err().to_string().contains("LLC misses per thread"));
    run.decide_by(Box::new(&mut second)).unwrap();
    run.go_on_with(Seconds(2.0), Rules::default());
    let time = run.step().unwrap().unwrap().seen.interval;
    drop(run);
    assert_eq!((first.mover.decided, second.mover.decided, time), (1, 1, Seconds(2.0)));
}
