//! The six problems, by name, and the choice of a search for each.

use crate::coupled::{self, Coupling};
use crate::independent::{self, Settled};
use crate::local;
use crate::options::{Objective, OptimaError, Optimum, Options};
use crate::problem::{Heuristic, Menu, Problem, solution};
use crate::rank::Found;
use crate::set::Set;
use crate::walk;
use crate::watch::Watch;
use isobar_partition::Group;
use isobar_partition::evaluate::evaluate;
use isobar_partition::model::StaticModel;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Maximum number of heuristic answers that are kept.
const KEPT: usize = 1 << 20;

/// The best way to give every program a partition of its own, on one LLC. All ways are used.
///
/// # Errors
/// [`OptimaError`].
pub fn opt_part(model: &dyn StaticModel, options: &Options<'_>) -> Result<Optimum, OptimaError> {
    one_llc(model, Menu::Alone, options)
}

/// The best way to share one LLC: any programs may share a partition. All ways are used.
///
/// # Errors
/// [`OptimaError`].
pub fn opt_cluster(model: &dyn StaticModel, options: &Options<'_>) -> Result<Optimum, OptimaError> {
    one_llc(model, Menu::Any, options)
}

/// The best mapping of programs to groups if no cache is partitioned: all programs of a group share
/// all its ways.
///
/// # Errors
/// [`OptimaError`].
pub fn opt_map(model: &dyn StaticModel, options: &Options<'_>) -> Result<Optimum, OptimaError> {
    run(&Problem::new(model, Menu::Whole, options)?, options)
}

/// [`opt_map`]'s mapping, and the best clusterings of its groups, found jointly, for that mapping.
/// Nodes are those of both searches. If the first search was stopped, nothing is proved.
///
/// # Errors
/// [`OptimaError`].
pub fn opt_map_then_part(model: &dyn StaticModel, options: &Options<'_>) -> Result<Optimum, OptimaError> {
    let mapped = opt_map(model, options)?;
    let sets = mapped.solution.groups.iter().filter(|group| !group.is_empty()).map(of_group).collect();
    let problem = Problem { mapping: Some(sets), ..Problem::new(model, Menu::Any, options)? };
    let parted = run(&problem, options)?;
    Ok(Optimum {
        proved_optimal: mapped.proved_optimal && parted.proved_optimal,
        nodes_explored: mapped.nodes_explored + parted.nodes_explored,
        ..parted
    })
}

/// The best mapping if every group is partitioned by `partition`. `partition` is called once per
/// set of programs (ascending), from several threads; its answers are kept for the first million
/// sets.
///
/// # Errors
/// [`OptimaError`].
pub fn best_map(
    model: &dyn StaticModel,
    options: &Options<'_>,
    partition: Heuristic<'_>,
) -> Result<Optimum, OptimaError> {
    let known: Mutex<BTreeMap<Vec<usize>, Group>> = Mutex::new(BTreeMap::new());
    let table = || known.lock().unwrap_or_else(PoisonError::into_inner);
    let once = |programs: &[usize]| {
        if let Some(group) = table().get(programs) {
            return group.clone();
        }
        let group = partition(programs);
        let mut table = table();
        if table.len() < KEPT {
            table.insert(programs.to_vec(), group.clone());
        }
        group
    };
    run(&Problem::new(model, Menu::Given(&once), options)?, options)
}

/// The joint optimum: the best mapping and clusterings together.
///
/// # Errors
/// [`OptimaError`].
pub fn optimal(model: &dyn StaticModel, options: &Options<'_>) -> Result<Optimum, OptimaError> {
    run(&Problem::new(model, Menu::Any, options)?, options)
}

fn one_llc(model: &dyn StaticModel, menu: Menu<'_>, options: &Options<'_>) -> Result<Optimum, OptimaError> {
    let options = Options { groups: 1, cores: None, ..*options };
    run(&Problem::new(model, menu, &options)?, &options)
}

fn of_group(group: &Group) -> Set {
    group.iter().fold(Set(0), |set, cluster| set.with(Set::of(&cluster.programs)))
}

fn run(problem: &Problem<'_>, options: &Options<'_>) -> Result<Optimum, OptimaError> {
    let watch = Watch::new(options);
    let (found, bound) = search(problem, options, &watch)?;
    match found {
        Some(found) => Ok(optimum(problem, found, bound, &watch)),
        None if watch.stopped() => Err(OptimaError::Stopped),
        None => Err(no_meaning(problem, options.groups)),
    }
}

/// Chooses the search by how the groups are coupled, and by size.
fn search(
    problem: &Problem<'_>,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Result<(Option<Found>, f64), OptimaError> {
    if problem.groups > 1 && !problem.model.shared_controller() {
        return named(problem, independent::solve(problem, options.groups, watch)?, options);
    }
    let start = local::search(problem, options.groups, watch)?;
    match Coupling::of(problem.model) {
        Some(coupling) if problem.everyone().len() <= coupled::MOST => {
            named(problem, coupled::solve(problem, &coupling, start.as_ref(), watch)?, options)
        }
        Some(_) => {
            watch.give_up();
            Ok((start, problem.easy_bound()))
        }
        None => {
            let walked = walk::walk(problem, options.groups, start, watch)?;
            let proved = walked.best.as_ref().filter(|_| !watch.stopped());
            let proved = proved.map(|best| best.figure(problem.objective));
            Ok((walked.best, proved.unwrap_or_else(|| problem.easy_bound())))
        }
    }
}

fn named(problem: &Problem<'_>, settled: Settled, options: &Options<'_>) -> Result<(Option<Found>, f64), OptimaError> {
    let found = settled.groups.map(|groups| judged(problem, groups, options.groups)).transpose()?;
    Ok((found, settled.bound))
}

fn judged(problem: &Problem<'_>, groups: Vec<Group>, all: usize) -> Result<Found, OptimaError> {
    let solution = solution(groups, all);
    let evaluation = evaluate(problem.model, &solution).map_err(OptimaError::NoMeaning)?;
    Ok(Found { solution, evaluation })
}

/// A reason why no solution has a meaning: that of the first solution.
fn no_meaning(problem: &Problem<'_>, all: usize) -> OptimaError {
    let stop = || true;
    let options = Options { stop: &stop, ..Options::new(problem.objective) };
    match walk::walk(problem, all, None, &Watch::new(&options)) {
        Ok(walked) => walked.meaningless.map_or(OptimaError::Stopped, OptimaError::NoMeaning),
        Err(error) => error,
    }
}

fn optimum(problem: &Problem<'_>, found: Found, bound: f64, watch: &Watch<'_>) -> Optimum {
    let figure = found.figure(problem.objective);
    let bound = match problem.objective {
        Objective::Unfairness => bound.min(figure),
        Objective::Throughput => bound.max(figure),
    };
    watch.report(figure, bound);
    Optimum {
        solution: found.solution,
        evaluation: found.evaluation,
        proved_optimal: !watch.stopped(),
        bound,
        nodes_explored: watch.nodes(),
    }
}
