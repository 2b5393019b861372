use super::*;
use crate::isobar::reading::Reading;
use std::sync::Arc;

fn running(speeds: &[(u32, f64)]) -> Programs {
    let one = |(pid, speed): &(u32, f64)| {
        let mut program = Program::new(Pid(*pid), &Arc::from("p"), 0.0, None);
        program.last = Some(Reading::default());
        program.speeds = vec![Speed { speed: ln(*speed), looks: None, nodes: 1 }; 3];
        program
    };
    let mut programs = Programs::default();
    programs.list = speeds.iter().map(one).collect();
    programs
}

/// Program 1 is to be twice as fast in the place of program 2; both were moved. If program 1 has
/// ended, a slower program 2, for whatever reason, is no verdict, unless it is protected.
#[test]
fn a_change_whose_gainer_ended_is_not_judged_by_the_others() {
    let touched = |pid| Touched { pid: Pid(pid), carried: Vec::new(), pages: None };
    let mut before = running(&[(1, 1e8), (2, 4e8), (3, 4e8)]);
    let begun = |before: &Programs| Trial::new(1, vec![touched(1), touched(2)], before, &[2.0, 1.003, 1.0], 3, 0.0);
    let trial = begun(&before);
    let after = running(&[(2, 2e8), (3, 3e8)]);
    assert_eq!(trial.judge(&after, 3), None);
    before.list[1].most = Some(0.0);
    assert!(begun(&before).judge(&after, 3).unwrap().broken);
    let all = trial.judge(&running(&[(1, 2e8), (2, 4e8), (3, 4e8)]), 3).unwrap();
    assert!(!all.disturbed && (all.predicted - all.measured).abs() < 0.01, "{all:?}");
}

/// Program 1 gains what was promised. Program 2 loses a third. If the kernel has since taken it to
/// another node, the change stays, unless program 2 was moved by the change or is protected.
#[test]
fn what_a_program_loses_that_the_kernel_took_elsewhere_is_not_the_changes_doing() {
    let judged = |node: u64, moved: &[u32], most: Option<f64>| {
        let touched = |pid: &u32| Touched { pid: Pid(*pid), carried: Vec::new(), pages: None };
        let mut before = running(&[(1, 1e8), (2, 3e8)]);
        before.list[1].most = most;
        before.list[1].last = Some(Reading { nodes: 1, ..Reading::default() });
        let trial = Trial::new(1, moved.iter().map(touched).collect(), &before, &[1.3, 1.0], 3, 0.0);
        let mut after = running(&[(1, 1.3e8), (2, 2e8)]);
        after.list[1].last = Some(Reading { nodes: node, ..Reading::default() });
        // The same if another trial grew from it, begun when the program was elsewhere already.
        let mut grown = Trial::new(2, vec![touched(&1)], &after, &[1.0, 1.0], 3, 3.0);
        grown.join(trial.clone());
        [trial, grown].map(|one| one.judge(&after, 3).unwrap().harmed(0.05))
    };
    assert_eq!(judged(1, &[1], None), [true; 2], "on its node");
    assert_eq!(judged(0b1000, &[1], None), [false; 2]);
    assert_eq!(judged(0b1001, &[1], None), [true; 2], "partly still there");
    assert_eq!(judged(0b1000, &[1, 2], None), [true; 2]);
    assert_eq!(judged(0b1000, &[1], Some(0.1)), [true; 2]);
}

/// A change that promises a tenth for program 1, then one that doubles program 2. Both are judged
/// by speeds before the first, including that of a program that was not read since.
#[test]
fn a_trial_that_grew_is_judged_by_speeds_before_the_first_change() {
    let touched = |pid| vec![Touched { pid: Pid(pid), carried: Vec::new(), pages: None }];
    let before = running(&[(1, 1e8), (2, 1e8), (3, 1e8)]);
    let first = Trial::new(1, touched(1), &before, &[1.1, 1.0, 1.0], 3, 0.0);
    let mut grown = Trial::new(2, touched(2), &running(&[(1, 1.1e8), (2, 1e8)]), &[1.0, 2.0], 3, 3.0);
    grown.join(first);
    let verdict = grown.judge(&running(&[(1, 1.1e8), (2, 2e8), (3, 0.9e8)]), 3).unwrap();
    let gains: Vec<f64> = verdict.gains.iter().map(|one| one.measured).collect();
    assert!((verdict.predicted - ln(2.2)).abs() < 1e-6 && verdict.moved > 1.9, "{verdict:?}");
    assert!(gains.iter().zip([ln(1.1), ln(2.0), ln(0.9)]).all(|(is, should)| (is - should).abs() < 1e-6));
    assert_eq!(grown.take_earlier().map(|earlier| earlier.change), Some(1));
}

