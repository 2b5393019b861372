//! The lookahead algorithm of utility-based cache partitioning (M. Qureshi, Y. Patt: *Utility-Based
//! Cache Partitioning*, MICRO 2006, algorithm 2), for any curves to be minimised: misses,
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
//! Looking k ways ahead finds the gain behind a plateau, which a greedy step of one way misses.
//!
//! *Properties.* The ways given add up to the available ways. Every round gives at least one way,
//! so the loop ends on any curve.
//!
//! *Departures from the paper.* (1) Ties go to the first program, then to the fewest ways (the
//! paper does not specify this). (2) If every utility is negative (measured curves may rise with
//! more ways), the least harmful is taken: the ways have to go to some partition, and an unused way
//! helps no other program. (3) A curve counts as flat beyond its end.

/// The number of ways that each curve gets: `curves[i][w - 1]` is its value with `w` ways. Each
/// curve gets at least `least` ways, even if `ways` is too small for that. An empty curve counts as
/// flat.
#[must_use]
pub fn lookahead<C: AsRef<[f64]>>(curves: &[C], ways: usize, least: usize) -> Vec<usize> {
    let mut given = vec![least; curves.len()];
    extend(curves, &mut given, ways);
    given
}

/// Continues from the ways that are already given (at least one each).
pub fn extend<C: AsRef<[f64]>>(curves: &[C], given: &mut [usize], ways: usize) {
    let mut left = ways.saturating_sub(given.iter().sum());
    while left > 0 {
        let Some((program, more)) = most_useful(curves, given, left) else { return };
        given[program] += more;
        left -= more;
    }
}

/// A curve's value with `ways` ways, at least 1; the last value beyond its end, 0 if it is empty.
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
        // The gain behind a plateau is found: b gains 1 per way; a gains nothing for 2 ways and 9
        // for the third, and 9 / 3 = 3 per way is more.
        let (a, b) = ([10.0, 10.0, 10.0, 1.0], [5.0, 4.0, 3.0, 2.0]);
        assert_eq!(lookahead(&[a, b], 5, 1), [4, 1]);
        // With 4 ways the cliff is out of reach, so b gets both remaining ways.
        assert_eq!(lookahead(&[a, b], 4, 1), [1, 3]);
        // A curve that rises gets ways only if all curves rise.
        assert_eq!(lookahead(&[[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]], 4, 1), [1, 3]);
        // Per way, a loses 1 with one way and 1 with two, and b loses 2: the first of the least
        // harmful is taken.
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
