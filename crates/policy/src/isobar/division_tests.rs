use super::tests::{run, stream};
use super::*;
use crate::test_kit::{observation, policy, process, with_pages};
use isobar_model::Tid;

/// One cache for a program that fills it fastest and three others. No reading shows yet what space
/// is worth to them, so a division pays only at best: it is made as an exploration. If all are
/// slower by it, it is rolled back and not tried again soon. If it changes nothing it stays, and
/// another one is tried after the rest. Programs of one name are never separated for that.
#[test]
fn what_space_is_worth_is_learnt_by_a_division() {
    let alone = |names: [&str; 4]| {
        let streams = (1..=4).map(|pid| process(pid, vec![stream(pid, pid - 1, if pid == 4 { 2.0 } else { 4.0 })]));
        let mut seen = observation("node:1 core:4", streams.collect());
        for (process, name) in seen.processes.iter_mut().zip(names) {
            process.name = name.into();
        }
        (1..=4).for_each(|pid| with_pages(&mut seen, pid, &[100_000]));
        seen
    };
    let ways = |plans: &[Plan]| -> Vec<(usize, Vec<Tid>, String)> {
        let all = plans.iter().enumerate().flat_map(|(at, plan)| plan.actions.iter().map(move |action| (at, action)));
        all.filter_map(|(at, action)| match action {
            Action::SetWays { threads, reason, .. } => Some((at, threads.clone(), reason.clone())),
            _ => None,
        })
        .collect()
    };
    let (mut policy, mut seen) = (policy(&ENTRY, ""), alone(["a", "b", "c", "d"]));
    let divided = ways(&run(policy.as_mut(), &mut seen, 3));
    assert_eq!(divided.len(), 2, "{divided:?}");
    assert!(
        divided[0].0 == 1 && divided[0].1.contains(&Tid(4)),
        "once all are known, the one that fills it fastest: {divided:?}"
    );
    assert!(
        divided.iter().all(|(_, _, reason)| reason.contains("to measure what cache space is worth")),
        "{divided:?}"
    );
    for (pid, process) in (1..).zip(&mut seen.processes) {
        process.threads[0] = stream(pid, pid - 1, if pid == 4 { 2.6 } else { 4.2 });
    }
    let plans = run(policy.as_mut(), &mut seen, 9);
    let effects: Vec<_> = plans.iter().flat_map(|plan| &plan.effects).collect();
    assert_eq!((effects.len(), effects[0].kept), (1, false), "{plans:?}");
    assert!(ways(&plans).iter().all(|(_, threads, reason)| threads.is_empty() && reason.contains("every way")));
    assert_eq!(ways(&run(policy.as_mut(), &mut seen, 20)), []);

    let (mut policy, mut seen) = (crate::test_kit::policy(&ENTRY, ""), alone(["a", "b", "c", "d"]));
    let (first, later) = (ways(&run(policy.as_mut(), &mut seen, 30)), ways(&run(policy.as_mut(), &mut seen, 30)));
    assert_eq!(first, divided);
    assert!(later[0].1 != divided[0].1 && later[0].2.contains("to measure what cache space is worth"), "{later:?}");

    // The program that was separated ends, which is not the doing of the division.
    let (mut policy, mut seen) = (crate::test_kit::policy(&ENTRY, ""), alone(["a", "b", "c", "d"]));
    run(policy.as_mut(), &mut seen, 3);
    seen.processes.truncate(3);
    (1..4).zip(&mut seen.processes).for_each(|(pid, process)| process.threads[0] = stream(pid, pid - 1, 4.2));
    let plans = run(policy.as_mut(), &mut seen, 9);
    assert!(plans[0].notes[0].contains("change 1 ends unmeasured"), "{plans:?}");
    assert!(plans.iter().all(|plan| plan.effects.iter().all(|effect| effect.change != 1)), "{plans:?}");

    let (mut policy, mut seen) = (crate::test_kit::policy(&ENTRY, ""), alone(["a"; 4]));
    assert_eq!(ways(&run(policy.as_mut(), &mut seen, 20)), []);
}
