//! Pair clustering: line 18 of algorithm 1, which the paper names but does not describe.
//!
//! ```text
//! every sensitive program gets a partition
//! repeat, from the most slowed-down program down:
//!     share:  it and another single program share both partitions, joined
//!     gain:   two single programs with the fewest ways share one partition, and it takes the other
//!     take what lowers the summed slowdown most; where nothing does, the next program; where
//!     nothing does for any program, stop
//! of all solutions met, the one with the least unfairness
//! ```
//!
//! *Properties.* At most two programs share. A program is merged at most once. Every move lowers
//! the summed slowdown and merges two programs, so the loop ends.
//!
//! *Readings.* (1) The walk starts twice. Lookahead on slowdown curves minimises the sum of
//! slowdowns, and may leave the worst-off program unimproved if no pair helps it: soplex, cactusADM
//! and twice sphinx3 get 5, 3, 2 and 1 of 11 ways. The fair start gives the most slowed-down
//! program the fewest ways that help it, as long as some do, and distributes the remaining ways by
//! lookahead: 5, 2, 2 and 2. (2) Unfairness is that of the whole workload: if streaming or
//! light-sharing programs also run, whose slowdown is about 1 by their class, the least slowdown is
//! at most 1. Ties: the smaller sum, then the first solution met. (3) More programs than
//! partitions: see `units`.

use super::super::lookahead::{extend, lookahead, value};
use super::units::{Curves, Harm, Unit, harm, reduce, together};
use isobar_model::num;
use std::borrow::Cow;

/// The resources that sensitive programs may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub ways: usize,
    /// Minimum number of ways of a partition; at most `ways`.
    pub least: usize,
    /// Maximum number of clusters; at least 1.
    pub clusters: usize,
    /// Whether programs of other classes also run.
    pub others: bool,
}

/// How sensitive programs, at least one, are split into clusters.
pub(super) type Split = fn(&[Curves<'_>], Limits) -> Vec<Unit>;

/// One partition per program, by lookahead on slowdown curves (LFOC).
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

/// The initial units, at most one per partition of the least size: each program alone, if there are
/// enough ways.
fn crowd(curves: &[Curves<'_>], limits: Limits) -> Vec<Unit> {
    let alone = |program| Unit::new(vec![program], limits.least, curves);
    let mut units: Vec<Unit> = (0..curves.len()).map(alone).collect();
    reduce(&mut units, limits.ways / limits.least, curves, |_, _| limits.least);
    units
}

/// Summed slowdowns of every unit at 1, 2, ... ways, up to the most that one unit can have beside
/// the others.
fn unit_curves<'a>(units: &[Unit], curves: &[Curves<'a>], limits: Limits) -> Vec<Cow<'a, [f64]>> {
    let most = (limits.ways + limits.least).saturating_sub(limits.least * units.len());
    let curve = |unit: &Unit| match *unit.members {
        [one] => Cow::Borrowed(curves[one].slowdown),
        _ => Cow::Owned((1..=most).map(|ways| harm(&unit.members, ways, curves).sum).collect()),
    };
    units.iter().map(curve).collect()
}

fn sized(units: &[Unit], given: &[usize], curves: &[Curves<'_>]) -> Vec<Unit> {
    units.iter().zip(given).map(|(unit, ways)| Unit::new(unit.members.clone(), *ways, curves)).collect()
}

/// The fair start: ways go to the most slowed-down unit (by the mean of its programs), each time as
/// few ways as help it.
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

/// A smaller change of the summed slowdown is a rounding error.
const LEAST_CHANGE: f64 = 1e-12;

/// A solution's figure of merit: unfairness, then summed slowdown.
type Merit = (f64, f64);

fn merit(units: &[Unit], others: bool) -> Merit {
    let all = units.iter().fold(Harm::NONE, |harm, unit| harm.and(unit.harm));
    let least = if others { all.least.min(1.0) } else { all.least };
    (all.greatest / least, all.sum)
}

/// A move for the most slowed-down program; programs are identified by the position of their unit.
#[derive(Clone, Copy, Debug)]
enum Move {
    Share { with: usize },
    Gain { into: usize, from: usize },
}

fn walk(units: Vec<Unit>, curves: &[Curves<'_>], limits: Limits, best: &mut Option<(Merit, Vec<Unit>)>) {
    let mut walk = Walk::new(units, curves, limits.least);
    loop {
        let found = merit(&walk.units, limits.others);
        if best.as_ref().is_none_or(|(merit, _)| found < *merit) {
            *best = Some((found, walk.units.clone()));
        }
        let Some((who, next)) = walk.next() else { return };
        walk.apply(who, next);
    }
}

/// Two units, the first below the second, with the growth of the summed slowdown if they share.
type Joint = (f64, usize, usize);

struct Walk<'a> {
    /// The units. A unit that was merged into another one stays, empty.
    units: Vec<Unit>,
    curves: &'a [Curves<'a>],
    least: usize,
    /// For single units that join their partitions, the growth of the summed slowdown, as far as it
    /// is known and neither unit has changed since. By `first * units + second`.
    joined: Vec<Option<f64>>,
    /// Pairs of single units with the fewest ways that could share one such partition, cheapest
    /// first.
    tight: Vec<Joint>,
}

