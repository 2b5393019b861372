//! A slice of the pressure axis, and the bounds that it gives for every partial solution.
//!
//! **Why slices.** The programs' bandwidths influence each other through one figure, the pressure.
//! Suppose it is between p and q. Then
//!
//! - a program's slowdown is at least its slowdown at p and at most its slowdown at q (a factor
//!   never falls as the pressure grows). So the slowest program of a solution is at least as slow
//!   as the solution's slowest cluster at p, and its fastest program is at most as slow as its
//!   fastest cluster at q;
//! - its throughput is at most the sum of 1 / slowdown at p;
//! - the loads as seen from p add up to the capacity at p or more, and the loads as seen from q to
//!   the capacity at q or less. This is not a relaxation: it is what "the pressure is between p and
//!   q" means.
//!
//! Each of these five figures of a solution is a minimum, a maximum or a sum over its clusters. So
//! the best value over *all* ways to complete a partial solution can be tabulated: by the programs
//! and ways that are left within a group, and by the programs and groups that are left. Each figure
//! is the best by itself, over completions that may differ, so together they are an outer bound,
//! which tightens as the slice narrows.
//!
//! Slowdowns are widened by one part in 10^12 and capacities by one in 10^9, far above rounding
//! errors and below the tolerance of a tie.

use super::cells::{Cells, at};
use super::coupling::Coupling;
use super::figure::{Figure, Slice};
use crate::group::place;
use crate::problem::Problem;
use crate::set::Set;
use crate::watch::Watch;
use isobar_partition::Group;
use isobar_partition::model::{Demand, Pressure};

const WIDER: f64 = 1e-12;
const LOOSER: f64 = 1e-9;
/// Number of entries that are looked at between two checks whether to stop.
const OFTEN: usize = 1 << 14;

/// The limits of what is worth examining.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    /// No unfairness above this.
    pub ratio: f64,
    /// No throughput below this.
    pub stp: f64,
}

/// Checks from time to time whether to stop, by the amount of work done since the last check.
struct Pace<'a> {
    watch: &'a Watch<'a>,
    done: usize,
}

impl Pace<'_> {
    /// Whether to stop, before `entries` more entries are looked at.
    fn stops(&mut self, entries: usize) -> bool {
        self.done += entries;
        if self.done < OFTEN {
            return false;
        }
        self.done = 0;
        self.watch.count(0)
    }
}

/// A slice's tables.
pub(crate) struct Tables {
    pub slice: Slice,
    ways: usize,
    /// By cluster and ways.
    cells: Vec<Figure>,
    /// By the programs of a group that are left, and the ways left (0 to all).
    inner: Vec<Figure>,
    /// By the programs of a whole group; empty if there is only one group.
    whole: Vec<Figure>,
    /// By the number of groups left (from 1), and all programs left.
    outer: Vec<Vec<Figure>>,
    capacities: Option<(f64, f64)>,
}

impl Tables {
    /// Makes the tables; incomplete if the search is stopped in the meantime.
    pub fn new(
        problem: &Problem<'_>,
        cells: &Cells,
        coupling: &Coupling<'_>,
        (slice, bar): (Slice, Bar),
        watch: &Watch<'_>,
    ) -> Self {
        let (all, ways) = (place(problem.everyone()) + 1, problem.model.ways());
        let loose = |capacity: f64| capacity.abs() * LOOSER;
        let capacities = coupling.capacities(slice).map(|(low, high)| {
            // Every pressure is at least 0, so there is no condition at the lower end.
            let low = if slice.from > 0.0 { low - loose(low) } else { f64::NEG_INFINITY };
            (low, high + loose(high))
        });
        let mut tables = Self {
            slice,
            ways,
            cells: Vec::new(),
            inner: Vec::new(),
            whole: Vec::new(),
            outer: Vec::new(),
            capacities,
        };
        if !cells.clusters.is_empty() {
            tables.cells = vec![Figure::NEVER; all * ways];
            match coupling {
                Coupling::Pressed(separable) => tables.fill_cells(cells, separable.pressure(), watch),
                Coupling::Queue(queue) => tables.cells = queue.figures(cells, slice, watch),
            }
            if watch.stopped() {
                return tables;
            }
            tables.drop_hopeless(problem, bar);
            tables.fill_inner(problem, all, watch);
        }
        if problem.groups > 1 || tables.inner.is_empty() {
            tables.whole = tables.whole_groups(cells, coupling, all);
            tables.fill_outer(problem, watch);
        }
        tables
    }

