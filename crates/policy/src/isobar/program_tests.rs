use super::*;

fn reading(misses: f64, remote: f64) -> Reading {
    let (speed, cycles, crowding, running, exposure) = (1e9, 1.0, 1.0, 1.0, 1.0);
    let (looks, lines, remote, resident) = (None, None, Some(remote), 1000.0);
    Reading { speed, cycles, crowding, running, misses, exposure, looks, lines, remote, resident, ..Reading::default() }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.01
}

fn program() -> Program {
    Program::new(Pid(1), &Arc::from("p"), 0.0, None)
}

/// Misses per thousand instructions: 10 10 10 40 10 10 40 40 40. One reading is no phase. What has
/// lasted for a second goes on for `ln 61` seconds on the mean, counting a minute ahead.
#[test]
fn two_unlike_readings_in_a_row_are_a_phase() {
    let mut program = program();
    let timeline = [10.0, 10.0, 10.0, 40.0, 10.0, 10.0, 40.0, 40.0, 40.0];
    let horizons: Vec<_> = (1u8..)
        .zip(timeline)
        .map(|(now, mpki)| {
            program.read(reading(mpki / 1000.0, 0.0), f64::from(now));
            program.horizon(f64::from(now))
        })
        .collect();
    assert!(horizons.iter().zip(&horizons[1..7]).all(|(before, after)| before < after), "{horizons:?}");
    assert!(near(horizons[0], 4.11) && horizons[7] == 0.0 && near(horizons[8], 4.11), "{horizons:?}");
}

/// It began in the middle of the first second, so it did half as much in it. The second reading
/// shows its speed, unless that one differs greatly in other respects, too.
#[test]
fn what_began_within_a_second_is_known_by_the_next() {
    let after = |misses: f64| {
        let mut program = program();
        program.read(Reading { speed: 5e8, ..reading(0.02, 0.0) }, 1.0);
        program.read(Reading { exposure: misses / 0.02, ..reading(misses, 0.0) }, 2.0);
        program.pace(3).map(<[Speed]>::to_vec)
    };
    assert!(after(0.02).unwrap().iter().all(|one| near(one.speed, ln(1e9))) && after(0.05).is_none());
}

/// A program that waits for misses for a few per cent of its time has a tenth more of them in the
/// second reading. The difference is a matter of some thousandths of its time, so it is known
/// already. So is one that got half as much of a CPU in the second epoch because others run there,
/// and needed as many cycles. Of one that is taken to wait for 0.28 of each miss, and that misses
/// half as much again, the waits differ by 0.14 of its time: its speed is in doubt by as much. One
/// that does not miss any more is not known.
#[test]
fn what_differs_between_two_readings_counts_by_the_time_it_takes() {
    let after = |exposure: f64, misses: f64, speed: f64| {
        let mut program = program();
        program.read(Reading { exposure, ..reading(0.02, 0.0) }, 1.0);
        let exposure = exposure * misses / 0.02;
        program.read(Reading { exposure, speed, ..reading(misses, 0.0) }, 2.0);
        program.doubt(3)
    };
    assert_eq!([after(0.05, 0.022, 2e9), after(1.0, 0.02, 5e8), after(1.0, 0.0, 2e9)], [Some(0.0), Some(0.0), None]);
    assert!([2e9, 5e8].iter().all(|speed| near(after(1.0, 0.03, *speed).unwrap(), 0.14)));
}

/// A limit on its bandwidth adds 0.4 cycles per instruction. These do not count as computing or
/// waiting, nor does it do harm if the processor adds less than the model says.
#[test]
fn what_a_limit_adds_is_not_the_programs_own() {
    let after = |added: f64, delay: f64| {
        let mut program = program();
        let each = Reading { cycles: 1.0 + added, delay, ..reading(0.02, 0.0) };
        (0..10).for_each(|now| program.read(each, f64::from(now)));
        program.cpi
    };
    let free = after(0.0, 0.0);
    assert!(near(after(0.4, 0.4).compute, free.compute) && near(after(0.4, 0.4).wait, free.wait));
    assert!(after(0.4, 0.0).compute > free.compute + 0.05, "a delay that is not known is its own");
    assert!(after(0.0, 5.0).compute > 0.0 && after(0.0, 5.0).wait > 0.0);
}

