//! Pair clustering: line 18 of algorithm 1, which the paper only names (design, section 8).
//!
//! ```text
//! every sensitive program gets a partition
//! repeat, from the most slowed-down program down:
//!     share:  it and another single program share both partitions, joined
//!     gain:   two single programs with the fewest ways share one partition, and it takes the other
//!     take what lowers the summed slowdown most; where nothing does, the next program; where nobody finds anything, stop
//! of all solutions met, the one with the least unfairness
//! ```
//!
//! *Properties.* At most two share; a program is merged once; every move lowers the summed slowdown, and merges, so that it ends.
//!
//! *Readings.* (1) The walk starts twice. Lookahead on slowdown curves minimises the sum of slowdowns, and may leave the worst-off
//! program where it is, where no pair helps it: soplex, cactusADM and twice sphinx3 get 5, 3, 2 and 1 of 11 ways. The fair start gives the
//! most slowed-down program the fewest ways that help it, as long as there are such, and what is left by lookahead: 5, 2, 2 and 2.
//! (2) Unfairness is that of the workload: where streaming or light-sharing programs run beside, whose slowdown is about 1 by their
//! class, the least slowdown is at most 1. Ties: the smaller sum, then the first met. (3) More programs than partitions: see `units`.

use super::super::lookahead::{extend, lookahead, value};
use super::units::{Curves, Harm, Unit, harm, reduce, together};
use isobar_model::num;
use std::borrow::Cow;

/// What sensitive programs may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub ways: usize,
    /// The fewest ways of a partition; at most `ways`.
    pub least: usize,
    /// Clusters; at least 1.
    pub clusters: usize,
    /// Whether programs of other classes run beside.
    pub others: bool,
}

