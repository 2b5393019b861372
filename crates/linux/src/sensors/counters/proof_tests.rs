//! Worked examples: sequences of readings of threads, and which events are trusted after them.

use super::*;

const MS: u64 = 1_000_000;

/// A reading of a thread by its running time in ms, millions of instructions, and misses.
fn reading(ms: u64, million: u64, misses: u64) -> Counters {
    let count = |value| Some(Count::whole(value, ms * MS));
    Counters { instructions: count(million * 1_000_000), llc_misses: count(misses), ..Counters::default() }
}

/// One sample after the other. Each holds the readings of all threads; from the second sample on,
/// each reading is compared with the one before.
fn after(samples: &[&[Counters]]) -> Proof {
    let mut proof = Proof::new(false, Vec::new());
    hear(&mut proof, samples);
    proof
}

fn hear(proof: &mut Proof, samples: &[&[Counters]]) {
    for (index, now) in samples.iter().enumerate() {
        let before = index.checked_sub(1).map_or(&[][..], |index| samples[index]);
        for (thread, new) in now.iter().enumerate() {
            proof.hear(before.get(thread).unwrap_or(&Counters::default()), new);
        }
        proof.conclude();
    }
}

fn misses(samples: &[&[Counters]]) -> EventState {
    after(samples).standing(Role::LlcMisses)
}

const NEW: Counters = Counters {
    instructions: None,
    cycles: None,
    llc_references: None,
    llc_misses: None,
    cache_transfers: None,
    bytes: None,
};

#[test]
fn misses_are_unproven_until_one_is_counted_or_two_threads_have_worked_long_without() {
    let (none, some, idle) = (reading(1000, 900, 0), reading(1000, 900, 1), reading(40, 50, 0));
    let (dead, alive) = (reading(2000, 1500, 0), reading(3000, 2500, 7));
    // Within the L1 since its one miss.
    let later = |ms: u64| reading(ms, ms * 2, 1);
    let cases: [(&[&[Counters]], EventState, &str); 8] = [
        (&[&[none, none]], EventState::Unproven, "too little work"),
        (&[&[none, some]], EventState::Counts, "one thread proves it for all"),
        (&[&[none, some], &[later(9000); 2], &[later(99_000); 2]], EventState::Counts, "for good"),
        (&[&[reading(9000, 9000, 0)], &[reading(99_000, 99_000, 0)]], EventState::Unproven, "one thread, however long"),
        (&[&[reading(9000, 9000, 0), idle, idle, idle]], EventState::Unproven, "nor with many that did nothing"),
        (&[&[NEW, dead], &[dead]], EventState::Silent, "each of another thread, which is gone"),
        (&[&[dead; 2]], EventState::Silent, "two threads"),
        (&[&[dead; 2], &[reading(3000, 2500, 0), alive]], EventState::Counts, "believed again"),
    ];
    for (samples, expected, why) in cases {
        assert_eq!(misses(samples), expected, "{why}");
    }
    assert_eq!(after(&[&[none, some]]).believed(&none), none, "its zero is a fact now");
    let believed = after(&[&[none, none]]).believed(&none);
    assert_eq!((believed.llc_misses, believed.instructions), (None, none.instructions), "until then it is not");
}

#[test]
fn two_billion_instructions_of_two_threads_without_a_miss_are_silence() {
    // Millions of instructions of two threads, after 1, 2, 3 s: 800 + 700, 1600 + 1400.
    let samples = [[reading(1000, 800, 0), reading(1000, 700, 0)], [reading(2000, 1600, 0), reading(2000, 1400, 0)]];
    assert_eq!(misses(&[&samples[0]]), EventState::Unproven, "1500 million");
    let proof = after(&[&samples[0], &samples[1]]);
    assert_eq!(proof.standing(Role::LlcMisses), EventState::Silent);
    let expected = Evidence { threads: 2, work: 3_000_000_000, in_instructions: true };
    assert_eq!(proof.evidence(Role::LlcMisses), expected);
    assert_eq!(proof.standing(Role::Instructions), EventState::Counts);
    let later = [reading(3000, 2400, 0), reading(3000, 2100, 0)];
    let later = after(&[&samples[0], &samples[1], &later]);
    assert_eq!(
        later.evidence(Role::LlcMisses),
        expected,
        "a reason that changes in every sample would be news each time"
    );
}

#[test]
fn references_are_judged_by_themselves() {
    let with_misses =
        |references| Counters { llc_references: Some(Count::whole(references, 2000 * MS)), ..reading(2000, 1500, 9) };
    let proof = after(&[&[with_misses(0), with_misses(0)]]);
    let standings = [Role::LlcReferences, Role::LlcMisses].map(|role| proof.standing(role));
    assert_eq!(standings, [EventState::Silent, EventState::Counts]);
}

