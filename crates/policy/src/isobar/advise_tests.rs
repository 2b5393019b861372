use super::*;
use crate::test_kit::{observation, process, thread, with_pages};
use isobar_model::{Bytes, Thread};

/// Two nodes of four cores. `p1` runs on node 1 with all of its pages on node 0, `p2` hardly
/// misses, `p3` has no counters.
fn watched() -> (Advisor, Observation) {
    let one = |tid, cpu, misses| Thread {
        instructions: Some(1_250_000_000),
        cycles: Some(2_500_000_000),
        llc_misses: Some(misses),
        ..thread(tid, cpu, 0.0)
    };
    let blind = Thread { instructions: None, cycles: None, llc_misses: None, ..thread(3, 1, 0.0) };
    let processes =
        vec![process(1, vec![one(1, 4, 31_250_000)]), process(2, vec![one(2, 0, 1000)]), process(3, vec![blind])];
    let mut seen = observation("node:2 core:4", processes);
    with_pages(&mut seen, 1, &[100_000, 0]);
    with_pages(&mut seen, 2, &[1000, 0]);
    seen.free = seen.machine.nodes().iter().map(|node| (node.id, Bytes(16 << 30))).collect();
    let mut advisor = Advisor::default();
    for epoch in 1u8..=8 {
        seen.time.0 = f64::from(epoch);
        advisor.watch(&seen);
    }
    (advisor, seen)
}

#[test]
fn a_program_with_remote_memory_is_bound_to_its_node_and_the_others_are_left() {
    let all = watched().0.advise();
    assert_eq!(all.iter().map(|one| one.pid.0).collect::<Vec<_>>(), [1, 2, 3]);
    let best = &all[0].choices[0];
    assert!(matches!(best.what, AdviceKind::Bind(_)) && best.gain > 0.1, "{all:?}");
    assert!(best.range.0 < best.gain && best.gain < best.range.1, "{best:?}");
    let shares: Vec<f64> = all[0].choices.iter().map(|one| one.gain).collect();
    assert!(shares.windows(2).all(|pair| pair[0] >= pair[1]), "{shares:?}");
    assert_eq!(all[1].choices[0].what, AdviceKind::Leave, "{:?}", all[1]);
    assert!(all[2].choices.is_empty(), "nothing is predicted of what was not measured");
}

/// Latencies that nothing reports are guessed, so the confidence is low.
#[test]
fn guessed_latencies_leave_little_confidence() {
    let all = watched().0.advise();
    assert!(
        all[0].choices.iter().filter(|one| one.what != AdviceKind::Leave).all(|one| one.confidence == Confidence::Low)
    );
}

#[test]
fn a_node_that_is_full_is_not_advised() {
    let (mut advisor, mut seen) = watched();
    seen.free.insert(NodeId(1), Bytes(1 << 20));
    seen.time.0 += 1.0;
    advisor.watch(&seen);
    let all = advisor.advise();
    let one = all.iter().find(|one| one.pid.0 == 1).unwrap();
    assert!(
        one.choices.iter().all(|one| !matches!(one.what, AdviceKind::Bind(NodeId(1)) | AdviceKind::Interleave(_))),
        "{one:?}"
    );
}
