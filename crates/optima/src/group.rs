//! Enumerates the groups that a set of programs can form on one LLC with a memory controller of its
//! own, with their figures.
//!
//! The order of operations is that of `evaluate` (clusters in canonical order), so the slowdowns
//! are the same to the bit.

use crate::cell::{Cell, Cells};
use crate::options::OptimaError;
use crate::problem::Problem;
use crate::set::Set;
use crate::walk::clusterings;
use crate::watch::Watch;
use isobar_partition::model::{Demand, Separable};
use isobar_partition::{Cluster, Group};
use std::borrow::Cow;

/// Number of groups that are looked at between two checks whether to stop: each group calls the
/// model.
const OFTEN: u64 = 256;

/// What a group contributes to a solution: its slowest and fastest program, and its part of the
/// throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Least slowdown.
    pub least: f64,
    /// Greatest slowdown.
    pub greatest: f64,
    /// Sum of 1 / slowdown.
    pub stp: f64,
}

impl Point {
    /// `None` if a slowdown is not a positive number.
    pub fn of(slowdowns: impl Iterator<Item = f64>) -> Option<Self> {
        let mut point = Self { least: f64::INFINITY, greatest: 0.0, stp: 0.0 };
        for slowdown in slowdowns {
            point.least = point.least.min(slowdown);
            point.greatest = point.greatest.max(slowdown);
            point.stp += 1.0 / slowdown;
        }
        (point.least > 0.0 && point.least.is_finite() && point.greatest.is_finite() && point.stp.is_finite())
            .then_some(point)
    }

    /// Both groups together.
    pub fn and(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
            stp: self.stp + other.stp,
        }
    }

    pub fn ratio(self) -> f64 {
        self.greatest / self.least
    }
}

/// The empty group.
pub(crate) const EMPTY: Point = Point { least: f64::INFINITY, greatest: 0.0, stp: 0.0 };

/// A group during the search: programs and ways of each cluster.
pub(crate) type Picked = [(Set, usize)];

/// The group in the form that solutions have.
pub(crate) fn spelled(picked: &Picked) -> Group {
    picked.iter().map(|(programs, ways)| Cluster { programs: programs.list(), ways: *ways }).collect()
}

/// The groups of a problem.
pub(crate) struct Groups<'a> {
    problem: &'a Problem<'a>,
    watch: &'a Watch<'a>,
    cells: Cells,
}

impl<'a> Groups<'a> {
    /// Prepares the data that all sets share.
    pub fn new(problem: &'a Problem<'a>, watch: &'a Watch<'a>) -> Self {
        Self { problem, watch, cells: Cells::new(problem, watch) }
    }

    /// Calls `visit` with every meaningful group that the problem's menu has for `set` and whose
    /// slowdowns may all be at most `ceiling`, in the order of [`Group`], until `visit` returns
    /// `false` or the search is stopped.
    pub fn each(
        &self,
        set: Set,
        ceiling: f64,
        visit: &mut dyn FnMut(Point, &Picked) -> bool,
    ) -> Result<(), OptimaError> {
        let problem = self.problem;
        if self.watch.stopped() {
            return Ok(());
        }
        if let Some(group) = problem.only(set) {
            self.watch.count(1);
            asked(problem, &group?, visit);
        } else if let Some(separable) = problem.model.separable() {
            Walk::new(separable, self, set, ceiling).run(visit);
        } else {
            clusterings(set, problem.model.ways(), problem.cluster_size(), &mut |group| {
                !self.watch.count(1) && asked(problem, group, visit)
            });
        }
        Ok(())
    }
}

fn asked(problem: &Problem<'_>, group: &Group, visit: &mut dyn FnMut(Point, &Picked) -> bool) -> bool {
    let Ok(effects) = problem.model.effects(std::slice::from_ref(group)) else { return true };
    match Point::of(effects.iter().map(|effect| effect.slowdown)) {
        Some(point) => {
            let picked: Vec<_> = group.iter().map(|cluster| (Set::of(&cluster.programs), cluster.ways)).collect();
            visit(point, &picked)
        }
        None => true,
    }
}

