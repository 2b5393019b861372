use super::*;
use crate::test_kit::{carry_out, observation, policy, process, thread, with_pages};
use isobar_model::{Bytes, Thread};

/// Two nodes of four cores. Four streams with all of their pages on node 0, of which two run on
/// node 1; each thread executes what a machine of `seconds` for an instruction lets it.
fn crowded() -> Observation {
    let streams = (1..=4).map(|pid| process(pid, vec![stream(pid, if pid <= 2 { pid - 1 } else { pid + 1 }, 2.0)]));
    let mut seen = observation("node:2 core:4", streams.collect());
    (1..=4).for_each(|pid| with_pages(&mut seen, pid, &[100_000, 0]));
    seen.free = seen.machine.nodes().iter().map(|node| (node.id, Bytes(16 << 30))).collect();
    seen
}

/// 25 misses a thousand instructions at some cycles an instruction and 2.5 GHz.
fn stream(tid: u32, cpu: u32, cpi: f64) -> Thread {
    Thread {
        instructions: Some(num::round(2.5e9 / cpi)),
        cycles: Some(2_500_000_000),
        llc_misses: Some(num::round(2.5e9 / cpi * 0.025)),
        ..thread(tid, cpu, 0.0)
    }
}

fn run(policy: &mut dyn Policy, seen: &mut Observation, epochs: u32) -> Vec<Plan> {
    (0..epochs)
        .map(|_| {
            seen.time.0 += 1.0;
            let plan = policy.decide(seen);
            carry_out(seen, &plan);
            for action in &plan.actions {
                if let Action::MigratePages { pid, to, .. } = action {
                    with_pages(seen, pid.0, if to.0 == 0 { &[100_000, 0] } else { &[0, 100_000] });
                }
            }
            plan
        })
        .collect()
}

#[test]
fn young_programs_are_watched_then_memory_is_spread_with_a_prediction() {
    let (mut policy, mut seen) = (policy(&ENTRY, ""), crowded());
    let plans = run(policy.as_mut(), &mut seen, 12);
    let first = plans.iter().position(|plan| !plan.actions.is_empty()).unwrap();
    assert!(first >= 3, "{first}");
    assert!(plans[first].actions.iter().all(|action| action.reason().contains("predicted +")), "{plans:?}");
    assert!(plans[first].actions.iter().any(|action| matches!(action, Action::MigratePages { .. })));
}

/// What was measured is the opposite of what was predicted: everything goes back, and stays.
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
    assert!(plans.iter().flat_map(|plan| &plan.notes).any(|note| note.contains("taken back")), "{plans:?}");
    plans = run(policy.as_mut(), &mut seen, 12);
    assert!(plans.iter().all(|plan| plan.actions.is_empty()), "{plans:?}");
    assert_eq!(seen.processes.iter().map(|process| process.pages.clone()).collect::<Vec<_>>(), before);
}

#[test]
fn threads_that_their_owner_bound_stay() {
    let (mut policy, mut seen) = (policy(&ENTRY, "pages = false"), crowded());
    seen.processes.iter_mut().for_each(|process| process.threads[0].pinned = true);
    assert!(run(policy.as_mut(), &mut seen, 20).iter().all(|plan| plan.actions.is_empty()));
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