    /// The figures of a cluster at a size.
    #[inline]
    pub fn cell(&self, cluster: Set, ways: usize) -> Figure {
        self.cells[place(cluster) * self.ways + ways - 1]
    }

    /// The figures of a set as a whole group.
    #[inline]
    pub fn of_group(&self, set: Set) -> Figure {
        self.whole[place(set)]
    }

    /// The best completion of a group with the ways that are left.
    #[inline]
    pub fn rest(&self, left: Set, ways: usize) -> Figure {
        self.inner[place(left) * (self.ways + 1) + ways]
    }

    /// The best figures of all programs left with the groups that are left.
    #[inline]
    pub fn others(&self, left: Set, groups: usize) -> Figure {
        match groups {
            0 if left.is_empty() => Figure::NONE,
            0 => Figure::NEVER,
            _ if left.is_empty() => Figure::NONE,
            _ => self.outer.get(groups - 1).map_or(Figure::NEVER, |table| table[place(left)]),
        }
    }

    /// The best figures of a whole solution.
    pub fn root(&self, problem: &Problem<'_>) -> Figure {
        if self.outer.is_empty() {
            self.rest(problem.everyone(), self.ways)
        } else {
            self.others(problem.everyone(), problem.groups)
        }
    }

    /// Whether a solution with this figure may be within the bar.
    #[inline]
    pub fn worth(&self, figure: Figure, bar: Bar) -> bool {
        let loads = self.capacities.is_none_or(|(low, high)| figure.heavy >= low && figure.light <= high);
        figure.can_be() && figure.slowest <= bar.ratio * figure.fastest && figure.stp >= bar.stp && loads
    }

    /// Fills the table of clusters; stops early if the search is stopped.
    fn fill_cells(&mut self, cells: &Cells, pressure: Option<&dyn Pressure>, watch: &Watch<'_>) {
        let mut pace = Pace { watch, done: 0 };
        for (index, cell) in cells.clusters.iter().enumerate() {
            let Some(cell) = cell else { continue };
            if pace.stops(self.ways * at(index).len()) {
                return;
            }
            for size in 1..=self.ways {
                self.cells[index * self.ways + size - 1] = figure(cell.at(size), pressure, self.slice);
            }
        }
    }

    /// Drops clusters that no solution within the bar has. Every program must be in some cluster,
    /// so the slowest program is at least as slow as the largest of the programs' lowest slowdowns,
    /// and the fastest program at most as slow as the smallest of their highest. Clusters that are
    /// too fast or too slow compared with these are dropped.
    fn drop_hopeless(&mut self, problem: &Problem<'_>, bar: Bar) {
        if !bar.ratio.is_finite() {
            return;
        }
        for _ in 0..3 {
            let (mut slow, mut fast) = ([f64::INFINITY; 64], [0.0_f64; 64]);
            for (index, figure) in self.cells.iter().enumerate().filter(|(_, figure)| figure.can_be()) {
                for program in at(index / self.ways).iter() {
                    slow[program] = slow[program].min(figure.slowest);
                    fast[program] = fast[program].max(figure.fastest);
                }
            }
            let slowest = problem.everyone().iter().map(|program| slow[program]).fold(0.0, f64::max);
            let fastest = problem.everyone().iter().map(|program| fast[program]).fold(f64::INFINITY, f64::min);
            for figure in &mut self.cells {
                let most = slowest.max(figure.slowest);
                if figure.can_be() && most > bar.ratio * fastest.min(figure.fastest) {
                    *figure = Figure::NEVER;
                }
            }
        }
    }

