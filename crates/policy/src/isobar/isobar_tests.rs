use super::*;
use crate::test_kit::{carry_out, observation, policy, process, thread, with_pages};
use isobar_model::{ActionOutcome, Bytes, Seconds, Subject, Thread, Tid};

/// Two nodes of four cores. Four streams of 2 cycles per instruction have all of their pages on
/// node 0, and two of them run on node 1.
fn crowded() -> Observation {
    let streams = (1..=4).map(|pid| process(pid, vec![stream(pid, if pid <= 2 { pid - 1 } else { pid + 1 }, 2.0)]));
    let mut seen = observation("node:2 core:4", streams.collect());
    (1..=4).for_each(|pid| with_pages(&mut seen, pid, &[100_000, 0]));
    seen.free = seen.machine.nodes().iter().map(|node| (node.id, Bytes(16 << 30))).collect();
    seen
}

/// 25 misses per thousand instructions at `cpi` cycles per instruction and 2.5 GHz.
pub(super) fn stream(tid: u32, cpu: u32, cpi: f64) -> Thread {
    Thread {
        instructions: Some(num::round(2.5e9 / cpi)),
        cycles: Some(2_500_000_000),
        llc_misses: Some(num::round(2.5e9 / cpi * 0.025)),
        ..thread(tid, cpu, 0.0)
    }
}

pub(super) fn run(policy: &mut dyn Policy, seen: &mut Observation, epochs: u32) -> Vec<Plan> {
    (0..epochs)
        .map(|_| {
            seen.time.0 += seen.interval.0;
            let plan = policy.decide(seen);
            carry_out(seen, &plan);
            policy.applied(&plan, &Outcome::all_done(&plan));
            for action in &plan.actions {
                if let Action::MigratePages { pid, to, .. } = action {
                    with_pages(seen, pid.0, if to.0 == 0 { &[100_000, 0] } else { &[0, 100_000] });
                }
            }
            plan
        })
        .collect()
}

/// In a dry run a plan has no outcome, and the machine stays as it is. The same change is proposed
/// again and again, never judged, and never counts as a move; the first plan that is carried out is
/// tried as if none had been made before.
#[test]
fn what_is_not_carried_out_is_proposed_again_and_not_judged() {
    let (mut dry, mut seen) = (policy(&ENTRY, ""), crowded());
    let plans: Vec<Plan> = (0..600)
        .map(|_| {
            seen.time.0 += seen.interval.0;
            dry.decide(&seen)
        })
        .collect();
    let acts: Vec<&Plan> = plans.iter().filter(|plan| !plan.actions.is_empty()).collect();
    let every = usize::try_from(Config::default().trial_epochs()).unwrap() + 2;
    assert!(acts.len() > 600 / every - 10, "{} of {every}", acts.len());
    let what = |plan: &Plan| plan.actions.iter().map(Subject::of).collect::<Vec<_>>();
    assert!(acts.iter().all(|plan| what(plan) == what(acts[0])), "{acts:#?}");
    assert!(plans.iter().all(|plan| plan.effects.is_empty()));
    let tried = run(dry.as_mut(), &mut seen, 40);
    assert_eq!(tried.iter().map(|plan| plan.effects.len()).sum::<usize>(), 1, "{tried:#?}");
}

#[test]
fn young_programs_are_watched_then_memory_is_spread_with_a_prediction() {
    let (mut policy, mut seen) = (policy(&ENTRY, ""), crowded());
    let plans = run(policy.as_mut(), &mut seen, 12);
    let first = plans.iter().position(|plan| !plan.actions.is_empty()).unwrap();
    assert_eq!(first, 1, "once two readings agree, as the gain is large");
    let stays = |action: &&Action| action.reason().ends_with("bound there because its pages move there");
    let (bound, moved): (Vec<&Action>, Vec<&Action>) = plans[first].actions.iter().partition(stays);
    assert!(moved.iter().all(|action| action.reason().contains("predicted +")), "{plans:?}");
    // A program that stays beside its pages is bound to the caches of their node, to its own CPU
    // first.
    let with_pages =
        |pid: Pid| moved.iter().any(|one| matches!(one, Action::MigratePages { pid: of, .. } if *of == pid));
    assert!(!bound.is_empty(), "{plans:?}");
    for action in bound {
        let Action::MoveThread { pid, tid, cpu, cpus, .. } = action else { panic!("{action:?}") };
        assert!(with_pages(*pid) && seen.thread(*pid, *tid).unwrap().cpu == Some(*cpu) && cpus.is_some());
    }
    assert!(plans[first].actions.iter().any(|action| matches!(action, Action::MigratePages { .. })));
}