/// A hundredth of its cache lookups hit, in a second with a tenth fewer lookups than in those
/// before. If none hit, it would miss no more than a hundredth more.
#[test]
fn what_it_finds_is_a_part_of_what_it_looks_for() {
    let mut program = program();
    for looks in [0.2, 0.2, 0.2, 0.18] {
        program.read(Reading { looks: Some(looks), ..reading(0.99 * looks, 0.0) }, 1.0);
        assert!((program.most().unwrap() * 0.99 / program.misses - 1.0).abs() < 1e-9);
    }
    assert!((program.misses - 0.99 * 0.194).abs() < 1e-9);
}

/// Readings of a pointer chase through memory that touched its pages first: 183 lookups and 171
/// misses per thousand instructions while it held 400 KiB, then 212 and 209 with 200. Of its
/// lookups 6.6 % and 1.4 % hit, so twice the space is worth little to it.
#[test]
fn what_a_program_does_beside_looking_says_nothing_of_its_cache() {
    let mut program = program();
    for (now, kib, looks, misses) in [(1.0, 400.0, 0.183, 0.171), (2.0, 200.0, 0.212, 0.209)] {
        program.read(Reading { looks: Some(looks), ..reading(misses, 0.0) }, now);
        program.hold(kib * 1024.0);
    }
    assert!(program.reuse.elasticity < 0.15, "{:?}", program.reuse);
}

/// Of 100 lookups per thousand instructions half hit. If all lines of the working set are looked up
/// equally often, it holds 0.5 / ln 2 lines per lookup, more than the 50 that are inserted. A
/// stream holds what it inserts. So does, as far as is known, a program whose lookups are not
/// counted.
#[test]
fn lines_that_are_found_stay_longer() {
    let kept = |misses: f64, looks: Option<f64>| {
        let mut program = program();
        program.read(Reading { looks, ..reading(misses / 1000.0, 0.0) }, 1.0);
        1000.0 * program.kept()
    };
    assert!(near(kept(50.0, Some(0.1)), 72.13) && near(kept(100.0, Some(0.1)), 100.0) && near(kept(50.0, None), 50.0));
    assert!(near(kept(0.0, Some(0.1)), 14.46), "a thousandth, at least, is not found");
}

/// Ten seconds of 10 and ten of 40 misses, in turn. At 5 s of a phase another 5 are expected, at 8
/// s about 2.
#[test]
fn what_changes_again_and_again_is_expected_to() {
    let mut program = program();
    let mut horizons = Vec::new();
    for now in 1u8..=69 {
        let mpki = if now / 10 % 2 == 0 { 10.0 } else { 40.0 };
        program.read(reading(mpki / 1000.0, 0.0), f64::from(now));
        horizons.push(program.horizon(f64::from(now)));
    }
    assert!((4.0..6.0).contains(&horizons[65]) && horizons[68] < 3.0, "{horizons:?}");
}

/// Of 240 lookups 200 or 5 miss, depending on its neighbours. That is no phase, though each lasts
/// for up to three readings; the fourth makes it one. If 240 lookups become 120, the second reading
/// makes it one.
#[test]
fn what_neighbours_do_to_a_cache_is_no_phase() {
    let mut program = program();
    let mut read = |misses: f64, looks: f64, now: f64| {
        program.read(Reading { looks: Some(looks / 1000.0), ..reading(misses / 1000.0, 0.0) }, now);
        (program.changes, program.speeds.len())
    };
    let turns: [f64; 12] = [200.0, 200.0, 5.0, 5.0, 5.0, 200.0, 200.0, 200.0, 5.0, 5.0, 200.0, 200.0];
    let all: Vec<_> = turns.iter().zip(1u8..).map(|(misses, now)| read(*misses, 240.0, f64::from(now))).collect();
    assert_eq!(all.last(), Some(&(0, 12)), "{all:?}");
    let lasts: Vec<u32> = (13u8..=16).map(|now| read(5.0, 240.0, f64::from(now)).0).collect();
    assert_eq!(lasts, [0, 0, 0, 1]);
    assert_eq!((read(50.0, 120.0, 17.0).0, read(50.0, 120.0, 18.0).0), (1, 2));
}

#[test]
fn pages_that_come_by_themselves_are_told_from_those_that_stay() {
    let (mut follows, mut stays) = (program(), program());
    for epoch in 0u8..12 {
        follows.read(reading(0.01, 0.5 - 0.04 * f64::from(epoch)), f64::from(epoch));
        stays.read(reading(0.01, 0.5), f64::from(epoch));
    }
    assert_eq!((follows.follows.known, stays.follows.known), (Some(true), Some(false)));
    // A program that goes to where its pages are brings none.
    let mut goes = program();
    goes.read(Reading { nodes: 0b01, ..reading(0.01, 1.0) }, 0.0);
    goes.read(Reading { nodes: 0b10, ..reading(0.01, 0.0) }, 1.0);
    assert_eq!(goes.follows.known, None);
}

