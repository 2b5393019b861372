//! Worked cases with policies that do what a test says. That no shipped policy acts on processes
//! that are not its own is checked by a property test (`tests/properties`).

use super::*;
use crate::test_kit::{observation, process, thread};
use isobar_model::{ActionOutcome, CpuId, Effect, LlcId, Pid, Prediction, Tid};
use std::cell::RefCell;
use std::rc::Rc;

/// What a scripted policy was asked and told.
#[derive(Debug, Default)]
struct Told {
    seen: Vec<Observation>,
    outcomes: Vec<(Vec<String>, Vec<ActionOutcome>)>,
    undone: Vec<String>,
}

type Script = fn(&Observation, &mut Plan);

struct Scripted(&'static str, Script, Rc<RefCell<Told>>);

impl Policy for Scripted {
    fn name(&self) -> &'static str {
        self.0
    }

    fn needs(&self) -> &'static [Sensor] {
        if self.0 == "main" { &[Sensor::LlcMisses] } else { &[Sensor::CacheWays] }
    }

    fn decide(&mut self, seen: &Observation) -> Plan {
        self.2.borrow_mut().seen.push(seen.clone());
        let mut plan = Plan::nothing(self.0);
        self.1(seen, &mut plan);
        plan
    }

    fn applied(&mut self, plan: &Plan, outcome: &Outcome) {
        let reasons = plan.actions.iter().map(|action| action.reason().to_owned()).collect();
        self.2.borrow_mut().outcomes.push((reasons, outcome.actions.clone()));
    }

    fn undone(&mut self, action: &Action) {
        self.2.borrow_mut().undone.push(action.reason().to_owned());
    }
}

fn to(pid: u32, cpu: u32) -> Action {
    Action::MoveThread { pid: Pid(pid), tid: Tid(pid), cpu: CpuId(cpu), cpus: None, reason: "room".into() }
}

fn ways(tid: u32) -> Action {
    Action::SetWays {
        llc: LlcId(0),
        cluster: "a".into(),
        way_mask: 1,
        memory_bandwidth_percent: None,
        threads: vec![Tid(tid)],
        reason: "room".into(),
    }
}

/// Moves its first own thread to CPU 3, and predicts an effect; without a process of its own, does
/// nothing.
fn first_to_cpu_3(seen: &Observation, plan: &mut Plan) {
    let Some(own) = seen.processes.iter().find(|process| !process.elsewhere) else { return };
    plan.actions.push(to(own.pid.0, 3));
    plan.notes.push("a note".into());
    plan.predictions.push(Prediction { change: 1, actions: vec![0], ..Prediction::default() });
    plan.effects.push(Effect { change: 1, ..Effect::default() });
}

type Parts = (ByGroup, Vec<Rc<RefCell<Told>>>);

/// Groups by pids, each with a script, and the script of the main policy.
fn by_group(groups: &[(&'static str, &'static [u32], Script)], main: Script) -> Parts {
    let mut all = Vec::new();
    let mut scripted = |name, script| {
        let told = Rc::new(RefCell::new(Told::default()));
        all.push(Rc::clone(&told));
        Box::new(Scripted(name, script, told))
    };
    let groups = groups
        .iter()
        .map(|(name, pids, script)| Group {
            name: format!("unit:{name}"),
            fits: Box::new(|process: &Process| pids.contains(&process.pid.0)),
            policy: scripted(name, *script),
        })
        .collect();
    let main = scripted("main", main);
    (ByGroup::new(groups, main), all)
}

fn four() -> Observation {
    let processes = (1..=4).map(|pid| process(pid, vec![thread(pid, pid - 1, 1.0)])).collect();
    observation("node:2 core:2", processes)
}

