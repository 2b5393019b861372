use super::*;

/// A program of 0.6 cycles that waits for a fifth of its misses, read at 2 and at 6 cycles of
/// misses per instruction.
#[test]
fn two_exposures_tell_computing_from_waiting() {
    let mut cpi = Cpi::unknown();
    for epoch in 0..40 {
        let exposure = if epoch % 10 < 5 { 2.0 } else { 6.0 };
        cpi.read(0.6 + 0.2 * exposure, exposure, 1.0);
    }
    assert!((cpi.compute - 0.6).abs() < 0.03 && (cpi.wait - 0.2).abs() < 0.01, "{cpi:?}");
}

#[test]
fn one_exposure_tells_their_sum_and_leaves_the_rest_open() {
    let mut cpi = Cpi::unknown();
    (0..20).for_each(|_| cpi.read(2.0, 4.0, 1.0));
    assert!((cpi.compute + 4.0 * cpi.wait - 2.0).abs() < 0.02, "{cpi:?}");
    assert!(cpi.doubtful(2.0, 4.0) > 0.05, "{cpi:?}");
}

#[test]
fn a_program_that_changes_is_followed_after_a_doubt() {
    let mut cpi = Cpi::unknown();
    (0..30).for_each(|_| cpi.read(1.0, 1.0, 1.0));
    cpi.doubt();
    (0..30).for_each(|_| cpi.read(3.0, 5.0, 1.0));
    assert!((cpi.compute + 5.0 * cpi.wait - 3.0).abs() < 0.05, "{cpi:?}");
}

/// A program of 0.6 cycles that waits for a fifth of its misses, alone on its core and beside
/// another: that difference separates computing from waiting as well.
#[test]
fn a_shared_core_is_not_taken_for_misses() {
    let mut cpi = Cpi::unknown();
    for epoch in 0..40 {
        let crowding = if epoch % 10 < 5 { 1.0 } else { 1.6 };
        cpi.read(0.6 * crowding + 0.2 * 4.0, 4.0, crowding);
    }
    assert!((cpi.compute - 0.6).abs() < 0.03 && (cpi.wait - 0.2).abs() < 0.01, "{cpi:?}");
}

/// A program that lives in the last-level cache: 9 cycles per instruction, and in addition 0.2
/// and then 0.6 cycles of misses, waited for in full. Judged by programs in general it would
/// compute for 0.8 cycles.
#[test]
fn a_surprising_program_is_known_after_two_readings() {
    let mut cpi = Cpi::unknown();
    [0.2, 0.6].iter().for_each(|exposure| cpi.read(9.0 + exposure, *exposure, 1.0));
    assert!((cpi.compute - 9.0).abs() < 0.4, "{cpi:?}");
    let expected = cpi.compute + 0.6 * cpi.wait;
    assert!((expected / 9.6 - 1.0).abs() < 0.02 && cpi.least() > 8.0, "{cpi:?}");
}

/// A client that mostly waits for something else: 20.6 cycles, whether it has 13 or 25 of
/// misses. Even if each change of its misses is taken for another phase, it is not believed to
/// be faster without misses.
#[test]
fn a_speed_that_ignores_misses_does_not_depend_on_them() {
    let mut cpi = Cpi::unknown();
    for exposure in [13.0, 21.0, 25.0, 13.5, 18.0, 25.0] {
        cpi.doubt();
        cpi.read(20.6, exposure, 1.0);
    }
    // 6 % of 20.6 cycles, over the difference of 12.
    assert!(cpi.wait <= 0.06 * 20.6 / 12.0 && cpi.compute > 17.0, "{cpi:?}");
    // Misses that differ little say nothing, and neither does a speed that follows them.
    let mut chase = Cpi::unknown();
    [50.0, 60.0, 50.0, 75.0, 50.0].iter().for_each(|exposure| chase.read(2.0 + exposure, *exposure, 1.0));
    assert!(chase.wait > 0.9, "{chase:?}");
}

/// A hash join builds its table with one miss in flight at a time, and looks things up with
/// several: 2.73 cycles with 2.05 of misses, and 1.13 with 4.12. It waits for memory in both.
/// With latencies of 1.8 times as much, the two took 4.1 and 1.9 cycles.
#[test]
fn what_waits_in_another_way_waits_all_the_same() {
    let mut cpi = Cpi::unknown();
    for (cycles, exposure, farther) in
        [(2.73, 2.05, 4.1), (1.13, 4.12, 1.9), (2.73, 2.05, 4.1), (2.77, 2.09, 4.1), (1.13, 4.12, 1.9)]
    {
        cpi.read(cycles, exposure, 1.0);
        let remote = cpi.compute + 1.8 * exposure * cpi.wait;
        assert!((remote / farther - 1.0).abs() < 0.2, "{cycles}: {remote} {cpi:?}");
    }
}

