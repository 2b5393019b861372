//! The lookahead algorithm of utility-based cache partitioning (M. Qureshi, Y. Patt: *Utility-Based
//! Cache Partitioning*, MICRO 2006, algorithm 2), over any curves that are to become small: misses,
//! slowdowns, lost performance.
//!
//! ```text
//! every program starts with its least number of ways
//! while ways are left:
//!     for each program i, each k up to the ways left:
//!         utility(i, k) = (curve_i(a_i) - curve_i(a_i + k)) / k
//!     a_i += k for the greatest utility
//! ```
//!
//! Looking k ways ahead finds the gain behind a plateau, which a greedy step of one way does not.
//!
//! *Properties.* The ways given add up to the ways there are. Every round gives at least one way,
//! so that it ends on any curve.
//!
//! *Departures from the paper.* (1) Ties go to the first program, then to the fewest ways (the
//! paper says nothing). (2) Where every utility is negative (measured curves may rise with more
//! ways), the least harmful is taken: a partition has to go somewhere, and an unused way
//! helps no other program. (3) A curve counts as flat beyond its end.

/// How many ways each curve gets: `curves[i][w - 1]` is its value with `w` ways; `least` ways are
/// given to each, even where `ways` do not suffice. An empty curve counts as flat.
#[must_use]
pub fn lookahead<C: AsRef<[f64]>>(curves: &[C], ways: usize, least: usize) -> Vec<usize> {
    let mut given = vec![least; curves.len()];
    extend(curves, &mut given, ways);
    given
}

/// The same, from what is already given (at least one way each).
pub fn extend<C: AsRef<[f64]>>(curves: &[C], given: &mut [usize], ways: usize) {
    let mut left = ways.saturating_sub(given.iter().sum());
    while left > 0 {
        let Some((program, more)) = most_useful(curves, given, left) else { return };
        given[program] += more;
        left -= more;
    }
}

/// A curve's value with `ways` ways, at least 1; the last value beyond its end, 0 where it is
/// empty.
pub(super) fn value(curve: &[f64], ways: usize) -> f64 {
    curve.get(ways.saturating_sub(1)).or(curve.last()).copied().unwrap_or_default()
}

fn most_useful<C: AsRef<[f64]>>(curves: &[C], given: &[usize], left: usize) -> Option<(usize, usize)> {
    let mut best: Option<(f64, usize, usize)> = None;
    for (program, (curve, &has)) in curves.iter().zip(given).enumerate() {
        let now = value(curve.as_ref(), has);
        let mut ways = 0.0;
        for more in 1..=left {
            ways += 1.0;
            let utility = (now - value(curve.as_ref(), has + more)) / ways;
            if best.is_none_or(|(greatest, ..)| utility > greatest) {
                best = Some((utility, program, more));
            }
        }
    }
    best.map(|(_, program, more)| (program, more))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ways_go_where_they_help_most_by_hand() {
        // The gain behind a plateau is seen: b gains 1 a way; a gains nothing for 2 ways and 9 for
        // the third: 9 / 3 = 3 a way is more.
        let (a, b) = ([10.0, 10.0, 10.0, 1.0], [5.0, 4.0, 3.0, 2.0]);
        assert_eq!(lookahead(&[a, b], 5, 1), [4, 1]);
        // With 4 ways the cliff is out of reach: b gets both that are left.
        assert_eq!(lookahead(&[a, b], 4, 1), [1, 3]);
        // A curve that rises gets ways only where all do.
        assert_eq!(lookahead(&[[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]], 4, 1), [1, 3]);
        // Per way: a loses 1 with one and 1 with two, b 2: the first that is least harmful.
        assert_eq!(lookahead(&[[1.0, 2.0, 3.0], [1.0, 3.0, 5.0]], 4, 1), [3, 1]);
        assert!(lookahead::<[f64; 0]>(&[], 4, 1).is_empty());
        assert_eq!(lookahead(&[&[][..], &[2.0, 1.0]], 6, 1), [4, 2], "one way for 1, then no program gains");
    }

    proptest! {
        #[test]
        fn all_ways_are_given(
            curves in prop::collection::vec(prop::collection::vec(0.0..10.0_f64, 0..12), 1..8),
            ways in 8_usize..24,
        ) {
            let given = lookahead(&curves, ways, 1);
            prop_assert_eq!(given.iter().sum::<usize>(), ways);
            prop_assert!(given.iter().all(|ways| *ways >= 1));
        }
    }
}
