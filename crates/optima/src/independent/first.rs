//! Of all equally good solutions, finds the first one.
//!
//! First come the levels L at which there is a solution of the required quality with all its
//! slowdowns between L and U L; usually there is one such level. At a level, any groups within
//! these limits may be combined, so only throughput is left to decide. The search goes group by
//! group, in the order of `Solution`. Of all groups that contain the first program not yet placed,
//! it takes the first one with which the other groups can still reach the required throughput. Each
//! such question is a search for a cover, and the bound rejects nearly all candidates before that
//! search. Within one set, the first group that passes is the set's best, so the rest of the set is
//! not looked at. Over sets and levels, the least is taken.
//!
//! Levels are the least slowdowns of points that no other point dominates. An equally good solution
//! with a dominated point has the same least slowdown up to a tie (if it were lower, the solution
//! with the dominating point would be fairer than the optimum). So the exact least slowdowns of
//! groups within a tie of the level are collected, and each is a level of its own.

use super::cover::Cover;
use super::front::{Front, Keep, Matters};
use super::weigh::{Others, Weighed, Weigher};
use super::window::Window;
use crate::group::{Groups, spelled};
use crate::options::OptimaError;
use crate::problem::Problem;
use crate::rank::{STEP, TIE};
use crate::set::Set;
use crate::watch::Watch;
use isobar_partition::Group;
use std::collections::BTreeSet;

/// The limits that equally good solutions must keep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The greatest unfairness.
    pub ratio: f64,
    /// The least throughput.
    pub floor: f64,
}

/// Search helpers whose tables are shared between searches.
pub(crate) struct Helpers {
    pub cover: Cover,
    pub weigher: Weigher,
}

/// The first of all solutions within the limits. `fronts` must hold every set of such a solution,
/// with the points that matter. `None` if the search was stopped.
pub(crate) fn first(
    (problem, groups): (&Problem<'_>, &Groups<'_>),
    fronts: &[Front],
    limits: Limits,
    helpers: &mut Helpers,
    watch: &Watch<'_>,
) -> Result<Option<Vec<Group>>, OptimaError> {
    let tools = (&mut helpers.cover, &mut helpers.weigher);
    let mut window = Window::new(fronts, (problem.everyone(), problem.groups), watch, tools);
    let Some(mut levels) = window.levels(limits.ratio, limits.floor) else { return Ok(None) };
    levels.dedup_by(|next, last| *next <= *last * (1.0 + TIE));
    let mut best: Option<Vec<Group>> = None;
    for about in levels {
        let at = |least: f64, greatest: f64| {
            let all = Keep { least, greatest, ..Keep::all(Matters::Throughput) };
            Level { problem, groups, all, floor: limits.floor * (1.0 - STEP), watch }
        };
        let around = at(about * (1.0 - 2.0 * TIE), about * limits.ratio * (1.0 + 2.0 * TIE));
        for least in around.exact(about * (1.0 + 2.0 * TIE), fronts, helpers)? {
            let found = at(least, least * limits.ratio).first(fronts, helpers)?;
            best = best.into_iter().chain(found).min();
        }
    }
    Ok(best.filter(|_| !watch.stopped()))
}

/// The search at one level.
struct Level<'a> {
    problem: &'a Problem<'a>,
    groups: &'a Groups<'a>,
    all: Keep,
    floor: f64,
    watch: &'a Watch<'a>,
}

/// The groups placed so far.
struct Placed {
    left: Set,
    stp: f64,
    open: usize,
}