/// Two programs that each run on the other's node. What the first would gain by its pages is known
/// an epoch before the second program is known, whose cache was cold. The policy waits for that;
/// then threads move, and no page does. So do they if the second program does two things in turn,
/// two seconds each. The policy does not wait indefinitely for a program that does something new
/// every two seconds.
#[test]
fn pages_do_not_come_where_an_exchange_may_be_better() {
    let first = |other: &dyn Fn(u32) -> (f64, u64)| {
        let mut policy = policy(&ENTRY, "");
        let mut seen = observation("node:2 core:2", (1..=2).map(|pid| process(pid, Vec::new())).collect());
        seen.processes[0].threads = vec![stream(1, 0, 2.0)];
        with_pages(&mut seen, 1, &[0, 10_000]);
        with_pages(&mut seen, 2, &[10_000, 0]);
        seen.free = seen.machine.nodes().iter().map(|node| (node.id, Bytes(16 << 30))).collect();
        (0..12).find_map(|epoch| {
            let (cycles, more) = other(epoch);
            let mut one = stream(2, 2, cycles);
            one.llc_misses = one.llc_misses.map(|misses| more * misses);
            seen.processes[1].threads = vec![one];
            let actions = run(policy.as_mut(), &mut seen, 1).remove(0).actions;
            let pages = actions.iter().any(|action| matches!(action, Action::MigratePages { .. }));
            (!actions.is_empty()).then_some((epoch, pages))
        })
    };
    assert_eq!(first(&|_| (2.0, 1)), Some((1, false)));
    assert_eq!(first(&|epoch| (if epoch == 0 { 5.0 } else { 2.0 }, 1)), Some((2, false)));
    let in_turn = |epoch| if (epoch + 1) % 4 < 2 { (2.0, 1) } else { (3.0, 4) };
    assert_eq!(first(&in_turn), Some((4, false)));
    let restless = |epoch: u32| [(2.0, 1), (3.0, 4), (5.0, 16)][num::index(epoch.div_ceil(2) % 3)];
    assert_eq!(first(&restless), Some((5, true)));
}

/// The same machine, read four times a second: a large gain is tried within a second. A small gain
/// is not tried before the program has run for as long as it takes to check the gain.
#[test]
fn at_short_intervals_it_acts_within_a_second_where_much_is_to_be_gained() {
    let acts = |settings: &str| {
        let (mut policy, mut seen) = (policy(&ENTRY, settings), crowded());
        seen.interval.0 = 0.25;
        (1..=4).for_each(|pid| with_pages(&mut seen, pid, &[10_000, 0]));
        for thread in seen.processes.iter_mut().flat_map(|process| &mut process.threads) {
            thread.cpu_time = Some(Seconds(0.25));
            for count in [&mut thread.instructions, &mut thread.cycles, &mut thread.llc_misses] {
                *count = count.map(|count| count / 4);
            }
        }
        let plans = run(policy.as_mut(), &mut seen, 20);
        plans.iter().position(|plan| !plan.actions.is_empty())
    };
    assert_eq!(acts(""), Some(1));
    // A gain that should last for 100 s is not tried after one.
    let later = acts("watch_epochs = 400");
    assert!(later.is_none_or(|epoch| epoch > 4), "{later:?}");
}

/// The change that spreads memory has a prediction of what it moves and which programs it helps. An
/// epoch in which nothing begins has no prediction.
#[test]
fn a_change_is_told_before_it_is_judged() {
    let (mut policy, mut seen) = (policy(&ENTRY, ""), crowded());
    let plans = run(policy.as_mut(), &mut seen, 12);
    let first = plans.iter().position(|plan| !plan.actions.is_empty()).unwrap();
    assert!(plans[..first].iter().all(|plan| plan.predictions.is_empty()));
    let told = &plans[first].predictions[0];
    assert_eq!(told.actions, (0..plans[first].actions.len()).collect::<Vec<_>>());
    let sum: f64 = told.programs.iter().map(|one| one.gain).sum();
    assert!(told.change == 1 && told.gain > 0.1 && (told.gain - sum).abs() < 0.02, "{told:?}");
    assert!(told.programs.is_sorted_by_key(|one| one.pid));
}

