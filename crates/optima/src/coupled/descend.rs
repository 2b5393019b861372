//! Searches one slice depth first: groups in the order of their lowest program, and within a group
//! clusters in the order of theirs, with the slice's tables as bounds.
//!
//! Clusters come in the order of solutions, and demands in the order in which `evaluate` takes
//! them, so that the figures of a whole solution are the same to the bit. To find the *first* of
//! equally good solutions: for a given set of programs in the group, the first solution that passes
//! is the best, and over all such sets the least is taken.

use super::cells::Cells;
use super::coupling::Coupling;
use super::figure::Figure;
use super::slice::{Bar, Tables};
use crate::group::{Point, place};
use crate::problem::Problem;
use crate::set::Set;
use crate::watch::{STRIDE, Watch};
use isobar_partition::model::Demand;
use isobar_partition::{Cluster, Group};

/// The goal of the search; shared by all slices.
pub(crate) trait SearchGoal: Sync {
    /// The limits of what is worth examining now.
    fn bar(&self) -> Bar;

    /// Called with a complete solution within the bar; `true` ends the search.
    fn found(&self, point: Point, groups: &dyn Fn() -> Vec<Group>) -> bool;
}

/// How a descent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Everything was examined or discarded.
    Done,
    /// The first solution that is good enough.
    First(Vec<Group>),
    /// The search reached its limit of nodes, or was stopped.
    Cut,
}

pub(crate) struct Descent<'a> {
    problem: &'a Problem<'a>,
    coupling: &'a Coupling<'a>,
    cells: &'a Cells,
    tables: &'a Tables,
    aim: &'a dyn SearchGoal,
    watch: &'a Watch<'a>,
    budget: u64,
    nodes: u64,
    cut: bool,
    bar: Bar,
    /// Number of groups begun so far.
    begun: usize,
    /// Every cluster: its group, programs and ways; 0 ways mean the set's only group.
    picked: Vec<(usize, Set, usize)>,
    stack: Vec<Demand>,
    factors: Vec<f64>,
}

