//! Sensitive programs that share a partition, the estimated effect on their slowdowns, and the
//! choice of partitions to merge if there are too many.
//!
//! **Least harm.** While there are more partitions than allowed, merge the two that add least to
//! the summed slowdown; ties go to the first ones. No program gets a third companion while others
//! can still be paired: more than two programs share only if the even share of programs per
//! partition is above two.

use super::super::lookahead::value;
use crate::share::{shares, shares_of_two};
use isobar_model::CacheClass;
use isobar_model::profile::at;

/// The data that LFOC+ has on a program.
#[derive(Clone, Copy, Debug)]
pub struct App<'a> {
    /// Its class.
    pub class: CacheClass,
    /// Slowdown alone with 1, 2, ... ways; the last value stands for all larger way counts.
    /// Required for sensitive programs only: for others it may be empty (read as 1).
    pub slowdown: &'a [f64],
    /// LLC misses per 1000 cycles alone with 1, 2, ... ways, like `slowdown` (empty is read as 0).
    pub llcmpkc: &'a [f64],
}

/// Curves of a sensitive program, never empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curves<'a> {
    pub slowdown: &'a [f64],
    pub llcmpkc: &'a [f64],
}

impl<'a> Curves<'a> {
    pub fn of(app: &App<'a>) -> Self {
        let slowdown = if app.slowdown.is_empty() { &[1.0][..] } else { app.slowdown };
        let llcmpkc = if app.llcmpkc.is_empty() { &[0.0][..] } else { app.llcmpkc };
        Self { slowdown, llcmpkc }
    }
}

/// Estimated slowdowns of several programs, taken together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Harm {
    pub sum: f64,
    pub greatest: f64,
    pub least: f64,
}

impl Harm {
    pub const NONE: Self = Self { sum: 0.0, greatest: f64::NEG_INFINITY, least: f64::INFINITY };

    fn one(slowdown: f64) -> Self {
        Self { sum: slowdown, greatest: slowdown, least: slowdown }
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            greatest: self.greatest.max(other.greatest),
            least: self.least.min(other.least),
        }
    }
}

/// Programs that share one partition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    /// Positions in the curves, ascending. Empty if the unit was merged into another one.
    pub members: Vec<usize>,
    pub ways: usize,
    pub harm: Harm,
}

