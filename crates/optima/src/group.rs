//! The groups that a set of programs can form on one LLC with a memory controller of its own, one by one, with their figures.
//!
//! Order of operations is that of `evaluate` (clusters in canonical order), so the slowdowns are the same to the bit.

use crate::options::OptimaError;
use crate::problem::Problem;
use crate::set::Set;
use crate::walk::clusterings;
use isobar_partition::model::{Demand, Separable};
use isobar_partition::{Cluster, Group};

/// What a group is to the others: its slowest and fastest program, and its part of the throughput.
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
    /// `None` where a slowdown is not a positive number.
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

    /// Both together.
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

/// Nobody.
pub(crate) const NOBODY: Point = Point { least: f64::INFINITY, greatest: 0.0, stp: 0.0 };

/// A group as it is searched: programs and ways of each cluster.
pub(crate) type Picked = [(Set, usize)];

/// The group in words.
pub(crate) fn spelled(picked: &Picked) -> Group {
    picked.iter().map(|(programs, ways)| Cluster { programs: programs.list(), ways: *ways }).collect()
}

/// Calls `visit` with every group that the problem's menu has for `set` and that has a meaning, in the order of [`Group`], until it says
/// `false`. Returns how many were looked at.
pub(crate) fn each(
    problem: &Problem<'_>,
    set: Set,
    visit: &mut dyn FnMut(Point, &Picked) -> bool,
) -> Result<u64, OptimaError> {
    if let Some(group) = problem.only(set) {
        asked(problem, &group?, visit);
        return Ok(1);
    }
    let most = problem.cluster_size();
    if let Some(separable) = problem.model.separable() {
        return Ok(Fast::new(separable, set, problem.model.ways(), most).run(visit));
    }
    let mut seen = 0;
    clusterings(set, problem.model.ways(), most, &mut |group| {
        seen += 1;
        asked(problem, group, visit)
    });
    Ok(seen)
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

/// The demands of every cluster of a set at every size, and a walk through its clusterings.
struct Fast<'a> {
    separable: &'a dyn Separable,
    ways: usize,
    most: usize,
    members: Vec<usize>,
    /// By cluster (bits are places in `members`), then ways, then program.
    demands: Vec<Vec<Vec<Demand>>>,
    stack: Vec<Demand>,
    factors: Vec<f64>,
    picked: Vec<(Set, usize)>,
    seen: u64,
}

impl<'a> Fast<'a> {
    fn new(separable: &'a dyn Separable, set: Set, ways: usize, most: usize) -> Self {
        let members = set.list();
        let demands = (0..1_u64 << members.len()).map(|bits| {
            let cluster = Set(bits);
            if cluster.is_empty() || cluster.len() > most {
                return Vec::new();
            }
            separable.demands(&cluster.iter().map(|place| members[place]).collect::<Vec<_>>(), ways)
        });
        let demands = demands.collect();
        let factors = vec![1.0; members.len()];
        let stack = Vec::with_capacity(members.len());
        Self { separable, ways, most, members, demands, stack, factors, picked: Vec::new(), seen: 0 }
    }

    fn run(mut self, visit: &mut dyn FnMut(Point, &Picked) -> bool) -> u64 {
        self.cluster(Set::all(self.members.len()), self.ways, visit);
        self.seen
    }

    fn cluster(&mut self, left: Set, ways: usize, visit: &mut dyn FnMut(Point, &Picked) -> bool) -> bool {
        if left.is_empty() {
            return self.leaf(visit);
        }
        let height = self.stack.len();
        for cluster in left.firsts(self.most) {
            let rest = left.without(cluster);
            let named = cluster.iter().fold(Set(0), |set, place| set.with(Set::one(self.members[place])));
            let sizes = if rest.is_empty() { ways..=ways } else { 1..=ways.saturating_sub(1) };
            for size in sizes.filter(|size| *size > 0) {
                self.stack.extend_from_slice(&self.demands[place(cluster)][size - 1]);
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
        self.seen += 1;
        if self.separable.factors(&self.stack, &mut self.factors).is_err() {
            return true;
        }
        let slowdowns = self.stack.iter().zip(&self.factors).map(|(demand, factor)| demand.slowdown * factor);
        Point::of(slowdowns).is_none_or(|point| visit(point, &self.picked))
    }
}

/// A set of few places as an index.
pub(crate) fn place(set: Set) -> usize {
    usize::try_from(set.0).unwrap_or(usize::MAX)
}