/// Program 1 went to the cache of program 2, which then misses so much more that it looks like
/// another program. If that began at once, it is the change's doing and ends the trial. It is the
/// program's own doing if it began later, if its cache was not changed, or if it makes more lookups
/// in it, unless its threads pass lines to each other and came to one cache.
#[test]
fn a_program_whose_cache_was_changed_is_judged_though_it_looks_like_another() {
    let touched = || vec![Touched { pid: Pid(1), carried: Vec::new(), pages: None }];
    let judged = |beside: &[Pid], united: &[Pid], phase: f64, turned: bool| {
        let mut before = running(&[(1, 1e8), (2, 2e9)]);
        before.list[1].speeds.iter_mut().for_each(|one| one.looks = Some(ln(0.01)));
        let mut trial = Trial::new(1, touched(), &before, &[1.2, 1.0], 3, 10.0);
        trial.watch(beside, united, 5.0);
        let mut after = running(&[(1, 1.2e8), (2, 1e8)]);
        let looks = if turned { 0.02 } else { 0.01 };
        (after.list[1].phase, after.list[1].speeds) =
            (phase, vec![Speed { speed: ln(1e8), looks: Some(ln(looks)), nodes: 1 }; 2]);
        after.list[1].turned = turned;
        let verdict = trial.judge(&after, 3).unwrap();
        (verdict.jumped, verdict.harmed(0.05))
    };
    let both = [Pid(1), Pid(2)];
    assert_eq!(judged(&both, &[], 13.0, false), (true, true));
    assert_eq!(judged(&both, &[], 16.0, false), (false, false));
    assert_eq!(judged(&[Pid(1)], &[], 13.0, false), (false, false));
    assert_eq!(judged(&both, &[], 13.0, true), (false, false));
    assert_eq!(judged(&both, &[Pid(2)], 13.0, true), (false, true), "its looks may change");
    assert_eq!(judged(&both, &[Pid(2)], 16.0, true), (false, false));
}

/// Program 2, a witness, made ten times as many cache lookups in the last epoch. The verdict waits,
/// though not for ever, nor if what was changed has ended.
#[test]
fn a_verdict_waits_while_a_witness_may_do_something_else() {
    let touched = vec![Touched { pid: Pid(1), carried: Vec::new(), pages: None }];
    let mut programs = running(&[(1, 1e8), (2, 1e8)]);
    let mut trial = Trial::new(1, touched, &programs, &[1.2, 1.0], 3, 0.0);
    assert!(!trial.waits_for_doubt(&programs));
    let reading =
        |looks: f64| Reading { cycles: 9.0, misses: looks, exposure: 9.0, looks: Some(looks), ..Reading::default() };
    programs.list[1].looks = Some(0.02);
    programs.list[1].misses = 0.02;
    programs.list[1].read(reading(0.2), 1.0);
    let mut moot = programs.clone();
    moot.list.remove(0);
    assert!(!trial.clone().waits_for_doubt(&moot));
    assert_eq!([(); 3].map(|()| trial.waits_for_doubt(&programs)), [true, true, false]);
}

/// Three programs are three times as fast (3.3 in logarithms), one loses 26 %: the change stays. It
/// does not stay for a third of the gain, nor if the gain is hardly more certain than chance, nor
/// if one loses more than half of its speed.
#[test]
fn a_loss_that_is_a_quarter_of_the_gain_is_borne() {
    let of = |measured, error, worst| {
        let all = measured - error;
        Verdict { predicted: 1.0, measured, error, all, worst, ..Verdict::default() }
    };
    assert!(!of(3.3, 0.2, 0.3).harmed(0.05) && of(1.1, 0.2, 0.3).harmed(0.05));
    assert!(of(3.3, 2.2, 0.3).harmed(0.05) && of(9.0, 0.1, 0.75).harmed(0.05));
    assert!(!of(9.0, 0.1, 0.65).harmed(0.05));
    assert!(of(0.45, 0.0, 0.12).harmed(0.05) && !of(0.45, 0.0, 0.11).harmed(0.05));
}