/// What the machine refused before is held back. If nothing is left of a change, it is not judged.
#[test]
fn a_change_that_is_held_back_is_no_trial() {
    let (mut policy, mut seen) = (policy(&ENTRY, ""), crowded());
    let no = |_: &Action| ActionOutcome::Refused { errno: Some(1), why: "no".into() };
    let mut plans = Vec::new();
    for _ in 0..60 {
        seen.time.0 += 1.0;
        let plan = policy.decide(&seen);
        assert_eq!(plan.validate(&seen), Ok(()));
        policy.applied(&plan, &Outcome { actions: plan.actions.iter().map(no).collect() });
        plans.push(plan);
    }
    let held = |plan: &Plan| {
        plan.actions.is_empty() && plan.notes.iter().any(|note| note.contains("they are tried again later"))
    };
    assert!(plans.iter().any(held), "{plans:?}");
    assert!(plans.iter().filter(|plan| held(plan)).all(|plan| plan.predictions.is_empty()));
}

/// Two streams have a quarter of their pages on the other node. Two others, which are read from the
/// third epoch on, have all of theirs there. Pages of the first two come home, and while that is on
/// trial, for a long time, those of the others follow. Both changes are judged together.
#[test]
fn a_trial_grows_by_what_promises_as_much() {
    let (mut policy, mut seen) = (policy(&ENTRY, "settle_epochs = 20\nways = false"), crowded());
    for pid in 1..=2 {
        with_pages(&mut seen, pid, &[75_000, 25_000]);
    }
    let late = |seen: &mut Observation, known: bool| {
        for process in &mut seen.processes[2..] {
            let cpu = process.threads[0].cpu.unwrap().0;
            process.threads[0] = stream(process.pid.0, cpu, 4.0);
            if !known {
                process.threads[0].llc_misses = None;
            }
        }
    };
    late(&mut seen, false);
    let mut plans = run(policy.as_mut(), &mut seen, 3);
    late(&mut seen, true);
    plans.extend(run(policy.as_mut(), &mut seen, 60));
    let begun: Vec<(usize, u64)> = plans
        .iter()
        .enumerate()
        .flat_map(|(at, plan)| plan.predictions.iter().map(move |one| (at, one.change)))
        .collect();
    assert_eq!(begun.iter().map(|(_, change)| *change).collect::<Vec<_>>(), [1, 2], "{begun:?}");
    assert!(begun[1].0 < 20, "within the trial of the first: {begun:?}");
    let effects: Vec<_> = plans.iter().flat_map(|plan| &plan.effects).collect();
    assert!(effects.len() == 1 && effects[0].change == 2 && effects[0].programs.len() >= 2, "{effects:?}");
    let promised: f64 = plans.iter().flat_map(|plan| &plan.predictions).map(|one| one.gain).sum();
    assert!((effects[0].predicted - promised).abs() < 0.3 * promised, "{effects:?} {promised}");
}

