//! The search for problems in which every group has a memory controller of its own. Nothing in a
//! group depends on another group, so a group is solved once per *set* of programs and not once per
//! mapping, and a search covers all programs with sets.
//!
//! ```text
//! 1. every set's front (front.rs)       what a set offers to the others
//! 2. the best figure (window.rs)        over covers: least unfairness, or greatest throughput
//! 3. the other figure                   over covers that are as good in the first
//! 4. the first solution (first.rs)      among those that are as good in both
//! ```

mod cover;
mod first;
mod front;
mod weigh;
mod window;

use crate::count::subsets;
use crate::group::{Groups, Point, spelled};
use crate::local;
use crate::options::{Objective, OptimaError};
use crate::problem::{Menu, Problem};
use crate::rank::{STEP, TIE};
use crate::set::Set;
use crate::watch::Watch;
use cover::Cover;
use first::{Helpers, Limits};
use front::{Front, Keep, Matters, fronts, sets};
use isobar_partition::Group;
use weigh::Weigher;
use window::{Chosen, Window};

/// Maximum number of sets of programs that are listed.
const MOST: u128 = 1 << 24;
/// Maximum size of a set whose clusterings are enumerated.
const LARGEST: usize = 12;
/// With fewer groups than this the fronts take about a second, so no fallback solution is searched
/// first.
const SHORT: u128 = 1 << 24;

/// The result of a search: groups in any order, and the bound of the objective.
pub(crate) struct Settled {
    pub groups: Option<Vec<Group>>,
    pub bound: f64,
}

/// Solves a problem whose groups are independent.
pub(crate) fn solve(problem: &Problem<'_>, all: usize, watch: &Watch<'_>) -> Result<Settled, OptimaError> {
    let so_far = start_soon(problem, all, watch)?;
    if too_large(problem) {
        watch.give_up();
        return Ok(Settled { groups: so_far, bound: problem.easy_bound() });
    }
    let programs = problem.everyone().len();
    let helpers =
        Helpers { cover: Cover::new(programs, problem.cores), weigher: Weigher::new(programs, problem.cores) };
    let groups = Groups::new(problem, watch);
    let mut search = Search { problem, groups: &groups, watch, helpers, sets: sets(problem), so_far };
    let settled = match problem.objective {
        Objective::Unfairness => search.fairest(),
        Objective::Throughput => search.fastest(),
    };
    watch.count(search.helpers.cover.nodes + search.helpers.weigher.nodes);
    settled
}

/// Whether the sets cannot be listed, or the clusterings of one of them cannot be enumerated.
fn too_large(problem: &Problem<'_>) -> bool {
    let mapped = problem.mapping.as_ref().and_then(|sets| sets.iter().map(|set| set.len()).max());
    let sets = if mapped.is_some() { 1 } else { subsets(problem.everyone().len(), problem.cores) };
    let choice = matches!(problem.menu, Menu::Any | Menu::Alone);
    sets > MOST || (choice && mapped.unwrap_or(problem.cores) > LARGEST)
}

/// A fallback solution, if the search may take long.
fn start_soon(problem: &Problem<'_>, all: usize, watch: &Watch<'_>) -> Result<Option<Vec<Group>>, OptimaError> {
    let of_set = crate::count(problem.cores, 1, None, problem.model.ways()).solutions;
    let sets = subsets(problem.everyone().len(), problem.cores);
    if problem.model.separable().is_some() && of_set.saturating_mul(sets) < SHORT {
        return Ok(None);
    }
    Ok(local::search(problem, all, watch)?.map(|found| found.solution.groups))
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    groups: &'a Groups<'a>,
    watch: &'a Watch<'a>,
    helpers: Helpers,
    sets: Vec<Set>,
    so_far: Option<Vec<Group>>,
}

