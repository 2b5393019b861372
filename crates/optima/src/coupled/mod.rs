//! The search for problems in which all clusters share one memory controller: one LLC, or several
//! on a UMA machine.
//!
//! ```text
//! 1. a good solution by exchange (local.rs)
//! 2. the best figure      all slices of the pressure axis (slice.rs): discarded by their tables,
//!                         searched depth first (descend.rs), or, where that takes long, halved
//! 3. the other figure     the same over the slices that still matter, with the first as a limit
//! 4. the first solution   the same, in the order of solutions, with both as limits
//! ```
//!
//! The axis is the pressure of a separable model, or the wait in a queue (coupling.rs).

mod aim;
mod cells;
mod coupling;
mod descend;
mod figure;
mod slice;

use crate::group::Point;
use crate::independent::Settled;
use crate::options::{Objective, OptimaError};
use crate::problem::Problem;
use crate::rank::{Found, TIE};
use crate::watch::Watch;
use aim::{Best, Better, First};
use cells::{Cells, at};
pub(crate) use coupling::Coupling;
use descend::{Descent, End, SearchGoal};
use figure::Slice;
use isobar_partition::Group;
use isobar_partition::model::{Demand, Pressure};
use rayon::prelude::*;
use slice::{Bar, Tables};

/// Maximum number of programs for which tables are made (their size is 2^n, the time to fill them
/// 3^n).
pub(crate) const MOST: usize = 17;
/// Maximum number of halvings of an interval in the search for the greatest pressure.
const HALVINGS: u32 = 60;
/// Relative precision to which the greatest pressure is determined.
const ROUGHLY: f64 = 0.01;
/// A slice narrower than this fraction of its upper end is not halved any more.
const NARROW: f64 = 1e-7;

/// A slice with the bound of the objective in it.
#[derive(Clone, Copy, Debug)]
struct Open {
    slice: Slice,
    bound: f64,
}

/// The outcome of looking at a slice.
enum Fate {
    Done(Open, Option<Vec<Group>>),
    Halved([Open; 2]),
    Stopped(Open),
}

/// The outcome of looking at several slices: those that are done, with what was found in each, and
/// those that are still to be searched.
#[derive(Default)]
struct Round {
    done: Vec<(Open, Option<Vec<Group>>)>,
    open: Vec<Open>,
    stopped: bool,
}

/// Solves a problem whose clusters share a controller, starting from a known solution.
pub(crate) fn solve(
    problem: &Problem<'_>,
    coupling: &Coupling<'_>,
    start: Option<&Found>,
    watch: &Watch<'_>,
) -> Result<Settled, OptimaError> {
    let cells = Cells::new(problem, coupling.separable(), watch)?;
    if watch.stopped() {
        let groups = start.map(|found| found.solution.groups.clone());
        return Ok(Settled { groups, bound: problem.easy_bound() });
    }
    let search = Search { problem, coupling, cells, watch };
    let start = start.map(|found| {
        let slowdowns = found.evaluation.effects.iter().map(|effect| effect.slowdown);
        let groups = found.solution.groups.iter().filter(|group| !group.is_empty()).cloned().collect();
        Point::of(slowdowns).map(|point| (point, groups))
    });
    Ok(search.run(start.flatten()))
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    coupling: &'a Coupling<'a>,
    cells: Cells,
    watch: &'a Watch<'a>,
}