/// Four programs that find nothing in a cache, with their memory on a node of four cores. One of
/// them runs there, each of the others alone on a node of its own. All come home, and the one that
/// is there already is bound, so that the kernel does not send it away when it evens out.
#[test]
fn who_is_at_home_is_bound_where_others_come() {
    let mut policy = policy(&ENTRY, "pages = false");
    let running = (1..=4).map(|pid| process(pid, vec![stream(pid, 4 * (pid - 1), 4.0)]));
    let mut seen = observation("node:4 core:4", running.collect());
    for thread in seen.processes.iter_mut().flat_map(|process| &mut process.threads) {
        thread.llc_references = thread.llc_misses;
    }
    (1..=4).for_each(|pid| with_pages(&mut seen, pid, &[10_000, 0, 0, 0]));
    let plans = run(policy.as_mut(), &mut seen, 12);
    let plan = plans.iter().find(|plan| !plan.actions.is_empty()).unwrap();
    let bound: Vec<_> = plan
        .actions
        .iter()
        .map(|action| match action {
            Action::MoveThread { pid, cpus: Some(cpus), reason, .. } => {
                (pid.0, cpus.len(), reason.contains("kept there"))
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(bound, [(2, 4, false), (3, 4, false), (4, 4, false), (1, 4, true)]);
}

/// The measurement is the opposite of the prediction: everything goes back, and stays.
#[test]
fn what_harmed_is_taken_back_and_not_tried_again_soon() {
    let (mut policy, mut seen) = (policy(&ENTRY, ""), crowded());
    let mut epochs = 0;
    while run(policy.as_mut(), &mut seen, 1)[0].actions.is_empty() {
        epochs += 1;
        assert!(epochs < 30);
    }
    let before: Vec<_> = crowded().processes.iter().map(|process| process.pages.clone()).collect();
    for (pid, process) in (1..).zip(&mut seen.processes) {
        let cpu = process.threads[0].cpu.unwrap().0;
        process.threads[0] = stream(pid, cpu, 2.6);
    }
    let mut plans = run(policy.as_mut(), &mut seen, 9);
    let effects: Vec<_> = plans.iter().flat_map(|plan| &plan.effects).collect();
    assert_eq!(effects.len(), 1, "{plans:?}");
    // From 2 cycles per instruction to 2.6, four times: 4 * (2 / 2.6 - 1) = -0.923.
    assert!((effects[0].measured + 0.923).abs() < 0.001 && effects[0].predicted > 0.0, "{effects:?}");
    assert_eq!((effects[0].change, effects[0].kept, effects[0].programs.len()), (1, false, 4));
    plans = run(policy.as_mut(), &mut seen, 12);
    assert!(plans.iter().all(|plan| plan.actions.is_empty()), "{plans:?}");
    assert_eq!(seen.processes.iter().map(|process| process.pages.clone()).collect::<Vec<_>>(), before);
}

/// Two programs of three threads each, split across both nodes with their pages. One is brought
/// together in one change. If all are slower then, every thread and all pages go back.
#[test]
fn a_torn_program_comes_together_and_goes_back_whole() {
    // A third of a stream's misses, so that one controller can serve a whole program.
    let torn = |tid: u32, cpu: u32, cpi: f64| {
        let one = stream(tid, cpu, cpi);
        Thread { llc_misses: one.llc_misses.map(|count| count / 3), ..one }
    };
    let three =
        |pid: u32, cpus: [u32; 3]| process(pid, (0..).zip(cpus).map(|(at, cpu)| torn(pid + at, cpu, 2.0)).collect());
    let mut seen = observation("node:2 core:3", vec![three(10, [0, 3, 4]), three(20, [1, 2, 5])]);
    [10, 20].iter().for_each(|pid| with_pages(&mut seen, *pid, &[50_000, 50_000]));
    seen.free = seen.machine.nodes().iter().map(|node| (node.id, Bytes(16 << 30))).collect();
    let before: Vec<_> = seen.threads().map(|(_, thread)| thread.cpu).collect();
    let mut policy = policy(&ENTRY, "ways = false");
    let mut plans = Vec::new();
    while plans.len() < 40 && plans.iter().all(|plan: &Plan| plan.actions.is_empty()) {
        plans.extend(run(policy.as_mut(), &mut seen, 1));
    }
    let moved = |plan: &Plan| plan.actions.iter().filter(|action| matches!(action, Action::MoveThread { .. })).count();
    let begun = plans.last().unwrap();
    assert!(moved(begun) >= 2 && begun.predictions.len() == 1, "{begun:?}");
    let whole = |process: &isobar_model::Process| {
        let nodes: BTreeSet<_> = process.threads.iter().map(|thread| thread.cpu.unwrap().0 / 3).collect();
        nodes.len() == 1
    };
    assert!(seen.processes.iter().any(whole), "{begun:?}");
    // Threads that were there already are bound there as well, to the same CPUs as those that come.
    let gathered = seen.processes.iter().find(|process| whole(process)).unwrap();
    let given = |tid: Tid| {
        begun.actions.iter().find_map(|action| match action {
            Action::MoveThread { tid: of, cpus, .. } if *of == tid => Some(cpus.clone()),
            _ => None,
        })
    };
    let all: Vec<_> = gathered.threads.iter().map(|thread| given(thread.tid)).collect();
    assert!(all[0].as_ref().is_some_and(Option::is_some) && all.iter().all(|cpus| *cpus == all[0]), "{all:?}");
    for thread in seen.processes.iter_mut().flat_map(|process| &mut process.threads) {
        let (cpu, tid) = (thread.cpu.unwrap().0, thread.tid.0);
        *thread = torn(tid, cpu, 4.0);
    }
    let after = run(policy.as_mut(), &mut seen, 12);
    let undone = after.iter().find(|plan| plan.effects.iter().any(|effect| !effect.kept)).expect("taken back");
    assert_eq!(moved(undone), moved(begun), "{undone:?}");
    assert!(undone.actions.iter().any(|action| matches!(action, Action::MigratePages { .. })), "{undone:?}");
    assert_eq!(seen.threads().map(|(_, thread)| thread.cpu).collect::<Vec<_>>(), before);
}

/// A light program that has just begun to do something else runs on node 0. What another neighbour
/// would do to it cannot be predicted, so threads stay until it has been read for a window again.
#[test]
fn caches_of_programs_that_are_not_known_yet_are_left_as_they_are() {
    let moves = |changing: bool| {
        let (mut policy, mut seen) = (policy(&ENTRY, ""), crowded());
        // All four streams on node 0; nothing runs on node 1.
        for (cpu, process) in (0..).zip(&mut seen.processes) {
            process.threads[0] = stream(process.pid.0, cpu, 4.0);
        }
        let mut moved = 0;
        for epoch in 0..30u32 {
            // Twice the misses every two seconds, and after a third change as few as at first, so
            // that no three readings are alike. The program waits for these misses.
            let level: u32 = if changing { epoch.div_ceil(2) % 3 } else { 0 };
            let (misses, cpi): (f64, f64) = [(1.0, 4.0), (2.0, 7.0), (4.0, 13.0)][num::index(level)];
            let one = &mut seen.processes[3].threads[0];
            *one = stream(4, 3, cpi);
            one.llc_misses = one.llc_misses.map(|known| num::round(num::float(known) * misses));
            let plan = run(policy.as_mut(), &mut seen, 1).remove(0);
            moved += plan.actions.iter().filter(|action| matches!(action, Action::MoveThread { .. })).count();
        }
        moved
    };
    assert!(moves(false) > 0);
    assert_eq!(moves(true), 0);
}

#[test]
fn threads_that_their_owner_bound_stay() {
    let (mut policy, mut seen) = (policy(&ENTRY, "pages = false"), crowded());
    seen.processes.iter_mut().for_each(|process| process.threads[0].pinned = true);
    let plans = run(policy.as_mut(), &mut seen, 20);
    let mut actions = plans.iter().flat_map(|plan| &plan.actions);
    assert!(actions.all(|action| matches!(action, Action::SetWays { .. })), "{plans:?}");
}

#[test]
fn without_sight_it_does_nothing_and_says_so() {
    let (mut policy, mut seen) = (policy(&ENTRY, ""), crowded());
    for process in &mut seen.processes {
        let one = &mut process.threads[0];
        (one.instructions, one.cycles, one.llc_misses) = (None, None, None);
    }
    let plans = run(policy.as_mut(), &mut seen, 5);
    assert!(plans.iter().all(|plan| plan.actions.is_empty()));
    assert!(plans[4].notes[0].contains("nothing is done"), "{plans:?}");
}

/// What a person undid is not asked for again soon; the second time it rests twice as long.
#[test]
fn a_change_that_was_taken_back_by_hand_rests_like_one_that_failed() {
    let (mut policy, mut seen) = (policy(&ENTRY, "max_loss_percent = 90"), crowded());
    let asked = |plan: &Plan, pid: Pid| {
        plan.actions.iter().find(|action| matches!(action, Action::MigratePages { pid: of, .. } if *of == pid)).cloned()
    };
    let first = run(policy.as_mut(), &mut seen, 12).into_iter().find(|plan| !plan.actions.is_empty()).unwrap();
    let Some(Action::MigratePages { pid, .. }) =
        first.actions.iter().find(|action| matches!(action, Action::MigratePages { .. })).cloned()
    else {
        panic!("{first:?}");
    };
    policy.undone(&asked(&first, pid).unwrap());
    with_pages(&mut seen, pid.0, &[100_000, 0]);
    let later = run(policy.as_mut(), &mut seen, 40);
    assert!(later.iter().all(|plan| asked(plan, pid).is_none()), "{later:?}");
}