impl Search<'_> {
    fn fairest(&mut self) -> Result<Settled, OptimaError> {
        let plain = |_| Keep::all(Matters::Slowdowns);
        let Some(rough) = fronts(self.groups, &self.sets, &plain, self.watch)? else { return self.nothing() };
        let outcome = self.window(&rough, |window| window.fairest(f64::NEG_INFINITY));
        let Some((point, chosen)) = outcome.best else { return self.nothing() };
        self.watch.report(point.ratio(), outcome.bound);
        let so_far = Settled { groups: self.spelled(&rough, &chosen)?, bound: outcome.bound };
        if self.watch.stopped() {
            return Ok(so_far);
        }
        let ratio = point.ratio() * (1.0 + TIE);
        let window = Keep { ratio, ..reach(&rough, self.problem.everyone(), ratio) };
        let usable: Vec<Set> =
            rough.iter().filter(|front| front.points.iter().any(|p| window.takes(*p))).map(|front| front.set).collect();
        let Some(fine) = fronts(self.groups, &usable, &|_| window, self.watch)? else { return Ok(so_far) };
        let floor = point.stp * (1.0 - 2.0 * STEP);
        let fastest = self.window(&fine, |window| window.fastest(ratio, floor));
        let stp = fastest.best.map_or(floor, |(point, _)| point.stp);
        self.first(&fine, Limits { ratio, floor: stp * (1.0 - TIE) }, so_far)
    }

    fn fastest(&mut self) -> Result<Settled, OptimaError> {
        let plain = |_| Keep::all(Matters::Throughput);
        let everyone = self.problem.everyone();
        let Some(rough) = fronts(self.groups, &self.sets, &plain, self.watch)? else { return self.nothing() };
        let outcome = self.window(&rough, |window| window.fastest(f64::INFINITY, f64::NEG_INFINITY));
        let Some((point, chosen)) = outcome.best else { return self.nothing() };
        self.watch.report(point.stp, outcome.bound);
        let so_far = Settled { groups: self.spelled(&rough, &chosen)?, bound: outcome.bound };
        if self.watch.stopped() {
            return Ok(so_far);
        }
        let floor = point.stp * (1.0 - TIE);
        let weighed: Vec<_> =
            rough.iter().zip(0..).map(|(front, place)| (front.set, front.points[0].stp, place)).collect();
        let others = self.helpers.weigher.others(everyone, &weighed, self.problem.groups, floor);
        let groups = self.problem.groups;
        let keep = |set| Keep {
            stp: floor * (1.0 - STEP) - others.most(everyone.without(set), groups - 1),
            ..Keep::all(Matters::Both)
        };
        let Some(fine) = fronts(self.groups, &self.sets, &keep, self.watch)? else { return Ok(so_far) };
        let fairest = self.window(&fine, |window| window.fairest(floor));
        let ratio = fairest.best.map_or(f64::INFINITY, |(point, _)| point.ratio() * (1.0 + TIE));
        self.first(&fine, Limits { ratio, floor }, so_far)
    }

    fn window<T>(&mut self, fronts: &[Front], ask: impl FnOnce(&mut Window<'_>) -> T) -> T {
        let tools = (&mut self.helpers.cover, &mut self.helpers.weigher);
        ask(&mut Window::new(fronts, (self.problem.everyone(), self.problem.groups), self.watch, tools))
    }

    fn first(&mut self, fine: &[Front], limits: Limits, so_far: Settled) -> Result<Settled, OptimaError> {
        if self.watch.stopped() {
            return Ok(so_far);
        }
        let found = first::first((self.problem, self.groups), fine, limits, &mut self.helpers, self.watch)?;
        Ok(Settled { groups: found.or(so_far.groups), bound: so_far.bound })
    }

    /// The groups that a cover stands for.
    fn spelled(&self, fronts: &[Front], chosen: &Chosen) -> Result<Option<Vec<Group>>, OptimaError> {
        chosen.iter().map(|(place, point)| self.group(fronts[*place].set, |other| other == *point)).collect()
    }

    fn group(&self, set: Set, is: impl Fn(Point) -> bool) -> Result<Option<Group>, OptimaError> {
        let mut group = None;
        self.groups.each(set, f64::INFINITY, &mut |point, picked| {
            if is(point) {
                group = Some(spelled(picked));
            }
            group.is_none()
        })?;
        Ok(group)
    }

    /// The result if there was no time for the fronts: the fallback solution.
    fn nothing(&self) -> Result<Settled, OptimaError> {
        let groups = match &self.so_far {
            Some(groups) => Some(groups.clone()),
            None => local::search(self.problem, self.problem.groups, self.watch)?.map(|found| found.solution.groups),
        };
        Ok(Settled { groups, bound: self.problem.easy_bound() })
    }
}

/// The window that contains the slowdowns of every solution with at most this unfairness. For each
/// program, take the lowest ceiling (greatest slowdown) and the highest floor (least slowdown) that
/// its sets offer. A solution's greatest slowdown is at least the largest of these ceilings, and
/// its least slowdown is at most the smallest of these floors.
fn reach(fronts: &[Front], everyone: Set, ratio: f64) -> Keep {
    let (mut lowest, mut highest) = ([f64::INFINITY; 64], [0.0_f64; 64]);
    for front in fronts {
        let least = front.points.iter().map(|point| point.least).fold(0.0, f64::max);
        let greatest = front.points.iter().map(|point| point.greatest).fold(f64::INFINITY, f64::min);
        for program in front.set.iter() {
            lowest[program] = lowest[program].min(greatest);
            highest[program] = highest[program].max(least);
        }
    }
    let slowest = everyone.iter().map(|program| lowest[program]).fold(0.0, f64::max);
    let fastest = everyone.iter().map(|program| highest[program]).fold(f64::INFINITY, f64::min);
    Keep { least: slowest / ratio * (1.0 - STEP), greatest: fastest * ratio * (1.0 + STEP), ..Keep::all(Matters::Both) }
}
