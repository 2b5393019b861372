//! Hierarchical clustering of programs by their cost of sharing: the part that Whirlpool and KPart
//! have in common.
//!
//! ```text
//! combined(P)(s)      = sum over i in P of misses_i(share of i when P shares s ways)
//! partitioned(A,B)(s) = min over splits s = x + y of combined(A)(x) + combined(B)(y)
//! distance(A, B)      = sum over s of combined(A + B)(s) - partitioned(A, B)(s)   the area between
//! start: every program a pool; merge the two nearest until one is left; every stage is a level
//! ```
//!
//! Streaming programs lose nothing by sharing with each other, and neither do two programs that fit
//! together: their distance is 0. Shares come from the recursion of [`crate::share`]. Whirlpool's
//! appendix B and KPart combine curves in the same way: each program gets space in proportion to
//! its misses.

use crate::share::shares;
use isobar_model::profile;

/// Programs that share, and their joint curve.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pool {
    /// Positions in `curves`, ascending.
    pub members: Vec<usize>,
    /// Misses of all of them together at 1, 2, ... ways.
    pub misses: Vec<f64>,
}

/// The pools of every level: first each program alone, last all together. `curves[i][w - 1]` is the
/// misses of program `i` with `w` ways.
pub(super) fn levels(curves: &[&[f64]], ways: usize) -> Vec<Vec<Pool>> {
    let alone = |program| combine(vec![program], curves, ways);
    let mut pools: Vec<Pool> = (0..curves.len()).map(alone).collect();
    let mut pairs: Vec<Vec<Pair>> =
        (0..pools.len()).map(|b| (0..b).map(|a| Pair::of(&pools[a], &pools[b], curves, ways)).collect()).collect();
    let mut levels = vec![pools.clone()];
    while let Some((a, b)) = nearest(&pairs) {
        pools[a] = pairs[b][a].together.clone();
        pools.remove(b);
        forget(&mut pairs, b);
        measure(&mut pairs, a, &pools, curves, ways);
        levels.push(pools.clone());
    }
    levels
}

/// Slowdowns, or any other figure, of the members of a pool at every size from 1 way:
/// `result[k - 1][i]`.
pub(super) fn shared(members: &[usize], misses: &[&[f64]], figures: &[&[f64]], ways: usize) -> Vec<Vec<f64>> {
    let curves: Vec<&[f64]> = members.iter().map(|member| misses[*member]).collect();
    let read = |shares: &Vec<f64>| {
        members.iter().zip(shares).map(|(member, share)| profile::at(figures[*member], *share)).collect()
    };
    shares(&curves, ways).iter().map(read).collect()
}

/// Two pools as if merged.
#[derive(Clone, Debug)]
struct Pair {
    distance: f64,
    together: Pool,
}

impl Pair {
    fn of(a: &Pool, b: &Pool, curves: &[&[f64]], ways: usize) -> Self {
        let mut members = [a.members.as_slice(), &b.members].concat();
        members.sort_unstable();
        let together = combine(members, curves, ways);
        let lost = |ways: usize| together.misses[ways - 1] - partitioned(a, b, ways);
        Self { distance: (2..=ways).map(lost).sum(), together }
    }
}

fn combine(members: Vec<usize>, curves: &[&[f64]], ways: usize) -> Pool {
    let misses = shared(&members, curves, curves, ways).iter().map(|misses| misses.iter().sum()).collect();
    Pool { members, misses }
}

/// The fewest misses that two pools can have in `ways` ways, at least 2, if they do not share.
fn partitioned(a: &Pool, b: &Pool, ways: usize) -> f64 {
    (1..ways).map(|first| a.misses[first - 1] + b.misses[ways - first - 1]).fold(f64::INFINITY, f64::min)
}

/// The nearest two pools, and among equals the first; `pairs[b][a]` with a < b.
fn nearest(pairs: &[Vec<Pair>]) -> Option<(usize, usize)> {
    let all = (0..pairs.len()).flat_map(|a| (a + 1..pairs.len()).map(move |b| (a, b)));
    all.min_by(|(a, b), (c, d)| pairs[*b][*a].distance.total_cmp(&pairs[*d][*c].distance))
}

/// Drops everything about pool `gone`.
fn forget(pairs: &mut Vec<Vec<Pair>>, gone: usize) {
    pairs.remove(gone);
    pairs.iter_mut().skip(gone).for_each(|with| drop(with.remove(gone)));
}

/// Measures the distance of pool `new` to all others.
fn measure(pairs: &mut [Vec<Pair>], new: usize, pools: &[Pool], curves: &[&[f64]], ways: usize) {
    for other in (0..pools.len()).filter(|other| *other != new) {
        let (a, b) = (new.min(other), new.max(other));
        pairs[b][a] = Pair::of(&pools[a], &pools[b], curves, ways);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[f64] = &[20.0, 20.0, 20.0, 20.0];
    const CLIFF: &[f64] = &[30.0, 30.0, 2.0, 2.0];

    #[test]
    fn two_that_stream_lose_nothing_and_merge_first() {
        let levels = levels(&[STREAM, CLIFF, STREAM], 4);
        let members = |level: usize| levels[level].iter().map(|pool| pool.members.clone()).collect::<Vec<_>>();
        assert_eq!(members(0), [vec![0], vec![1], vec![2]]);
        assert_eq!(members(1), [vec![0, 2], vec![1]]);
        assert_eq!(members(2), [vec![0, 1, 2]]);
        assert_eq!(levels[1][0].misses, [40.0; 4]);
    }

    #[test]
    fn distance_by_hand() {
        // Rates 20 and 10 share 2 ways as 4/3 and 2/3. Alone, any split of 2 ways has 20 + 10
        // misses. Shared: 20 + (10 at 2/3 way). The second falls by 5 per way, so it has 15 at none
        // and 10 at one: 10 + 5/3 at 2/3. Distance 5/3, up to 2 ways.
        let curves: [&[f64]; 2] = [&[20.0, 20.0], &[10.0, 5.0]];
        let [a, b] = [0, 1].map(|program| combine(vec![program], &curves, 2));
        // Second step: index 2/3 of a reads 20, index 1/3 of b reads 10 - 5/3; share of a = 2/3 +
        // 20 / (20 + 25/3).
        let a_share = 2.0 / 3.0 + 20.0 / (20.0 + 25.0 / 3.0);
        let expected = 5.0 * (1.0 - (2.0 - a_share));
        assert!((Pair::of(&a, &b, &curves, 2).distance - expected).abs() < 1e-12);
    }

    #[test]
    fn one_way_has_nothing_to_split_and_still_ends() {
        let levels = levels(&[&[3.0], &[1.0], &[2.0]], 1);
        assert_eq!(levels.len(), 3);
        assert_eq!(levels[1][0].members, [0, 1], "all distances are 0: the first two");
    }
}