/// A server takes 5.65 cycles with 1.3 of misses. Even if it waited for all of them it would
/// compute for longer than any program should, so the rest is computing. The misses are not
/// made responsible for what they cannot explain.
#[test]
fn what_the_longest_wait_leaves_is_computing() {
    let mut cpi = Cpi::unknown();
    cpi.read(5.65, 1.3, 1.0);
    assert!((cpi.wait - 0.3).abs() < 0.05 && (cpi.compute + 1.3 * cpi.wait - 5.65).abs() < 0.05, "{cpi:?}");
}

/// A client that took 19.85 cycles with 10.1 of misses, and then 20.5 with 16.2. Not even the
/// longest waits explain the first reading, so it says nothing of what is computing. The second
/// one shows that hardly anything is waiting.
#[test]
fn what_no_wait_explains_is_open_until_the_next_reading() {
    let mut cpi = Cpi::unknown();
    cpi.read(19.85, 10.1, 1.0);
    assert!((cpi.compute + 10.1 * cpi.wait - 19.85).abs() < 0.01, "{cpi:?}");
    cpi.read(20.5, 16.2, 1.0);
    assert!(cpi.wait < 0.3 && cpi.compute > 16.0, "{cpi:?}");
}

/// A pointer chase that first fills its memory in order, at 2.3 cycles with 3.6 of misses. Then
/// it waits for nearly all of its misses, at 24 cycles with 26 of misses: one reading is enough
/// to know that.
#[test]
fn another_phase_is_another_program() {
    let mut cpi = Cpi::unknown();
    (0..4).for_each(|_| cpi.read(2.3, 3.6, 1.0));
    cpi.doubt();
    cpi.read(24.0, 26.0, 1.0);
    assert!(cpi.wait > 0.8 && cpi.compute < 2.5, "{cpi:?}");
    assert!((cpi.compute + 26.0 * cpi.wait - 24.0).abs() < 0.5, "{cpi:?}");
}

/// Two programs of 9 cycles that wait for 0.7 of their misses. One was read at 0.1 and at 26
/// cycles of misses; the other was read at 26 only, and might therefore wait for all of them.
/// What is known of the first is adopted for the second, and not the other way round. It is not
/// adopted for a program that takes a third longer at as many misses, nor for one whose own
/// readings say as much.
#[test]
fn what_was_read_of_another_of_its_kind_is_known_of_it() {
    let mut first = Cpi::unknown();
    (0..8).for_each(|_| first.read(27.2, 26.0, 1.0));
    let mut second = first;
    (0..8).for_each(|_| first.read(9.07, 0.1, 1.0));
    assert!(first.compute > 8.0 && second.compute < 1.5, "{first:?} {second:?}");
    let (before, unlike) = (first, second);
    first.learn(&second, (9.07, 0.1, 1.0));
    assert_eq!(first, before);
    let mut slower = unlike;
    slower.learn(&first, (36.0, 26.0, 1.0));
    assert_eq!(slower, unlike);
    second.learn(&first, (27.2, 26.0, 1.0));
    assert!((second.compute / first.compute - 1.0).abs() < 0.02, "{first:?} {second:?}");
    let mut heavier = unlike;
    heavier.learn(&first, (29.0, 26.0, 1.0));
    let both = heavier.compute + 26.0 * heavier.wait;
    assert!((both - 29.0).abs() < 0.5 && heavier.compute > 7.5, "{heavier:?}");
    // Once it was read at exposures that differ as much itself, its own readings count.
    (0..2).for_each(|_| second.read(9.0, 0.1, 1.0));
    let own = second;
    second.learn(&first, (9.0, 0.1, 1.0));
    assert_eq!(second, own);
}

/// A program that is a stream by its readings and finds nothing in the cache: its working set
/// may be larger than the space that it had.
#[test]
fn what_finds_nothing_may_be_hoped_for() {
    let mut stream = Reuse::unknown();
    (0..20).for_each(|_| stream.read(0.0, -0.7));
    assert!(stream.hoped(false).more < 0.1 && (stream.hoped(true).more - 0.5).abs() < 1e-9);
    assert!(stream.hoped(true).less < 0.01);
}

#[test]
fn space_that_saves_nothing_is_seen() {
    let mut stream = Reuse::unknown();
    (0..5).for_each(|_| stream.read(0.0, -0.7));
    let mut sensitive = Reuse::unknown();
    (0..5).for_each(|_| sensitive.read(0.35, -0.7));
    assert!(stream.elasticity < 0.02 && (sensitive.elasticity - 0.5).abs() < 0.02);
}