/// A walk through the clusterings of one set.
struct Walk<'a> {
    separable: &'a dyn Separable,
    watch: &'a Watch<'a>,
    ways: usize,
    most: usize,
    ceiling: f64,
    members: Vec<usize>,
    /// By cluster; bits are positions in `members`.
    cells: Vec<Cow<'a, Cell>>,
    stack: Vec<Demand>,
    factors: Vec<f64>,
    picked: Vec<(Set, usize)>,
    seen: u64,
}

impl<'a> Walk<'a> {
    fn new(separable: &'a dyn Separable, groups: &'a Groups<'a>, set: Set, ceiling: f64) -> Self {
        let (ways, most) = (groups.problem.model.ways(), groups.problem.cluster_size());
        let members = set.list();
        let named = |places: Set| places.iter().fold(Set(0), |set, place| set.with(Set::one(members[place])));
        let cell = |bits: u64| {
            let cluster = named(Set(bits));
            if cluster.is_empty() || cluster.len() > most {
                return Cow::Owned(Cell::default());
            }
            if groups.watch.count(0) {
                return Cow::Owned(Cell::default());
            }
            let known = groups.cells.get(cluster).map(Cow::Borrowed);
            known.unwrap_or_else(|| Cow::Owned(Cell::new(separable, cluster, ways)))
        };
        let cells = (0..1_u64 << members.len()).map(cell).collect();
        let (stack, factors) = (Vec::with_capacity(members.len()), vec![1.0; members.len()]);
        let watch = groups.watch;
        Self { separable, watch, ways, most, ceiling, members, cells, stack, factors, picked: Vec::new(), seen: 0 }
    }

    fn run(mut self, visit: &mut dyn FnMut(Point, &Picked) -> bool) {
        // The kept clusters are incomplete if the search was stopped.
        if !self.watch.stopped() {
            self.cluster(Set::all(self.members.len()), self.ways, visit);
        }
        self.watch.count(self.seen % OFTEN);
    }

    fn cluster(&mut self, left: Set, ways: usize, visit: &mut dyn FnMut(Point, &Picked) -> bool) -> bool {
        self.seen += 1;
        if self.seen.is_multiple_of(OFTEN) && self.watch.count(OFTEN) {
            return false;
        }
        if left.is_empty() {
            return self.leaf(visit);
        }
        let height = self.stack.len();
        for cluster in left.firsts(self.most) {
            let rest = left.without(cluster);
            let named = cluster.iter().fold(Set(0), |set, place| set.with(Set::one(self.members[place])));
            let sizes = if rest.is_empty() { ways..=ways } else { 1..=ways.saturating_sub(1) };
            for size in sizes.filter(|size| *size > 0) {
                let cell = &self.cells[place(cluster)];
                if cell.slowest[size - 1] > self.ceiling {
                    continue;
                }
                self.stack.extend_from_slice(cell.at(size));
                self.picked.push((named, size));
                let go_on = self.cluster(rest, ways - size, visit);
                self.picked.pop();
                self.stack.truncate(height);
                if !go_on {
                    return false;
                }
            }
        }
        true
    }

    fn leaf(&mut self, visit: &mut dyn FnMut(Point, &Picked) -> bool) -> bool {
        if self.separable.factors(&self.stack, &mut self.factors).is_err() {
            return true;
        }
        let slowdowns = self.stack.iter().zip(&self.factors).map(|(demand, factor)| demand.slowdown * factor);
        Point::of(slowdowns).is_none_or(|point| visit(point, &self.picked))
    }
}

/// A set of few members as an index.
pub(crate) fn place(set: Set) -> usize {
    usize::try_from(set.0).unwrap_or(usize::MAX)
}