impl Unit {
    pub fn new(members: Vec<usize>, ways: usize, curves: &[Curves<'_>]) -> Self {
        let harm = harm(&members, ways, curves);
        Self { members, ways, harm }
    }

    pub fn alone(&self) -> bool {
        self.members.len() == 1
    }

    /// Adds another unit's programs; the unit then has `ways` ways.
    pub fn absorb(&mut self, other: Self, ways: usize, curves: &[Curves<'_>]) {
        self.members.extend(other.members);
        self.members.sort_unstable();
        self.resize(ways, curves);
    }

    pub fn resize(&mut self, ways: usize, curves: &[Curves<'_>]) {
        self.ways = ways;
        self.harm = harm(&self.members, ways, curves);
    }
}

/// The estimated slowdowns of programs that share `ways` ways.
pub(super) fn harm(members: &[usize], ways: usize, curves: &[Curves<'_>]) -> Harm {
    match *members {
        [one] => Harm::one(value(curves[one].slowdown, ways)),
        [one, two] => together(&curves[one], &curves[two], ways),
        _ => {
            let misses: Vec<&[f64]> = members.iter().map(|member| curves[*member].llcmpkc).collect();
            let shares = shares(&misses, ways).pop().unwrap_or_default();
            let each = members.iter().zip(shares).map(|(member, share)| at(curves[*member].slowdown, share));
            each.fold(Harm::NONE, |harm, slowdown| harm.and(Harm::one(slowdown)))
        }
    }
}

/// The same for two programs.
pub(super) fn together(one: &Curves<'_>, two: &Curves<'_>, ways: usize) -> Harm {
    let [of_one, of_two] = shares_of_two([one.llcmpkc, two.llcmpkc], ways);
    Harm::one(at(one.slowdown, of_one)).and(Harm::one(at(two.slowdown, of_two)))
}

/// Merges units until at most `most` are left (see the top of the file). `ways` returns the number
/// of ways that two partitions have after a merge.
pub(super) fn reduce(units: &mut Vec<Unit>, most: usize, curves: &[Curves<'_>], ways: impl Fn(&Unit, &Unit) -> usize) {
    let most = most.max(1);
    if units.len() <= most {
        return;
    }
    let size = curves.len().div_ceil(most).max(2);
    let small = |a: &Unit, b: &Unit| a.members.len() + b.members.len() <= size;
    let cost = |a: &Unit, b: &Unit| joined(a, b, ways(a, b), curves);
    let mut costs = Costs::of(units, |a, b| small(a, b).then(|| cost(a, b)));
    while units.len() > most {
        let found = costs.least().or_else(|| Costs::of(units, |a, b| Some(cost(a, b))).least());
        let Some((a, b)) = found else { return };
        let gone = units.remove(b);
        let joined_ways = ways(&units[a], &gone);
        units[a].absorb(gone, joined_ways, curves);
        costs.merged(a, b, units, |a, b| small(a, b).then(|| cost(a, b)));
    }
}

/// The growth of the summed slowdown if two units share `ways` ways.
fn joined(a: &Unit, b: &Unit, ways: usize, curves: &[Curves<'_>]) -> f64 {
    let sum = match (a.members.as_slice(), b.members.as_slice()) {
        (&[one], &[two]) => together(&curves[one], &curves[two], ways).sum,
        (some, others) => harm(&[some, others].concat(), ways, curves).sum,
    };
    sum - a.harm.sum - b.harm.sum
}

/// The cost of merging each pair of units, `costs[b][a]` with a < b; infinite if they must not be
/// merged.
struct Costs(Vec<Vec<f64>>);

impl Costs {
    fn of(units: &[Unit], cost: impl Fn(&Unit, &Unit) -> Option<f64>) -> Self {
        let row = |b: usize| units[..b].iter().map(|a| cost(a, &units[b]).unwrap_or(f64::INFINITY)).collect();
        Self((0..units.len()).map(row).collect())
    }

    /// The cheapest pair; among equals the first.
    fn least(&self) -> Option<(usize, usize)> {
        let mut best = (f64::INFINITY, None);
        for (b, row) in self.0.iter().enumerate() {
            for (a, cost) in row.iter().enumerate() {
                if *cost < best.0 {
                    best = (*cost, Some((a, b)));
                }
            }
        }
        best.1
    }

    /// Updates the costs after unit `gone` was merged into `kept`; `units` are the remaining units.
    fn merged(&mut self, kept: usize, gone: usize, units: &[Unit], cost: impl Fn(&Unit, &Unit) -> Option<f64>) {
        self.0.remove(gone);
        for row in self.0.iter_mut().skip(gone) {
            row.remove(gone);
        }
        for other in (0..units.len()).filter(|other| *other != kept) {
            let (a, b) = (kept.min(other), kept.max(other));
            self.0[b][a] = cost(&units[a], &units[b]).unwrap_or(f64::INFINITY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARP: Curves<'static> = Curves { slowdown: &[3.0, 2.0, 1.0], llcmpkc: &[10.0, 10.0, 10.0] };
    const FLAT: Curves<'static> = Curves { slowdown: &[1.2, 1.1, 1.0], llcmpkc: &[10.0, 10.0, 10.0] };

    #[test]
    fn two_share_by_their_misses() {
        // Equal rates: each gets half of 2 ways, so one way each.
        assert_eq!(together(&SHARP, &FLAT, 2), Harm { sum: 4.2, greatest: 3.0, least: 1.2 });
        // Three programs in 3 ways: one way each, too.
        assert_eq!(harm(&[0, 1, 2], 3, &[SHARP, FLAT, FLAT]).greatest, 3.0);
    }

    #[test]
    fn the_least_harmful_are_merged_first_and_nobody_gets_a_third_companion_early() {
        let curves = [FLAT, SHARP, FLAT, FLAT, SHARP];
        let mut units: Vec<Unit> = (0..5).map(|program| Unit::new(vec![program], 1, &curves)).collect();
        reduce(&mut units, 3, &curves, |_, _| 1);
        let members: Vec<_> = units.iter().map(|unit| unit.members.clone()).collect();
        // Half a way costs a flat program 0.05 and a sharp one 0.5. First, two flat programs share.
        // The third flat program would cost less with these two than with a sharp one, but three
        // partitions can hold five programs without that.
        assert_eq!(members[0], [0, 2]);
        assert_eq!(members.iter().map(Vec::len).max(), Some(2));
    }

    #[test]
    fn it_ends_where_even_shares_do_not_come_out() {
        let curves = [FLAT; 7];
        let mut units: Vec<Unit> = (0..7).map(|program| Unit::new(vec![program], 1, &curves)).collect();
        reduce(&mut units, 1, &curves, |a, b| a.ways + b.ways);
        assert_eq!((units.len(), units[0].members.len(), units[0].ways), (1, 7, 7));
    }
}