/// One program that weighs four times as much gains 10 %, three others lose 5 % each: that is a
/// gain. The shortfall is a mean over the programs by weight.
#[test]
fn a_trial_is_judged_by_what_programs_weigh() {
    let touched = |pid| Touched { pid: Pid(pid), carried: Vec::new(), pages: None };
    let mut before = running(&[(1, 1e8), (2, 1e8), (3, 1e8), (4, 1e8)]);
    before.list[0].weight = 4.0;
    let trial = Trial::new(1, (1..=4).map(touched).collect(), &before, &[1.2, 0.95, 0.95, 0.95], 3, 0.0);
    let after = running(&[(1, 1.1e8), (2, 0.95e8), (3, 0.95e8), (4, 0.95e8)]);
    let verdict = trial.judge(&after, 3).unwrap();
    assert!((verdict.measured - 4.0 * ln(1.1) - 3.0 * ln(0.95)).abs() < 1e-9 && !verdict.harmed(0.05));
    assert!((verdict.shortfall() - 4.0 * ln(1.2 / 1.1) / 7.0).abs() < 1e-9);
}

/// Program 2 loses a fifth, which is 0.22 as a logarithm, for a gain that would not make up for it.
/// That is accepted if its owner lets it lose a quarter, and not if its owner lets it lose a tenth.
#[test]
fn a_program_may_lose_what_its_owner_says() {
    let touched = |pid| Touched { pid: Pid(pid), carried: Vec::new(), pages: None };
    let judged = |most: Option<f64>| {
        let mut before = running(&[(1, 1e8), (2, 1e8)]);
        before.list[1].most = most;
        let trial = Trial::new(1, vec![touched(1), touched(2)], &before, &[1.3, 0.8], 3, 0.0);
        trial.judge(&running(&[(1, 1.3e8), (2, 0.8e8)]), 3).unwrap().harmed(0.05)
    };
    assert_eq!([None, Some(0.25), Some(0.1), Some(0.0)].map(judged), [true, false, true, true]);
}

#[test]
fn what_brings_more_than_was_predicted_falls_short_by_nothing() {
    let of = |measured| Verdict { predicted: 0.3, measured, moved: 2.0, ..Verdict::default() }.shortfall();
    assert!((of(0.1) - 0.1).abs() < 1e-12 && of(0.9) == 0.0);
}

/// A gain is clear beyond four errors, if it is half of what was promised and no program lost.
#[test]
fn what_is_clear_needs_no_whole_window() {
    let gained = Verdict { predicted: 0.5, measured: 0.4, error: 0.05, ..Verdict::default() };
    assert!(gained.is_clear(0.05));
    assert!(!Verdict { error: 0.11, ..gained.clone() }.is_clear(0.05));
    assert!(!Verdict { predicted: 0.9, ..gained.clone() }.is_clear(0.05));
    assert!(!Verdict { worst: 0.06, ..gained.clone() }.is_clear(0.05));
    assert!(!Verdict { jumped: true, ..gained }.is_clear(0.05));
}

/// All gain 10 %. What one loses ends the trial if it is more than twice what it may lose, or if it
/// is protected. If others came or went, it does so only if the gain is not what was promised or
/// the program is protected.
#[test]
fn a_loss_of_one_ends_a_trial_by_who_it_is() {
    let gained = Verdict { predicted: 0.1, measured: 0.1, error: 0.01, all: 0.09, ..Verdict::default() };
    let lost = |worst, broken, disturbed| Verdict { worst, broken, disturbed, ..gained.clone() }.harmed(0.05);
    assert!(!lost(0.09, false, false) && lost(0.11, false, false) && !lost(0.11, false, true));
    assert!(lost(0.01, true, false) && lost(0.01, true, true));
    assert!(Verdict { measured: -0.02, ..gained.clone() }.harmed(0.05));
    assert!(!Verdict { measured: -0.005, ..gained }.harmed(0.05), "within its error");
}
