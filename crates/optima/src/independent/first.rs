//! Of all equally good solutions, the first one.
//!
//! Group by group, in the order of `Solution`: of all groups that hold the first program not yet placed, the first one with which the
//! others can still be as good as they must be (no more unfair, no slower, with all that is decided already). Each such question is a
//! search for a cover ([`Window::fastest`], where any answer will do); nearly all candidates fall to a bound before it is asked. Within
//! one set the first group that passes is the set's best, so the rest of the set is not looked at; over the sets, the least is taken.

use super::front::{Front, Keep, Matters};
use super::weigh::{Others, Weighed};
use super::window::{OPEN, Window};
use super::{Helpers, Limits};
use crate::group::{Groups, Point, spelled};
use crate::options::OptimaError;
use crate::problem::Problem;
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
    let mut placed = Vec::new();
    let (mut left, mut base) = (problem.everyone(), OPEN);
    while !left.is_empty() {
        let mut stage =
            Stage { problem, groups, fronts, limits, watch, left, base, open: problem.groups - placed.len() };
        let Some((group, set, point)) = stage.group(helpers)? else { return Ok(None) };
        placed.push(group);
        (left, base) = (left.without(set), base.and(point));
    }
    Ok(Some(placed))
}

/// The search for one group.
struct Stage<'a> {
    problem: &'a Problem<'a>,
    groups: &'a Groups<'a>,
    fronts: &'a [Front],
    limits: Limits,
    watch: &'a Watch<'a>,
    left: Set,
    base: Point,
    /// Groups not yet used.
    open: usize,
}

type Candidate = (Group, Set, Point);

impl Stage<'_> {
    fn group(&mut self, helpers: &mut Helpers) -> Result<Option<Candidate>, OptimaError> {
        let others = self.others(helpers);
        let useful = self.useful(&others);
        let mut best: Option<Candidate> = None;
        let first = self.left.first();
        for front in useful.iter().filter(|front| front.set.first() == first) {
            let rest = self.left.without(front.set);
            let keep = self.keep(&others, front.set);
            let ceiling = front.points.iter().map(|point| point.greatest).fold(0.0, f64::max) * self.limits.ratio;
            let mut failed: Vec<Point> = Vec::new();
            let seen = self.groups.each(front.set, ceiling, &mut |point, picked| {
                if self.watch.stopped() {
                    return false;
                }
                let hopeless =
                    |old: &Point| old.least >= point.least && old.greatest <= point.greatest && old.stp >= point.stp;
                if !keep.takes(point) || failed.iter().any(hopeless) {
                    return true;
                }
                let group = spelled(picked);
                if best.as_ref().is_some_and(|best| best.0 <= group) {
                    return false;
                }
                if self.completes(&useful, rest, self.base.and(point), helpers) {
                    best = Some((group, front.set, point));
                    return false;
                }
                failed.push(point);
                true
            })?;
            self.watch.count(seen);
        }
        Ok(best.filter(|_| !self.watch.stopped()))
    }

    /// What a group of these programs must be, with the best that the others can be.
    fn keep(&self, others: &Others, set: Set) -> Keep {
        let needed = self.limits.floor - self.base.stp - others.most(self.left.without(set), self.open - 1);
        Keep { ratio: self.limits.ratio, stp: needed, ..Keep::all(Matters::Both) }
    }

    /// The fronts that can still be part of a solution.
    fn useful(&self, others: &Others) -> Vec<Front> {
        let useful = |front: &&Front| {
            let fits = self.left.without(front.set).len() <= (self.open - 1) * self.problem.cores;
            front.set.within(self.left) && fits
        };
        let cut = |front: &Front| {
            let keep = self.keep(others, front.set);
            let points = front.points.iter().copied().filter(|point| keep.takes(*point)).collect();
            Front { set: front.set, points }
        };
        self.fronts.iter().filter(useful).map(cut).filter(|front| !front.points.is_empty()).collect()
    }

    fn others(&self, helpers: &mut Helpers) -> Others {
        let within = self.fronts.iter().zip(0..).filter(|(front, _)| front.set.within(self.left));
        let stp = |front: &Front| front.points.iter().map(|point| point.stp).fold(0.0, f64::max);
        let sets: Vec<Weighed> = within.map(|(front, place)| (front.set, stp(front), place)).collect();
        helpers.weigher.others(self.left, &sets, self.open, self.limits.floor - self.base.stp)
    }

    fn completes(&self, useful: &[Front], rest: Set, base: Point, helpers: &mut Helpers) -> bool {
        if base.greatest > self.limits.ratio * base.least {
            return false;
        }
        if rest.is_empty() {
            return base.stp >= self.limits.floor;
        }
        let tools = (&mut helpers.cover, &mut helpers.weigher);
        let mut window = Window::new(useful, (rest, self.open - 1, base), self.watch, tools);
        window.fastest(self.limits.ratio, self.limits.floor, None, true).best.is_some()
    }
}