impl<'a> Descent<'a> {
    pub fn new(
        (problem, coupling, cells): (&'a Problem<'a>, &'a Coupling<'a>, &'a Cells),
        tables: &'a Tables,
        aim: &'a dyn SearchGoal,
        (watch, budget): (&'a Watch<'a>, u64),
    ) -> Self {
        let programs = problem.everyone().len();
        Self {
            problem,
            coupling,
            cells,
            tables,
            aim,
            watch,
            budget,
            nodes: 0,
            cut: false,
            bar: aim.bar(),
            begun: 0,
            picked: Vec::with_capacity(programs),
            stack: Vec::with_capacity(programs),
            factors: vec![1.0; programs],
        }
    }

    /// Searches the slice.
    pub fn run(mut self) -> End {
        let first = self.group(self.problem.everyone(), Figure::NONE);
        self.watch.count(self.nodes % STRIDE);
        match first {
            _ if self.cut => End::Cut,
            Some(groups) => End::First(groups),
            None => End::Done,
        }
    }

    /// Searches the next group. Returns the first good solution, if the aim asks only for the
    /// first.
    fn group(&mut self, left: Set, so_far: Figure) -> Option<Vec<Group>> {
        if left.is_empty() {
            return self.leaf();
        }
        let open = self.problem.groups.checked_sub(self.begun + 1)?;
        let mut best: Option<Vec<Group>> = None;
        for set in left.firsts(self.problem.cores) {
            let rest = left.without(set);
            if rest.len() > open * self.problem.cores || !self.problem.may_group(set) {
                continue;
            }
            let outside = so_far.and(self.tables.others(rest, open));
            let found = if self.cells.groups.is_empty() {
                self.begun += 1;
                let found = self.cluster(set, self.problem.model.ways(), (rest, so_far, outside));
                self.begun -= 1;
                found
            } else {
                self.only(set, rest, so_far, outside)
            };
            best = match (best, found) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            if self.cut {
                return None;
            }
        }
        best
    }

    /// Takes the only group that a set has.
    fn only(&mut self, set: Set, rest: Set, so_far: Figure, outside: Figure) -> Option<Vec<Group>> {
        let cells = self.cells;
        let (_, demands) = cells.groups[place(set)].as_ref()?;
        let figure = self.tables.of_group(set);
        if self.tick() || !self.tables.worth(outside.and(figure), self.bar) {
            return None;
        }
        let height = self.stack.len();
        self.picked.push((self.begun, set, 0));
        self.begun += 1;
        self.stack.extend_from_slice(demands);
        let found = self.group(rest, so_far.and(figure));
        self.stack.truncate(height);
        self.begun -= 1;
        self.picked.pop();
        found
    }

    /// Searches the next cluster of the current group; `beyond` = the programs of other groups, the
    /// figures without them, and the figures with them at their best.
    fn cluster(&mut self, left: Set, ways: usize, beyond: (Set, Figure, Figure)) -> Option<Vec<Group>> {
        let (others, so_far, outside) = beyond;
        if left.is_empty() {
            return self.group(others, so_far);
        }
        let height = self.stack.len();
        for cluster in left.firsts(self.problem.cluster_size()) {
            let rest = left.without(cluster);
            let sizes = if rest.is_empty() { ways..=ways } else { 1..=ways.saturating_sub(rest.len().min(1)) };
            for size in sizes.filter(|size| *size > 0) {
                let cell = self.tables.cell(cluster, size);
                if !cell.can_be()
                    || !self.tables.worth(outside.and(cell).and(self.tables.rest(rest, ways - size)), self.bar)
                {
                    continue;
                }
                if self.tick() {
                    return None;
                }
                let cells = self.cells;
                self.stack.extend_from_slice(cells.demands(cluster, size));
                self.picked.push((self.begun - 1, cluster, size));
                let next = (others, so_far.and(cell), outside.and(cell));
                let found = self.cluster(rest, ways - size, next);
                self.picked.pop();
                self.stack.truncate(height);
                if found.is_some() || self.cut {
                    return found;
                }
            }
        }
        None
    }

    /// The groups as currently picked.
    fn groups(&self) -> Vec<Group> {
        let mut groups = vec![Group::new(); self.begun];
        for (group, set, ways) in &self.picked {
            match self.cells.groups.get(place(*set)).and_then(Option::as_ref) {
                Some((only, _)) if *ways == 0 => groups[*group].clone_from(only),
                _ => groups[*group].push(Cluster { programs: set.list(), ways: *ways }),
            }
        }
        groups
    }

    fn leaf(&mut self) -> Option<Vec<Group>> {
        let point = match self.coupling {
            Coupling::Pressed(separable) => {
                separable.factors(&self.stack, &mut self.factors).ok()?;
                let slowdowns = self.stack.iter().zip(&self.factors).map(|(demand, factor)| demand.slowdown * factor);
                Point::of(slowdowns)
            }
            Coupling::Queue(_) => {
                let effects = self.problem.model.effects(&self.groups()).ok()?;
                Point::of(effects.iter().map(|effect| effect.slowdown))
            }
        }?;
        self.bar = self.aim.bar();
        let good = point.greatest <= self.bar.ratio * point.least && point.stp >= self.bar.stp;
        let first = good && self.aim.found(point, &|| self.groups());
        self.bar = self.aim.bar();
        first.then(|| self.groups())
    }

    /// Counts a node; `true` = stop.
    fn tick(&mut self) -> bool {
        self.nodes += 1;
        if self.nodes.is_multiple_of(STRIDE) {
            self.cut |= self.watch.count(STRIDE);
            self.bar = self.aim.bar();
        }
        self.cut |= self.nodes > self.budget;
        self.cut
    }
}