#[test]
fn cycles_are_the_measure_where_instructions_are_not_counted() {
    let reading = |million: u64| Counters {
        cycles: Some(Count::whole(million * 1_000_000, 1000 * MS)),
        llc_misses: Some(Count::whole(0, 1000 * MS)),
        ..NEW
    };
    let proof = after(&[&[reading(1000), reading(1000)]]);
    assert_eq!(proof.standing(Role::LlcMisses), EventState::Silent);
    assert!(!proof.evidence(Role::LlcMisses).in_instructions);
}

#[test]
fn a_thread_that_sleeps_does_not_change_the_measure() {
    let with_cycles = |counters: Counters| Counters { cycles: counters.instructions, ..counters };
    let (busy, asleep) = (with_cycles(reading(2000, 1500, 0)), with_cycles(reading(0, 0, 0)));
    let proof = after(&[&[busy, busy, asleep]]);
    assert_eq!(proof.standing(Role::LlcMisses), EventState::Silent);
    assert_eq!(proof.evidence(Role::LlcMisses), Evidence { threads: 2, work: 3_000_000_000, in_instructions: true });
}

#[test]
fn instructions_that_stand_still_while_a_thread_runs_are_silent_at_once_and_at_any_time() {
    let instructions = |samples: &[&[Counters]]| after(samples).standing(Role::Instructions);
    assert_eq!(instructions(&[&[reading(20, 0, 0)]]), EventState::Silent);
    assert_eq!(instructions(&[&[reading(5, 0, 0)]]), EventState::Unproven, "too short to decide");
    assert_eq!(instructions(&[&[reading(20, 30, 0)], &[reading(20, 30, 0)]]), EventState::Counts, "it slept");
    assert_eq!(instructions(&[&[reading(20, 30, 0)], &[reading(40, 30, 0)]]), EventState::Silent, "it ran");
    assert_eq!(instructions(&[&[reading(20, 0, 0), reading(20, 30, 0)]]), EventState::Counts, "another thread counted");
}

#[test]
fn misses_are_unproven_again_after_the_pmu_stood_still() {
    let (works, stopped, works_again) = (reading(1000, 900, 5), reading(2000, 900, 5), reading(3000, 1800, 5));
    let proof = after(&[&[works], &[stopped]]);
    assert!(proof.stands_still());
    assert_eq!(proof.believed(&stopped), NEW);
    let proof = after(&[&[works], &[stopped], &[works_again]]);
    assert_eq!(proof.standing(Role::Instructions), EventState::Counts);
    assert_eq!(proof.standing(Role::LlcMisses), EventState::Unproven);
    // The new host counts instructions, but no misses at all.
    let two = |ms, million| [reading(ms, million, 5), reading(ms, million, 5)];
    let without = [two(1000, 900), two(2000, 900), two(3000, 2200)];
    assert_eq!(misses(&[&without[0], &without[1], &without[2]]), EventState::Silent);
}

#[test]
fn what_the_kernel_counts_itself_needs_no_proof() {
    let mut proof = Proof::new(true, Vec::new());
    let none = reading(9000, 9000, 0);
    hear(&mut proof, &[&[none, none], &[none, none]]);
    assert_eq!(proof.believed(&none), none);
}

/// 20 ms of a large `munmap`: no instruction in user mode is counted, and the counter is right. So
/// are cycles, if they are counted in user mode alone; if not, both have stopped.
#[test]
fn where_only_user_mode_is_counted_a_stay_in_the_kernel_is_no_silence() {
    let standing = |user_only: &[Role], then: u64| {
        let mut proof = Proof::new(false, user_only.to_vec());
        let reading =
            |ms, million| Counters { cycles: Some(Count::whole(million * 1_000_000, ms * MS)), ..reading(ms, 10, 1) };
        hear(&mut proof, &[&[reading(20, 30)], &[reading(40, then)]]);
        [Role::Instructions, Role::Cycles, Role::LlcMisses].map(|role| proof.standing(role))
    };
    let stopped = [EventState::Silent, EventState::Silent, EventState::Unproven];
    assert_eq!(standing(&Role::ALL, 30), [EventState::Counts; 3]);
    assert_eq!(standing(&[Role::Instructions], 60), [EventState::Counts; 3]);
    assert_eq!(standing(&[Role::Instructions], 30), stopped);
    assert_eq!(standing(&[], 30), stopped);
    assert_eq!(standing(&[], 60), [EventState::Silent, EventState::Counts, EventState::Counts]);
}