#[test]
fn the_first_group_that_fits_wins_and_the_rest_is_the_main_policy_s() {
    let (mut policy, told) =
        by_group(&[("a", &[2, 3], first_to_cpu_3), ("b", &[3, 4], first_to_cpu_3)], first_to_cpu_3);
    let plan = policy.decide(&four());
    assert_eq!(plan.validate(&four()), Ok(()));
    let moved = |plan: &Plan| -> Vec<String> {
        let one = |action: &Action| match action {
            Action::MoveThread { pid, reason, .. } => format!("{pid} {reason}"),
            _ => String::new(),
        };
        plan.actions.iter().map(one).collect()
    };
    assert_eq!(moved(&plan), ["2 a for unit:a: room", "4 b for unit:b: room", "1 room"]);
    assert_eq!(plan.notes, ["a for unit:a: a note", "b for unit:b: a note", "a note"]);
    let parts: Vec<_> = plan.parts.iter().map(|part| (&part.policy[..], &part.group[..], &part.actions[..])).collect();
    assert_eq!(parts, [("a", "unit:a", &[0][..]), ("b", "unit:b", &[1][..])]);
    assert_eq!((plan.policy.as_str(), plan.decided_by(1), plan.decided_by(2)), ("main", "b", "main"));
    let changes: Vec<_> = plan.predictions.iter().map(|one| (one.change, &one.actions[..])).collect();
    assert_eq!(changes, [(1, &[0][..]), (2, &[1][..]), (3, &[2][..])]);
    assert_eq!(plan.effects.iter().map(|effect| effect.change).collect::<Vec<_>>(), [1, 2, 3]);
    // All policies see every process. Later policies see what was planned before them.
    let marks = |at: usize| -> Vec<(bool, bool, u32)> {
        let told = told[at].borrow();
        let of = |process: &Process| (process.elsewhere, process.threads[0].pinned, process.threads[0].cpu.unwrap().0);
        told.seen[0].processes.iter().map(of).collect()
    };
    let (own, other) = (false, true);
    assert_eq!(marks(0), [(other, true, 0), (own, false, 1), (own, false, 2), (other, true, 3)]);
    assert_eq!(marks(1), [(other, true, 0), (other, true, 3), (other, true, 2), (own, false, 3)]);
    assert_eq!(marks(2), [(own, false, 0), (other, true, 3), (other, true, 2), (other, true, 3)]);
}

#[test]
fn each_learns_what_became_of_its_own_actions_and_in_its_own_words() {
    let (mut policy, told) = by_group(&[("a", &[2], first_to_cpu_3), ("b", &[9], first_to_cpu_3)], first_to_cpu_3);
    let plan = policy.decide(&four());
    assert_eq!(plan.notes[0], "no managed process is in unit:b yet: its policy b has nothing to decide");
    let refused = ActionOutcome::LeftAlone { why: "no".into() };
    policy.applied(&plan, &Outcome { actions: vec![refused.clone(), ActionOutcome::Done] });
    policy.undone(&plan.actions[0]);
    policy.undone(&plan.actions[1]);
    // In the next epoch no policy was asked.
    policy.applied(&Plan::nothing("main"), &Outcome::default());
    let room = || vec!["room".to_owned()];
    let [a, b, main] = &told[..] else { panic!() };
    assert_eq!(a.borrow().outcomes, [(room(), vec![refused]), (vec![], vec![])]);
    assert_eq!(b.borrow().outcomes, [(vec![], vec![]), (vec![], vec![])]);
    assert_eq!(main.borrow().outcomes, [(room(), vec![ActionOutcome::Done]), (vec![], vec![])]);
    assert_eq!((&a.borrow().undone, &b.borrow().undone, &main.borrow().undone), (&room(), &vec![], &room()));
    assert_eq!(policy.needs(), [Sensor::LlcMisses, Sensor::CacheWays]);
    assert!(policy.decide(&four()).notes.iter().all(|note| !note.contains("unit:b")), "said once");
}

#[test]
fn a_policy_that_acts_on_what_is_not_its_own_ends_the_run() {
    let (mut policy, _) = by_group(&[("a", &[2], |_, plan| plan.actions.push(to(1, 0)))], |_, _| {});
    assert!(policy.decide(&four()).actions.is_empty());
    assert_eq!(policy.failed(), Some("a for unit:a: another policy decides about process 1"));
}

#[test]
fn only_one_policy_divides_ways() {
    let (mut policy, _) = by_group(&[("a", &[2], |_, plan| plan.actions.push(ways(2)))], |seen, plan| {
        if seen.time.0 > 1.5 {
            plan.actions.push(ways(1));
        }
    });
    let mut seen = four();
    assert_eq!((policy.decide(&seen).actions.len(), policy.failed()), (1, None));
    seen.time.0 = 2.0;
    assert_eq!(policy.decide(&seen).actions.len(), 1);
    assert_eq!(policy.failed(), Some("it divides cache ways, and so does a: only one policy of a run may divide them"));
}
