//! Of all equally good solutions, the first one.
//!
//! First the levels L at which there is a solution as good as it must be, all its slowdowns between L and U L; mostly there is one. At a
//! level whatever groups are within these limits may be combined, so only throughput is left to ask about. Group by group, in the order
//! of `Solution`: of all groups that hold the first program not yet placed, the first one with which the others can still have the
//! throughput that is needed. Each such question is a search for a cover; nearly all candidates fall to the bound before it is asked.
//! Within one set the first group that passes is the set's best, so the rest of the set is not looked at; over sets and levels, the
//! least is taken.

use super::front::{Front, Keep, Matters};
use super::weigh::{Others, Weighed};
use super::window::Window;
use super::{Helpers, Limits};
use crate::group::{Groups, spelled};
use crate::options::OptimaError;
use crate::problem::Problem;
use crate::rank::STEP;
use crate::set::Set;
use crate::watch::Watch;
use isobar_partition::Group;

/// The first of all solutions within the limits. `fronts` must hold every set of such a solution, with the points that matter. `None`
/// where the search was stopped.
pub(crate) fn first(
    (problem, groups): (&Problem<'_>, &Groups<'_>),
    fronts: &[Front],
    limits: Limits,
    helpers: &mut Helpers,
    watch: &Watch<'_>,
) -> Result<Option<Vec<Group>>, OptimaError> {
    let tools = (&mut helpers.cover, &mut helpers.weigher);
    let mut window = Window::new(fronts, (problem.everyone(), problem.groups), watch, tools);
    let Some(levels) = window.levels(limits.ratio, limits.floor) else { return Ok(None) };
    let mut best: Option<Vec<Group>> = None;
    for least in levels {
        let all = Keep { least, greatest: least * limits.ratio, ..Keep::all(Matters::Throughput) };
        let level = Level { problem, groups, all, floor: limits.floor * (1.0 - STEP), watch };
        let Some(found) = level.first(fronts, helpers)? else { continue };
        best = Some(best.map_or_else(|| found.clone(), |best| best.min(found.clone())));
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

/// What is placed already.
struct Placed {
    left: Set,
    stp: f64,
    open: usize,
}

impl Level<'_> {
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

    /// The sets with the greatest throughput that each can have here.
    fn weighed(&self, fronts: &[Front]) -> Vec<Weighed> {
        let best = |front: &Front| {
            let within = front.points.iter().filter(|point| self.all.takes(**point)).map(|point| point.stp);
            within.reduce(f64::max)
        };
        fronts.iter().zip(0..).filter_map(|(front, place)| Some((front.set, best(front)?, place))).collect()
    }

    /// The throughput that a group must have, with the best that the others can have.
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
            let seen = self.groups.each(*set, keep.greatest, &mut |point, picked| {
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
            self.watch.count(seen);
        }
        Ok(best.filter(|_| !self.watch.stopped()))
    }

    /// Whether the others can have what is still needed.
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