impl Level<'_> {
    /// Least slowdowns, up to `most`, of the groups that can be part of a solution, ascending.
    fn exact(&self, most: f64, fronts: &[Front], helpers: &mut Helpers) -> Result<Vec<f64>, OptimaError> {
        let placed = Placed { left: self.problem.everyone(), stp: 0.0, open: self.problem.groups };
        let sets = self.weighed(fronts);
        let others = helpers.weigher.others(placed.left, &sets, placed.open, self.floor);
        let mut found = BTreeSet::new();
        for (set, stp, _) in sets {
            let keep = Keep { stp: self.needed(&placed, &others, set), ..self.all };
            if stp < keep.stp {
                continue;
            }
            self.groups.each(set, keep.greatest, &mut |point, _| {
                if point.least <= most && keep.takes(point) {
                    // Positive floats have the same order as their bits.
                    found.insert(point.least.to_bits());
                }
                true
            })?;
        }
        Ok(found.into_iter().map(f64::from_bits).collect())
    }

    fn first(&self, fronts: &[Front], helpers: &mut Helpers) -> Result<Option<Vec<Group>>, OptimaError> {
        let mut placed = Placed { left: self.problem.everyone(), stp: 0.0, open: self.problem.groups };
        let mut useful = self.weighed(fronts);
        let mut groups = Vec::new();
        while !placed.left.is_empty() {
            let within = |set: &&Weighed| set.0.within(placed.left);
            let sets: Vec<Weighed> = useful.iter().filter(within).copied().collect();
            let others = helpers.weigher.others(placed.left, &sets, placed.open, self.floor - placed.stp);
            useful = sets.into_iter().filter(|set| set.1 >= self.needed(&placed, &others, set.0)).collect();
            let Some((group, set, stp)) = self.group(&placed, &others, &useful, helpers)? else { return Ok(None) };
            groups.push(group);
            placed = Placed { left: placed.left.without(set), stp: placed.stp + stp, open: placed.open - 1 };
        }
        Ok(Some(groups))
    }

    /// The sets, with the greatest throughput that each can have at this level.
    fn weighed(&self, fronts: &[Front]) -> Vec<Weighed> {
        let best = |front: &Front| {
            let within = front.points.iter().filter(|point| self.all.takes(**point)).map(|point| point.stp);
            within.reduce(f64::max)
        };
        fronts.iter().zip(0..).filter_map(|(front, place)| Some((front.set, best(front)?, place))).collect()
    }

    /// The throughput that a group must have, given the best that the others can have.
    fn needed(&self, placed: &Placed, others: &Others, set: Set) -> f64 {
        self.floor - placed.stp - others.most(placed.left.without(set), placed.open - 1)
    }

    fn group(
        &self,
        placed: &Placed,
        others: &Others,
        useful: &[Weighed],
        helpers: &mut Helpers,
    ) -> Result<Option<(Group, Set, f64)>, OptimaError> {
        let mut best: Option<(Group, Set, f64)> = None;
        for (set, _, _) in useful.iter().filter(|set| set.0.first() == placed.left.first()) {
            let rest = placed.left.without(*set);
            if rest.len() > (placed.open - 1) * self.problem.cores {
                continue;
            }
            let keep = Keep { stp: self.needed(placed, others, *set), ..self.all };
            let mut failed = f64::NEG_INFINITY;
            self.groups.each(*set, keep.greatest, &mut |point, picked| {
                if self.watch.stopped() {
                    return false;
                }
                if !keep.takes(point) || point.stp <= failed {
                    return true;
                }
                let group = spelled(picked);
                if best.as_ref().is_some_and(|best| best.0 <= group) {
                    return false;
                }
                if self.completes(placed, useful, rest, point.stp, helpers) {
                    best = Some((group, *set, point.stp));
                    return false;
                }
                failed = point.stp;
                true
            })?;
        }
        Ok(best.filter(|_| !self.watch.stopped()))
    }

    /// Whether the other groups can reach the throughput that is still needed.
    fn completes(&self, placed: &Placed, useful: &[Weighed], rest: Set, stp: f64, helpers: &mut Helpers) -> bool {
        let needed = self.floor - placed.stp - stp;
        if rest.is_empty() {
            return needed <= 0.0;
        }
        let sets: Vec<Weighed> = useful.iter().filter(|set| set.0.within(rest)).copied().collect();
        let stop = || self.watch.count(0);
        helpers.weigher.best(rest, &sets, placed.open - 1, needed, &stop).cover.is_some()
    }
}
