//! The Pareto fronts of sets of programs, in which the search for a cover works.
//!
//! **What may be left out.** A solution's unfairness is one maximum divided by one minimum. So of
//! two groups of the same programs, one with a higher least and a lower greatest slowdown is at
//! least as good, whatever the other groups are: using it can only raise the minimum and lower the
//! maximum. A group's *own* unfairness says nothing (a group of slowdowns 1.3 to 1.4 may serve
//! better than one of 1.0 to 1.05). If throughput counts as well, it must not be lower either.

use crate::group::{Groups, Point};
use crate::options::OptimaError;
use crate::problem::Problem;
use crate::set::Set;
use crate::watch::Watch;
use rayon::prelude::*;

/// A set with the points that matter, by ascending least slowdown.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    pub set: Set,
    pub points: Box<[Point]>,
}

/// The sets that can be groups: those that leave no more programs than the other groups can take.
pub(crate) fn sets(problem: &Problem<'_>) -> Vec<Set> {
    let everyone = problem.everyone();
    if let Some(mapping) = &problem.mapping {
        return mapping.clone();
    }
    let others = (problem.groups - 1).saturating_mul(problem.cores);
    let least = everyone.len().saturating_sub(others);
    let from = |first: usize| {
        let here = Set::one(first).with(everyone.above(first));
        here.firsts(problem.cores).filter(move |set| set.len() >= least)
    };
    everyone.iter().flat_map(from).collect()
}

/// In which figures a point can be better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matters {
    /// A higher least slowdown, a lower greatest slowdown.
    Slowdowns,
    /// A higher throughput.
    Throughput,
    /// Any of these three.
    Both,
}

/// Which points of a set are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// In which figures a point can be better than another.
    pub matters: Matters,
    /// Lower limit of the least slowdown.
    pub least: f64,
    /// Upper limit of the greatest slowdown.
    pub greatest: f64,
    /// Upper limit of the greatest over the least slowdown.
    pub ratio: f64,
    /// Lower limit of the throughput.
    pub stp: f64,
}

impl Keep {
    /// Keeps all points that are not dominated.
    pub const fn all(matters: Matters) -> Self {
        Self { matters, least: 0.0, greatest: f64::INFINITY, ratio: f64::INFINITY, stp: 0.0 }
    }

    /// Whether a point is within the limits.
    pub fn takes(&self, point: Point) -> bool {
        point.least >= self.least
            && point.greatest <= self.greatest
            && point.greatest <= self.ratio * point.least
            && point.stp >= self.stp
    }

    fn dominates(&self, a: &Point, b: &Point) -> bool {
        let slowdowns = a.least >= b.least && a.greatest <= b.greatest;
        match self.matters {
            Matters::Slowdowns => slowdowns,
            Matters::Throughput => a.stp >= b.stp,
            Matters::Both => slowdowns && a.stp >= b.stp,
        }
    }
}

/// The fronts of some sets, in parallel; sets without points are left out. `None` if the search was
/// stopped.
pub(crate) fn fronts(
    groups: &Groups<'_>,
    sets: &[Set],
    keep: &(dyn Fn(Set) -> Keep + Sync),
    watch: &Watch<'_>,
) -> Result<Option<Vec<Front>>, OptimaError> {
    let made: Result<Vec<Option<Front>>, OptimaError> = sets
        .par_iter()
        .with_min_len(8)
        .map(|set| if watch.stopped() { Ok(None) } else { front(groups, *set, keep(*set)).map(Some) })
        .collect();
    let made = made?;
    if watch.stopped() {
        return Ok(None);
    }
    Ok(Some(made.into_iter().flatten().filter(|front| !front.points.is_empty()).collect()))
}

/// The front of one set.
fn front(groups: &Groups<'_>, set: Set, keep: Keep) -> Result<Front, OptimaError> {
    let mut points: Vec<Point> = Vec::new();
    groups.each(set, keep.greatest, &mut |point, _| {
        if keep.takes(point) {
            insert(&mut points, point, keep);
        }
        true
    })?;
    points.sort_by(|a, b| a.least.total_cmp(&b.least).then(a.greatest.total_cmp(&b.greatest)));
    Ok(Front { set, points: points.into_boxed_slice() })
}

/// Keeps a list free of dominated points. The point that last dominated another is tried first,
/// because neighbours in the enumeration resemble each other.
fn insert(points: &mut Vec<Point>, new: Point, keep: Keep) {
    if let Some(winner) = points.iter().position(|old| keep.dominates(old, &new)) {
        points.swap(0, winner);
        return;
    }
    points.retain(|old| !keep.dominates(&new, old));
    points.push(new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_stays_as_long_as_something_speaks_for_it() {
        let point = |least, greatest, stp| Point { least, greatest, stp };
        let all = [
            point(1.0, 1.2, 3.0),
            point(1.1, 1.4, 2.0),
            point(1.0, 1.3, 3.5),
            point(1.0, 1.3, 3.5),
            point(1.0, 1.2, 2.9),
        ];
        let kept = |matters| {
            let mut points = Vec::new();
            all.iter().for_each(|new| insert(&mut points, *new, Keep::all(matters)));
            points.len()
        };
        assert_eq!((kept(Matters::Slowdowns), kept(Matters::Throughput), kept(Matters::Both)), (2, 1, 3));
    }
}
