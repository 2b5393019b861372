use super::*;

fn stand(begun: usize, longest: Option<u64>, stored: Option<u64>) -> Stand {
    let seconds = |seconds: Option<u64>| seconds.map(Duration::from_secs);
    Stand { begun, longest: seconds(longest), longest_stored: seconds(stored), ..Stand::default() }
}

#[test]
fn the_first_boot_of_an_experiment_is_as_long_as_the_longest_of_others() {
    let stands =
        [stand(1, Some(70), Some(300)), stand(1, Some(90), None), stand(0, None, None), stand(0, None, Some(5))];
    let one = |at: usize| expected(&stands, at..at + 1, 1).map(|took| took.as_secs());
    assert_eq!([one(0), one(1), one(2), one(3)], [Some(70), Some(90), Some(90), Some(5)]);
    let stored = [stand(0, None, None), stand(2, None, Some(40))];
    assert_eq!(expected(&stored, 0..1, 1), Some(Duration::from_secs(40)));
    assert_eq!(expected(&[stand(1, None, None)], 0..1, 1), None, "what the first of all takes is not known");
}

#[test]
fn a_pair_takes_both_boots_one_after_another_or_side_by_side() {
    let stands = [stand(1, Some(70), None), stand(1, Some(90), None)];
    assert_eq!(expected(&stands, 0..2, 1), Some(Duration::from_secs(160)));
    assert_eq!(expected(&stands, 0..2, 2), Some(Duration::from_secs(90)));
}

/// Two experiments, each of them under two kernels.
#[test]
fn partners_follow_each_other() {
    let mut stands = [stand(0, None, None), stand(0, None, None), stand(0, None, None), stand(0, None, None)];
    let mut turn = |turns: BootOrder| {
        let at = turns.next(&stands).unwrap();
        stands[at].begun += 1;
        at
    };
    let got: Vec<usize> = (0..6).map(|_| turn(BootOrder::Pairs)).collect();
    assert_eq!(got, [0, 1, 2, 3, 0, 1]);
    assert_eq!((0..3).map(|_| turn(BootOrder::Whole)).collect::<Vec<_>>(), [0, 0, 0]);
    assert_eq!([0, 1, 2, 3].map(|at| BootOrder::Pairs.group(at, 4)), [0..2, 0..2, 2..4, 2..4]);
    assert_eq!(BootOrder::Each.group(3, 4), 3..4);
}