#[test]
fn patience_doubles_and_moves_are_counted_by_the_hour() {
    let mut program = program();
    let rests: Vec<_> = (0..3)
        .map(|_| {
            program.fail(0.0, Seconds(30.0));
            program.rest
        })
        .collect();
    assert_eq!(rests, [30.0, 60.0, 120.0]);
    program.moves = vec![0.0, 10.0];
    assert!(program.may_move(30.0, 3, false) && !program.may_move(30.0, 3, true));
    assert!(program.may_move(3601.0, 3, true));
}

/// Readings of a pointer chase that had touched its pages, and then went through them: 21 lookups
/// per thousand instructions became 196, and 18 misses 188. If the lookups stay at 21 and 5 misses
/// become 18, its neighbours may be the cause.
#[test]
fn a_phase_in_which_it_looks_for_more_is_its_own() {
    let turned = |first: (f64, f64), then: (f64, f64)| {
        let mut program = program();
        let each = |(looks, misses): (f64, f64)| Reading { looks: Some(looks), ..reading(misses, 0.0) };
        (1u8..4).for_each(|now| program.read(each(first), f64::from(now)));
        (4u8..9).for_each(|now| program.read(each(then), f64::from(now)));
        (program.phase > 0.0, program.turned)
    };
    assert_eq!(turned((0.021, 0.018), (0.196, 0.188)), (true, true));
    assert_eq!(turned((0.021, 0.005), (0.021, 0.018)), (true, false));
    assert_eq!(turned((0.021, 0.018), (0.021, 0.018)), (false, false));
}

/// The second in which that chase began to go through its pages, and the one before: 29 lookups and
/// 26 misses per thousand instructions, then 171 and 162. If it misses more at as many lookups,
/// there is no doubt.
#[test]
fn the_first_reading_of_another_phase_is_in_doubt() {
    let mut program = program();
    let each = |looks: f64, misses: f64| Reading { looks: Some(looks), ..reading(misses, 0.0) };
    let readings = [(0.021, 0.019), (0.021, 0.019), (0.029, 0.026), (0.171, 0.162), (0.179, 0.164)];
    let doubts = readings.map(|(looks, misses)| {
        program.read(each(looks, misses), 1.0);
        program.may_turn()
    });
    assert_eq!(doubts, [false, false, false, true, false]);
    assert!(program.turned);
    program.read(each(0.18, 0.01), 6.0);
    assert!(!program.may_turn());
}

/// Readings of a stencil whose pages the kernel brought to its threads within one epoch: 35 and 38
/// misses per thousand instructions, then 20. It is left alone until that has lasted for two
/// epochs, which is another phase, or is over. One that misses more than before is not.
#[test]
fn what_has_just_begun_to_miss_far_less_does_better() {
    let after = |mpki: &[f64]| {
        let mut program = program();
        mpki.iter().for_each(|one| program.read(reading(one / 1000.0, 0.0), 1.0));
        program.does_better()
    };
    assert!(after(&[35.0, 38.0, 20.0]) && !after(&[35.0, 38.0, 20.0, 20.0]) && !after(&[35.0, 38.0, 20.0, 37.0]));
    assert!(!after(&[35.0, 38.0, 70.0]) && !after(&[35.0, 38.0, 30.0]));
}

/// A hash join that builds and looks things up in turn, two or three readings each, is known from
/// the second change on, and half of the time that it is expected to go on counts. It is not known
/// so early if its phases last for longer.
#[test]
fn what_is_done_in_turn_is_known_before_a_window_of_it() {
    let after = |times: usize| {
        let mut program = program();
        let (build, look_up) = ((0.018, 0.019), (0.036, 0.037));
        let turns = [build, look_up, build].into_iter().flat_map(|turn| std::iter::repeat_n(turn, times));
        for ((misses, looks), now) in turns.zip(1u8..).take(2 * times + 2) {
            program.read(Reading { looks: Some(looks), ..reading(misses, 0.0) }, f64::from(now));
        }
        let now = f64::from(u8::try_from(2 * times + 2).unwrap());
        (program.changes, program.doubt(3).is_some(), program.does_better(), program.horizon(now))
    };
    let (changes, known, does_better, horizon) = after(3);
    assert_eq!((changes, known, does_better), (2, true, false));
    assert!((horizon - remaining(8.0, 8.0, 0, None) / 2.0).abs() < 1e-9);
    let (changes, known, ..) = after(5);
    assert_eq!((changes, known), (2, false));
}