impl Search<'_> {
    fn run(&self, start: Best) -> Settled {
        let fair = self.problem.objective == Objective::Unfairness;
        let better =
            if fair { Better::fairest(f64::NEG_INFINITY, start) } else { Better::fastest(f64::INFINITY, start) };
        let worst = self.problem.easy_bound();
        let slices = self.slices().into_iter().map(|slice| Open { slice, bound: worst }).collect();
        let (slices, bound) = self.improve(&better, slices);
        let Some((point, groups)) = better.best() else { return Settled { groups: None, bound } };
        if self.watch.stopped() {
            return Settled { groups: Some(groups), bound };
        }
        let still = |open: &Open| {
            if fair {
                open.bound <= point.ratio() * (1.0 + 2.0 * TIE)
            } else {
                open.bound >= point.stp * (1.0 - 2.0 * TIE)
            }
        };
        let slices: Vec<Open> = slices.into_iter().filter(still).collect();
        let other = if fair {
            Better::fastest(point.ratio() * (1.0 + TIE), better.best())
        } else {
            Better::fairest(point.stp * (1.0 - TIE), better.best())
        };
        let (slices, _) = self.improve(&other, slices);
        let (best, groups) = other.best().unwrap_or((point, groups));
        let bar = if fair {
            Bar { ratio: point.ratio() * (1.0 + TIE), stp: best.stp * (1.0 - TIE) }
        } else {
            Bar { ratio: best.ratio() * (1.0 + TIE), stp: point.stp * (1.0 - TIE) }
        };
        let first = if self.watch.stopped() { None } else { self.first(bar, slices) };
        Settled { groups: Some(first.unwrap_or(groups)), bound }
    }

    /// Searches slices until all are done. Returns the slices, halved as needed, and the bound of
    /// the objective.
    fn improve(&self, aim: &Better, mut open: Vec<Open>) -> (Vec<Open>, f64) {
        let mut done = Vec::new();
        while !open.is_empty() {
            let round = self.round(aim, &open);
            done.extend(round.done.into_iter().map(|(open, _)| open));
            open = round.open;
            let bound = self.bound(aim.figure(), &open);
            self.watch.report(aim.figure(), bound);
            if round.stopped {
                return (done, bound);
            }
        }
        (done, aim.figure())
    }

    /// The first solution within a bar; also `None` if the search was stopped.
    fn first(&self, bar: Bar, mut open: Vec<Open>) -> Option<Vec<Group>> {
        let mut best: Option<Vec<Group>> = None;
        while !open.is_empty() {
            let round = self.round(&First(bar), &open);
            if round.stopped {
                return None;
            }
            best = best.into_iter().chain(round.done.into_iter().filter_map(|(_, found)| found)).min();
            open = round.open;
        }
        best
    }

    /// Looks at every open slice.
    fn round(&self, aim: &dyn SearchGoal, open: &[Open]) -> Round {
        let fates: Vec<Fate> = open.par_iter().with_max_len(1).map(|open| self.look(aim, *open)).collect();
        let mut round = Round::default();
        for fate in fates {
            match fate {
                Fate::Done(open, found) => round.done.push((open, found)),
                Fate::Halved(halves) => round.open.extend(halves),
                Fate::Stopped(open) => {
                    round.open.push(open);
                    round.stopped = true;
                }
            }
        }
        round
    }

    fn bound(&self, figure: f64, open: &[Open]) -> f64 {
        match self.problem.objective {
            Objective::Unfairness => open.iter().map(|open| open.bound).fold(figure, f64::min),
            Objective::Throughput => open.iter().map(|open| open.bound).fold(figure, f64::max),
        }
    }

    /// Discards, searches or halves one slice.
    fn look(&self, aim: &dyn SearchGoal, open: Open) -> Fate {
        if self.watch.stopped() {
            return Fate::Stopped(open);
        }
        // Solutions equal to the best so far must survive into the next stage, so the tables are
        // made for a bar that lets them pass.
        let bar = aim.bar();
        let loose = Bar {
            ratio: bar.ratio * (1.0 + 4.0 * TIE),
            stp: if bar.stp.is_finite() { bar.stp - 4.0 * TIE * bar.stp.abs() } else { bar.stp },
        };
        let tables = Tables::new(self.problem, &self.cells, self.coupling, (open.slice, loose), self.watch);
        if self.watch.stopped() {
            return Fate::Stopped(open);
        }
        let root = tables.root(self.problem);
        let bound = match self.problem.objective {
            Objective::Unfairness if root.can_be() => open.bound.max(root.ratio()),
            Objective::Unfairness => f64::INFINITY,
            Objective::Throughput => open.bound.min(root.stp),
        };
        let known = Open { bound, ..open };
        if !tables.worth(root, loose) {
            return Fate::Done(Open { bound: self.hopeless(), ..open }, None);
        }
        let width = open.slice.to - open.slice.from;
        let narrow = width <= NARROW * open.slice.to;
        let budget = if narrow { u64::MAX } else { self.budget() };
        let parts = (self.problem, self.coupling, &self.cells);
        match Descent::new(parts, &tables, aim, (self.watch, budget)).run() {
            End::Done => Fate::Done(known, None),
            End::First(groups) => Fate::Done(known, Some(groups)),
            End::Cut if self.watch.stopped() => Fate::Stopped(known),
            End::Cut => {
                let middle = f64::midpoint(open.slice.from, open.slice.to);
                let half = |from, to| Open { slice: Slice { from, to }, bound };
                Fate::Halved([half(open.slice.from, middle), half(middle, open.slice.to)])
            }
        }
    }

    /// The bound of a slice without solutions.
    fn hopeless(&self) -> f64 {
        match self.problem.objective {
            Objective::Unfairness => f64::INFINITY,
            Objective::Throughput => f64::NEG_INFINITY,
        }
    }

    /// The number of nodes that cost about as much as a slice's tables.
    fn budget(&self) -> u64 {
        let programs = isobar_model::num::narrow(self.problem.everyone().len());
        3_u64.saturating_pow(programs).max(4096)
    }

    /// The initial slices: one where bandwidth is not short, and one for the rest of the axis.
    fn slices(&self) -> Vec<Slice> {
        let none = Slice { from: 0.0, to: 0.0 };
        let pressure = match self.coupling {
            Coupling::Queue(queue) => return vec![Slice { from: 0.0, to: queue.model().longest() }],
            Coupling::Pressed(separable) => separable.pressure(),
        };
        let Some(pressure) = pressure else { return vec![none] };
        let most = self.most(pressure);
        if most > 0.0 { vec![none, Slice { from: 0.0, to: most }] } else { vec![none] }
    }

    /// A pressure that is never exceeded: beyond it, the sum of every program's greatest possible
    /// load is below the capacity. Any value, if the search is stopped.
    fn most(&self, pressure: &dyn Pressure) -> f64 {
        let by_program = self.demands();
        let reached = |p: f64| {
            if self.watch.count(0) {
                return false;
            }
            let load =
                |demands: &Vec<Demand>| demands.iter().map(|d| pressure.load(d, p)).fold(f64::NEG_INFINITY, f64::max);
            by_program.iter().map(load).sum::<f64>() >= pressure.capacity(p)
        };
        let (mut low, mut high) = (0.0, pressure.most().min(1.0));
        while high < pressure.most() && reached(high) {
            (low, high) = (high, high * 2.0);
        }
        for _ in 0..HALVINGS {
            if high - low <= ROUGHLY * high {
                break;
            }
            let middle = f64::midpoint(low, high);
            if reached(middle) { low = middle } else { high = middle }
        }
        high
    }

    /// All demands that a program can have.
    fn demands(&self) -> Vec<Vec<Demand>> {
        let mut demands = vec![Vec::new(); self.problem.everyone().len()];
        for (index, cell) in self.cells.clusters.iter().enumerate() {
            let Some(cell) = cell else { continue };
            for size in 1..=self.problem.model.ways() {
                at(index).iter().zip(cell.at(size)).for_each(|(program, demand)| demands[program].push(*demand));
            }
        }
        for (group, of_group) in self.cells.groups.iter().flatten() {
            let order = group.iter().flat_map(|cluster| cluster.programs.iter());
            order.zip(of_group).for_each(|(program, demand)| demands[*program].push(*demand));
        }
        demands
    }
}