    fn fill_inner(&mut self, problem: &Problem<'_>, all: usize, watch: &Watch<'_>) {
        let width = self.ways + 1;
        let mut table = vec![Figure::NEVER; all * width];
        table[0] = Figure::NONE;
        let most = problem.cluster_size();
        let mut usable: Vec<(usize, Figure)> = Vec::with_capacity(self.ways);
        let mut pace = Pace { watch, done: 0 };
        for index in 1..all {
            let left = at(index);
            if left.len() > problem.cores {
                continue;
            }
            if pace.stops(self.ways << (left.len() - 1)) {
                break;
            }
            let (before, here) = table.split_at_mut(index * width);
            let here = &mut here[..width];
            for cluster in Parts::new(left).filter(|cluster| cluster.len() <= most) {
                let rest = place(left.without(cluster)) * width;
                let start = place(cluster) * self.ways;
                usable.clear();
                usable.extend(
                    self.cells[start..start + self.ways]
                        .iter()
                        .enumerate()
                        .filter(|(_, f)| f.can_be())
                        .map(|(w, f)| (w + 1, *f)),
                );
                for (size, cell) in &usable {
                    let rests = &before[rest..rest + width - size];
                    here[*size..].iter_mut().zip(rests).for_each(|(best, rest)| *best = best.or(cell.and(*rest)));
                }
            }
        }
        self.inner = table;
    }

    /// The best figures of every set of programs as a group.
    fn whole_groups(&self, cells: &Cells, coupling: &Coupling<'_>, all: usize) -> Vec<Figure> {
        if self.inner.is_empty() {
            let of = |(group, demands): &(Group, Vec<Demand>)| match coupling {
                Coupling::Pressed(separable) => figure(demands, separable.pressure(), self.slice),
                Coupling::Queue(queue) => queue.group(group, self.slice),
            };
            return cells.groups.iter().map(|group| group.as_ref().map_or(Figure::NEVER, of)).collect();
        }
        (0..all).map(|index| self.inner[index * (self.ways + 1) + self.ways]).collect()
    }

    fn fill_outer(&mut self, problem: &Problem<'_>, watch: &Watch<'_>) {
        let mut pace = Pace { watch, done: 0 };
        for groups in 1..=problem.groups {
            let mut table = vec![Figure::NEVER; self.whole.len()];
            for (index, best) in table.iter_mut().enumerate().skip(1) {
                let left = at(index);
                if left.len() > groups * problem.cores {
                    continue;
                }
                if pace.stops(1 << (left.len() - 1)) {
                    break;
                }
                for set in Parts::new(left).filter(|set| problem.may_group(*set)) {
                    let figure = self.whole[place(set)];
                    if figure.can_be() {
                        *best = best.or(figure.and(self.others(left.without(set), groups - 1)));
                    }
                }
            }
            self.outer.push(table);
        }
    }
}

/// All subsets that contain the first program, in no particular order.
struct Parts {
    rest: u64,
    first: u64,
    next: Option<u64>,
}

impl Parts {
    fn new(of: Set) -> Self {
        let first = Set::one(of.first());
        let rest = of.without(first).0;
        Self { rest, first: first.0, next: Some(rest) }
    }
}

impl Iterator for Parts {
    type Item = Set;

    #[inline]
    fn next(&mut self) -> Option<Set> {
        let now = self.next?;
        self.next = (now > 0).then(|| (now - 1) & self.rest);
        Some(Set(now | self.first))
    }
}

/// A cluster's (or group's) figures in a slice.
pub(crate) fn figure(demands: &[Demand], pressure: Option<&dyn Pressure>, slice: Slice) -> Figure {
    demands.iter().fold(Figure::NONE, |sum, demand| sum.and(one(demand, pressure, slice)))
}

fn one(demand: &Demand, pressure: Option<&dyn Pressure>, slice: Slice) -> Figure {
    let factor = |p| pressure.map_or(Some(1.0), |pressure| pressure.factor(demand, p));
    let load = |p| pressure.map_or(0.0, |pressure| pressure.load(demand, p));
    let Some(low) = factor(slice.from) else { return Figure::NEVER };
    let high = factor(slice.to).unwrap_or(f64::INFINITY);
    let slowest = demand.slowdown * low * (1.0 - WIDER);
    Figure {
        slowest,
        fastest: demand.slowdown * high * (1.0 + WIDER),
        heavy: load(slice.from),
        light: load(slice.to),
        stp: 1.0 / slowest,
    }
}