/// How sensitive programs, at least one, are split into clusters.
pub(super) type Split = fn(&[Curves<'_>], Limits) -> Vec<Unit>;

/// A partition each, by lookahead on slowdown curves (LFOC).
pub(super) fn apart(curves: &[Curves<'_>], limits: Limits) -> Vec<Unit> {
    let crowd = crowd(curves, limits);
    let mut units = sized(&crowd, &lookahead(&unit_curves(&crowd, curves, limits), limits.ways, limits.least), curves);
    reduce(&mut units, limits.clusters, curves, |a, b| a.ways + b.ways);
    units
}

/// Pair clustering (LFOC+).
pub(super) fn in_pairs(curves: &[Curves<'_>], limits: Limits) -> Vec<Unit> {
    let crowd = crowd(curves, limits);
    let by_unit = unit_curves(&crowd, curves, limits);
    let mut starts = vec![lookahead(&by_unit, limits.ways, limits.least), fair(&by_unit, &crowd, limits)];
    starts.dedup();
    let mut best = None;
    starts.iter().for_each(|given| walk(sized(&crowd, given, curves), curves, limits, &mut best));
    let mut units = best.map(|(_, units)| units).unwrap_or_default();
    units.retain(|unit| !unit.members.is_empty());
    reduce(&mut units, limits.clusters, curves, |a, b| a.ways + b.ways);
    units
}

/// As many units as there are partitions of the least size: each program alone, where ways suffice.
fn crowd(curves: &[Curves<'_>], limits: Limits) -> Vec<Unit> {
    let alone = |program| Unit::new(vec![program], limits.least, curves);
    let mut units: Vec<Unit> = (0..curves.len()).map(alone).collect();
    reduce(&mut units, limits.ways / limits.least, curves, |_, _| limits.least);
    units
}

/// Summed slowdowns of every unit at 1, 2, ... ways.
fn unit_curves<'a>(units: &[Unit], curves: &[Curves<'a>], limits: Limits) -> Vec<Cow<'a, [f64]>> {
    let curve = |unit: &Unit| match *unit.members {
        [one] => Cow::Borrowed(curves[one].slowdown),
        _ => Cow::Owned((1..=limits.ways).map(|ways| harm(&unit.members, ways, curves).sum).collect()),
    };
    units.iter().map(curve).collect()
}

fn sized(units: &[Unit], given: &[usize], curves: &[Curves<'_>]) -> Vec<Unit> {
    units.iter().zip(given).map(|(unit, ways)| Unit::new(unit.members.clone(), *ways, curves)).collect()
}

/// The fair start: ways go to the most slowed-down unit, by the mean of its programs, as few at a time as help it.
fn fair(by_unit: &[Cow<'_, [f64]>], units: &[Unit], limits: Limits) -> Vec<usize> {
    let mut given = vec![limits.least; units.len()];
    let mut left = limits.ways.saturating_sub(limits.least * units.len());
    let sizes: Vec<f64> = units.iter().map(|unit| num::float_len(unit.members.len())).collect();
    loop {
        let slowdown = |unit: usize| value(&by_unit[unit], given[unit]) / sizes[unit];
        let worst = (0..units.len()).reduce(|a, b| if slowdown(b) > slowdown(a) { b } else { a });
        let Some(worst) = worst else { break };
        let (has, now) = (given[worst], value(&by_unit[worst], given[worst]));
        let Some(more) = (1..=left).find(|more| value(&by_unit[worst], has + more) < now) else { break };
        given[worst] += more;
        left -= more;
    }
    extend(by_unit, &mut given, limits.ways);
    given
}

/// A solution's figure of merit: unfairness, then summed slowdown.
type Merit = (f64, f64);

fn merit(units: &[Unit], others: bool) -> Merit {
    let all = units.iter().fold(Harm::NONE, |harm, unit| harm.and(unit.harm));
    let least = if others { all.least.min(1.0) } else { all.least };
    (all.greatest / least, all.sum)
}

/// What the most slowed-down program may do; programs are units by position.
#[derive(Clone, Copy, Debug)]
enum Move {
    Share { with: usize },
    Gain { into: usize, from: usize },
}

fn walk(units: Vec<Unit>, curves: &[Curves<'_>], limits: Limits, best: &mut Option<(Merit, Vec<Unit>)>) {
    let mut walk = Walk { joined: vec![None; units.len() * units.len()], units, curves, least: limits.least };
    loop {
        let found = merit(&walk.units, limits.others);
        if best.as_ref().is_none_or(|(merit, _)| found < *merit) {
            *best = Some((found, walk.units.clone()));
        }
        let Some((who, next)) = walk.next() else { return };
        walk.apply(who, next);
    }
}

struct Walk<'a> {
    units: Vec<Unit>,
    curves: &'a [Curves<'a>],
    least: usize,
    /// How much the summed slowdown grows where two single units join, where it is known; neither has changed since.
    joined: Vec<Option<f64>>,
}

impl Walk<'_> {
    /// The best move of the first program, from the most slowed-down one, that has any.
    fn next(&mut self) -> Option<(usize, Move)> {
        let mut order: Vec<usize> =
            (0..self.units.len()).filter(|unit| !self.units[*unit].members.is_empty()).collect();
        order.sort_by(|a, b| self.units[*b].harm.greatest.total_cmp(&self.units[*a].harm.greatest));
        let tight = self.tight();
        order.into_iter().find_map(|who| self.best_of(who, &tight).map(|next| (who, next)))
    }

    /// Pairs of single units with the fewest ways, and what it costs that they share one partition.
    fn tight(&self) -> Vec<(f64, usize, usize)> {
        let fewest = |unit: &usize| self.units[*unit].alone() && self.units[*unit].ways == self.least;
        let single: Vec<usize> = (0..self.units.len()).filter(fewest).collect();
        let pair = |into: usize, from: usize| {
            let (a, b) = (&self.units[into], &self.units[from]);
            let sum = together(&self.curves[a.members[0]], &self.curves[b.members[0]], self.least).sum;
            (sum - a.harm.sum - b.harm.sum, into, from)
        };
        let after = |index: usize| single[index + 1..].iter().map(move |from| (index, *from));
        (0..single.len()).flat_map(after).map(|(index, from)| pair(single[index], from)).collect()
    }

    fn best_of(&mut self, who: usize, tight: &[(f64, usize, usize)]) -> Option<Move> {
        let mut best: Option<(f64, Move)> = None;
        let mut consider = |change: f64, next: Move| {
            if change < best.map_or(-f64::EPSILON, |(least, _)| least) {
                best = Some((change, next));
            }
        };
        if self.units[who].alone() {
            for with in (0..self.units.len()).filter(|with| *with != who) {
                if self.units[with].alone() {
                    consider(self.joined(who, with), Move::Share { with });
                }
            }
        }
        let elsewhere = tight.iter().filter(|(_, into, from)| *into != who && *from != who);
        if let Some((cost, into, from)) = elsewhere.min_by(|a, b| a.0.total_cmp(&b.0)) {
            let unit = &self.units[who];
            let gained = harm(&unit.members, unit.ways + self.least, self.curves).sum - unit.harm.sum;
            consider(gained + cost, Move::Gain { into: *into, from: *from });
        }
        best.map(|(_, next)| next)
    }

    fn joined(&mut self, a: usize, b: usize) -> f64 {
        let slot = a.min(b) * self.units.len() + a.max(b);
        let (first, second) = (&self.units[a.min(b)], &self.units[a.max(b)]);
        *self.joined[slot].get_or_insert_with(|| {
            let (one, two) = (&self.curves[first.members[0]], &self.curves[second.members[0]]);
            together(one, two, first.ways + second.ways).sum - first.harm.sum - second.harm.sum
        })
    }

    fn apply(&mut self, who: usize, next: Move) {
        match next {
            Move::Share { with } => self.merge(who, with, self.units[who].ways + self.units[with].ways),
            Move::Gain { into, from } => {
                self.merge(into, from, self.least);
                let ways = self.units[who].ways + self.least;
                self.units[who] = Unit::new(std::mem::take(&mut self.units[who].members), ways, self.curves);
                let count = self.units.len();
                (0..count).for_each(|other| self.joined[who.min(other) * count + who.max(other)] = None);
            }
        }
    }

    /// The second unit goes into the first.
    fn merge(&mut self, into: usize, from: usize, ways: usize) {
        let gone = std::mem::replace(&mut self.units[from], Unit { members: Vec::new(), ways: 0, harm: Harm::NONE });
        let mut members = std::mem::take(&mut self.units[into].members);
        members.extend(gone.members);
        members.sort_unstable();
        self.units[into] = Unit::new(members, ways, self.curves);
    }
}
