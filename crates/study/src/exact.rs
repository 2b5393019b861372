//! The exact searches of `isobar-optima`, by name. It ends a search in time; what is searched and how is decided there.

use super::algorithms::{self, Answer};
use super::ask::{Objective, Setup};
use super::row::Measures;
use super::{Standing, Watch};
use isobar_optima::{OptimaError, Optimum, Options};
use isobar_partition::Group;
use isobar_partition::heuristics::{self, Rule, Scope};
use isobar_partition::model::StaticModel;

/// Sets of programs are bits of a word.
pub(super) const MOST_EXACT: usize = 64;

type Search = fn(&dyn StaticModel, &Setup, &Options<'_>) -> Result<Optimum, OptimaError>;

/// One exact search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exact {
    pub name: &'static str,
    pub summary: &'static str,
    pub scope: Scope,
    /// Whether its optimum is that of all solutions.
    all_solutions: bool,
    search: Search,
}

/// All of them.
pub(super) const EXACT: &[Exact] = &[
    Exact {
        name: "opt-part",
        summary: "exact: the best partition for every program by itself, on one LLC",
        scope: Scope::OneLlc,
        all_solutions: false,
        search: |model, _, options| isobar_optima::opt_part(model, options),
    },
    Exact {
        name: "opt-cluster",
        summary: "exact: the best clusters of programs and their ways, on one LLC",
        scope: Scope::OneLlc,
        all_solutions: true,
        search: |model, _, options| isobar_optima::opt_cluster(model, options),
    },
    Exact {
        name: "opt-map",
        summary: "exact: the best mapping to LLCs, nothing partitioned",
        scope: Scope::Groups,
        all_solutions: false,
        search: |model, _, options| isobar_optima::opt_map(model, options),
    },
    Exact {
        name: "opt-map+opt-part",
        summary: "exact: opt-map, and then the best clusters for that mapping",
        scope: Scope::Groups,
        all_solutions: false,
        search: |model, _, options| isobar_optima::opt_map_then_part(model, options),
    },
    Exact {
        name: "best-map+lfoc+",
        summary: "exact: the best mapping where every LLC is partitioned by lfoc+",
        scope: Scope::Groups,
        all_solutions: false,
        search: best_map_lfoc_plus,
    },
    Exact {
        name: "optimal",
        summary: "exact: the best mapping and clusters together",
        scope: Scope::Groups,
        all_solutions: true,
        search: |model, _, options| isobar_optima::optimal(model, options),
    },
];

fn best_map_lfoc_plus(model: &dyn StaticModel, setup: &Setup, options: &Options<'_>) -> Result<Optimum, OptimaError> {
    let setting = algorithms::setting(model, setup);
    let rule = heuristics::by_name("lfoc+").map(|entry| entry.rule);
    let partition = |programs: &[usize]| match rule {
        // What it refuses is no answer, and the search says so.
        Some(Rule::OneLlc(partition)) => partition(model, programs, &setting).unwrap_or_default(),
        _ => Group::new(),
    };
    isobar_optima::best_map(model, options, &partition)
}

/// Searches until it is done, somebody asks to stop, or its time is over.
pub(super) fn search(
    search: &Exact,
    model: &dyn StaticModel,
    setup: &Setup,
    workload: usize,
    watch: &dyn Watch,
) -> Answer {
    let begun = watch.elapsed();
    let stop =
        || watch.stopped() || setup.time_limit.is_some_and(|limit| watch.elapsed().saturating_sub(begun) >= limit);
    let progress = |now: isobar_optima::Progress| {
        let gap = 100.0 * now.gap();
        watch.search(&Standing {
            algorithm: search.name,
            workload,
            best: Some(now.best).filter(|best| best.is_finite()),
            gap_percent: Some(gap).filter(|gap| gap.is_finite()),
            nodes: now.nodes,
        });
    };
    let options = Options {
        objective: match setup.objective {
            Objective::Unfairness => isobar_optima::Objective::Unfairness,
            Objective::Stp => isobar_optima::Objective::Throughput,
        },
        groups: setup.groups(),
        cores: Some(setup.cores(model.programs().len())),
        stop: &stop,
        progress: &progress,
    };
    match (search.search)(model, setup, &options) {
        Ok(found) if found.proved_optimal => answer(found),
        Ok(found) => better(search, model, setup, answer(found)),
        Err(error) => {
            let none = Answer { problem: Some(error.to_string()), ..Answer::default() };
            if error == OptimaError::Stopped { better(search, model, setup, none) } else { none }
        }
    }
}

fn answer(found: Optimum) -> Answer {
    Answer {
        solution: Some(found.solution),
        figures: Some(found.evaluation),
        problem: None,
        nodes_explored: found.nodes_explored,
        proved_optimal: found.proved_optimal,
        bound: Some(found.bound).filter(|bound| bound.is_finite()),
    }
}

/// A search that was stopped may have less than what a heuristic finds at once: then that is the best so far, where the search looks at all
/// solutions. What bounds the search bounds it too.
fn better(search: &Exact, model: &dyn StaticModel, setup: &Setup, found: Answer) -> Answer {
    let worth = |answer: &Answer| worth(setup.objective, answer);
    let (nodes_explored, own) = (found.nodes_explored, found.bound);
    // A search that proved nothing and names its own figure as the bound has none.
    let known =
        own.filter(|bound| setup.objective.figure(&found).is_none_or(|figure| (figure / bound - 1.0).abs() > SAME));
    let bound = known.or_else(|| trivial(setup.objective, model));
    let others = heuristics::registry().iter().filter(|entry| setup.groups() > 1 || entry.scope() == Scope::OneLlc);
    let others = others.filter(|_| search.all_solutions).map(|entry| algorithms::heuristic(entry, model, setup));
    let best = others.fold(found, |best, other| if worth(&other) > worth(&best) { other } else { best });
    Answer { nodes_explored, bound, ..best }
}

/// Figures are equal up to this part.
const SAME: f64 = 1e-9;

/// More is better.
fn worth(objective: Objective, answer: &Answer) -> Option<f64> {
    let figure = objective.figure(answer)?;
    Some(if objective == Objective::Unfairness { -figure } else { figure })
}

impl Objective {
    fn figure(self, answer: &Answer) -> Option<f64> {
        let all = answer.figures.as_ref()?.summary;
        Some(if self == Self::Unfairness { all.unfairness } else { all.stp })
    }
}

/// What no solution goes beyond, whatever is searched: equal slowdowns; nobody slowed down more than alone.
fn trivial(objective: Objective, model: &dyn StaticModel) -> Option<f64> {
    let least = (0..model.programs().len()).map(|program| model.least_slowdown(program, model.ways()));
    match objective {
        Objective::Unfairness => Some(1.0),
        Objective::Stp => Some(least.map(|slowdown| 1.0 / slowdown).sum()).filter(|bound: &f64| bound.is_finite()),
    }
}

/// How far a solution may be from the best, in percent of it.
pub(super) fn gap_percent(objective: Objective, measures: &Measures, bound: Option<f64>) -> Option<f64> {
    let best = match objective {
        Objective::Unfairness => measures.unfairness,
        Objective::Stp => measures.stp,
    }?;
    // A proof may end a rounding error beyond the solution.
    Some(100.0 * ((best - bound?) / best).abs()).map(|gap| if gap < 1e-7 { 0.0 } else { gap })
}