impl<'a> Walk<'a> {
    fn new(units: Vec<Unit>, curves: &'a [Curves<'a>], least: usize) -> Self {
        let mut walk = Self { joined: vec![None; units.len() * units.len()], units, curves, least, tight: Vec::new() };
        let fewest: Vec<usize> = (0..walk.units.len()).filter(|unit| walk.is_tight(*unit)).collect();
        let joint = |first: usize, second: usize| (walk.cost(first, second, least), first, second);
        let below = |second: usize| fewest.iter().take_while(move |first| **first < second);
        let mut tight: Vec<Joint> =
            fewest.iter().flat_map(|second| below(*second).map(|first| joint(*first, *second))).collect();
        tight.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        walk.tight = tight;
        walk
    }

    fn is_tight(&self, unit: usize) -> bool {
        self.units[unit].alone() && self.units[unit].ways == self.least
    }

    fn cost(&self, first: usize, second: usize, ways: usize) -> f64 {
        let (a, b) = (&self.units[first], &self.units[second]);
        together(&self.curves[a.members[0]], &self.curves[b.members[0]], ways).sum - a.harm.sum - b.harm.sum
    }

    /// The best move of the most slowed-down program that has a move.
    fn next(&mut self) -> Option<(usize, Move)> {
        let mut order: Vec<usize> =
            (0..self.units.len()).filter(|unit| !self.units[*unit].members.is_empty()).collect();
        let slowdown = |unit: &usize| self.units[*unit].harm.greatest;
        order.sort_unstable_by(|a, b| slowdown(b).total_cmp(&slowdown(a)).then(a.cmp(b)));
        order.into_iter().find_map(|who| self.best_of(who).map(|next| (who, next)))
    }

    fn best_of(&mut self, who: usize) -> Option<Move> {
        let found = [self.best_share(who), self.best_gain(who)].into_iter().flatten();
        let (change, next) = found.reduce(|share, gain| if gain.0 < share.0 { gain } else { share })?;
        (change < -LEAST_CHANGE).then_some(next)
    }

    fn best_share(&mut self, who: usize) -> Option<(f64, Move)> {
        if !self.units[who].alone() {
            return None;
        }
        let mut best: Option<(f64, Move)> = None;
        for with in 0..self.units.len() {
            if with != who && self.units[with].alone() {
                let change = self.joined(who.min(with), who.max(with));
                if best.is_none_or(|(least, _)| change < least) {
                    best = Some((change, Move::Share { with }));
                }
            }
        }
        best
    }

    fn best_gain(&self, who: usize) -> Option<(f64, Move)> {
        let free = |unit: usize| unit != who && self.is_tight(unit);
        let (cost, into, from) = *self.tight.iter().find(|(_, into, from)| free(*into) && free(*from))?;
        let unit = &self.units[who];
        let gained = harm(&unit.members, unit.ways + self.least, self.curves).sum - unit.harm.sum;
        Some((gained + cost, Move::Gain { into, from }))
    }

    fn joined(&mut self, first: usize, second: usize) -> f64 {
        let slot = first * self.units.len() + second;
        if let Some(known) = self.joined[slot] {
            return known;
        }
        let cost = self.cost(first, second, self.units[first].ways + self.units[second].ways);
        self.joined[slot] = Some(cost);
        cost
    }

    fn apply(&mut self, who: usize, next: Move) {
        match next {
            Move::Share { with } => self.merge(who, with, self.units[who].ways + self.units[with].ways),
            Move::Gain { into, from } => {
                self.merge(into, from, self.least);
                let ways = self.units[who].ways + self.least;
                self.units[who].resize(ways, self.curves);
                let count = self.units.len();
                (0..count).for_each(|other| self.joined[who.min(other) * count + who.max(other)] = None);
            }
        }
    }

    /// Merges the second unit into the first.
    fn merge(&mut self, into: usize, from: usize, ways: usize) {
        let gone = std::mem::replace(&mut self.units[from], Unit { members: Vec::new(), ways: 0, harm: Harm::NONE });
        self.units[into].absorb(gone, ways, self.curves);
    }
}
