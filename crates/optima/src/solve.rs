//! The six problems, by name.

use crate::options::{OptimaError, Optimum, Options};
use crate::problem::{Heuristic, Menu, Problem};
use crate::rank::{Figures, Found};
use crate::set::Set;
use crate::walk;
use crate::watch::Watch;
use isobar_partition::Group;
use isobar_partition::model::StaticModel;

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

/// The best mapping of programs to groups where nobody partitions: all programs of a group share all its ways.
///
/// # Errors
/// [`OptimaError`].
pub fn opt_map(model: &dyn StaticModel, options: &Options<'_>) -> Result<Optimum, OptimaError> {
    run(&Problem::new(model, Menu::Whole, options)?, options)
}

/// [`opt_map`]'s mapping, and the best clusterings of its groups, jointly, for that mapping. Nodes of both searches; where the first
/// one was stopped, nothing is proved.
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

/// The best mapping where every group is partitioned as `partition` says (asked at most once or twice per set of programs; programs
/// ascending).
///
/// # Errors
/// [`OptimaError`].
pub fn best_map(
    model: &dyn StaticModel,
    options: &Options<'_>,
    partition: Heuristic<'_>,
) -> Result<Optimum, OptimaError> {
    run(&Problem::new(model, Menu::Given(partition), options)?, options)
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
    let walked = walk::walk(problem, options.groups, &watch);
    match (walked.best, walked.meaningless) {
        (Some(found), _) => Ok(optimum(problem, found, &watch)),
        (None, _) if watch.stopped() => Err(OptimaError::Stopped),
        (None, Some(why)) => Err(OptimaError::NoMeaning(why)),
        (None, None) => Err(OptimaError::NoPrograms),
    }
}

fn optimum(problem: &Problem<'_>, found: Found, watch: &Watch<'_>) -> Optimum {
    let bound = Figures::from(&found.evaluation).objective(problem.objective);
    Optimum {
        solution: found.solution,
        evaluation: found.evaluation,
        proved_optimal: !watch.stopped(),
        bound,
        nodes_explored: watch.nodes(),
    }
}
