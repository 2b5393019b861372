//! Answers a workload by a heuristic, by an exact search or with a given solution, always with the
//! figures of the model. Knows how to call an algorithm and when to stop it. The algorithms
//! themselves are elsewhere.

use crate::exact::Exact;
use crate::row::Measures;
use crate::setup::Setup;
use crate::watch::{SearchState, Watch};
use isobar_optima::{Objective, OptimaError, Optimum, Options};
use isobar_partition::Solution;
use isobar_partition::evaluate::{Evaluation, evaluate};
use isobar_partition::heuristics::{self, Entry, Scope, Setting};
use isobar_partition::model::StaticModel;

/// An answer with its figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub solution: Option<Solution>,
    pub figures: Option<Evaluation>,
    /// Why there is no solution, or why there are no figures.
    pub problem: Option<String>,
    pub nodes_explored: u64,
    pub proved_optimal: bool,
    pub bound: Option<f64>,
}

/// The parameters that a heuristic gets.
fn setting(model: &dyn StaticModel, setup: &Setup) -> Setting {
    let programs = model.programs().len();
    Setting {
        cores_per_group: setup.cores(programs),
        max_bandwidth: setup.bandwidth,
        ..Setting::new(setup.groups(), programs)
    }
}

/// A heuristic's answer.
pub(crate) fn heuristic(entry: &Entry, model: &dyn StaticModel, setup: &Setup) -> Answer {
    match entry.run(model, &setting(model, setup)) {
        Ok(solution) => evaluated(model, solution),
        Err(error) => Answer { problem: Some(error.to_string()), ..Answer::default() },
    }
}

/// A solution with its figures.
pub(crate) fn evaluated(model: &dyn StaticModel, solution: Solution) -> Answer {
    let valid = solution.validate(model.programs().len(), model.ways()).map_err(|error| error.to_string());
    let figures = valid.and_then(|()| evaluate(model, &solution).map_err(|error| error.to_string()));
    let problem = figures.as_ref().err().cloned();
    Answer { solution: Some(solution), figures: figures.ok(), problem, ..Answer::default() }
}

/// A search's answer. Ends when the search is done, the observer says stop, or its time limit is
/// over.
pub(crate) fn search(
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
        watch.search(&SearchState {
            algorithm: search.name,
            workload,
            best: Some(now.best).filter(|best| best.is_finite()),
            gap_percent: Some(gap).filter(|gap| gap.is_finite()),
            nodes: now.nodes,
        });
    };
    let options = Options {
        objective: setup.objective,
        groups: setup.groups(),
        cores: Some(setup.cores(model.programs().len())),
        stop: &stop,
        progress: &progress,
    };
    match (search.search)(model, &setting(model, setup), &options) {
        Ok(found) if found.proved_optimal => found_by(found),
        Ok(found) => better(search, model, setup, found_by(found)),
        Err(error) => {
            let none = Answer { problem: Some(error.to_string()), ..Answer::default() };
            if error == OptimaError::Stopped { better(search, model, setup, none) } else { none }
        }
    }
}

fn found_by(found: Optimum) -> Answer {
    Answer {
        solution: Some(found.solution),
        figures: Some(found.evaluation),
        problem: None,
        nodes_explored: found.nodes_explored,
        proved_optimal: found.proved_optimal,
        bound: Some(found.bound).filter(|bound| bound.is_finite()),
    }
}

/// A search that was stopped may have less than a heuristic finds at once. If the search covers all
/// solutions, the best of its own and the heuristics' answers is returned. The bound of the search
/// holds for that answer, too.
fn better(search: &Exact, model: &dyn StaticModel, setup: &Setup, found: Answer) -> Answer {
    let worth = |answer: &Answer| worth(setup.objective, answer);
    let (nodes_explored, own) = (found.nodes_explored, found.bound);
    // If a search proved nothing and returns its own figure as the bound, it has no bound.
    let known =
        own.filter(|bound| figure(setup.objective, &found).is_none_or(|figure| (figure / bound - 1.0).abs() > SAME));
    let bound = known.or_else(|| trivial(setup.objective, model));
    let others = heuristics::registry().iter().filter(|entry| setup.groups() > 1 || entry.scope() == Scope::OneLlc);
    let others = others.filter(|_| search.all_solutions).map(|entry| heuristic(entry, model, setup));
    let best = others.fold(found, |best, other| if worth(&other) > worth(&best) { other } else { best });
    Answer { nodes_explored, bound, ..best }
}

/// Figures that differ by less than this fraction are equal.
const SAME: f64 = 1e-9;

/// The figure of an answer, with its sign chosen so that more is better.
fn worth(objective: Objective, answer: &Answer) -> Option<f64> {
    let figure = figure(objective, answer)?;
    Some(objective.of(-figure, figure))
}

fn figure(objective: Objective, answer: &Answer) -> Option<f64> {
    let all = answer.figures.as_ref()?.summary;
    Some(objective.of(all.unfairness, all.stp))
}

/// A bound that no solution exceeds, whatever is searched: equal slowdowns; every program as fast
/// as alone.
fn trivial(objective: Objective, model: &dyn StaticModel) -> Option<f64> {
    let least = (0..model.programs().len()).map(|program| model.least_slowdown(program, model.ways()));
    match objective {
        Objective::Unfairness => Some(1.0),
        Objective::Throughput => {
            Some(least.map(|slowdown| 1.0 / slowdown).sum()).filter(|bound: &f64| bound.is_finite())
        }
    }
}

/// How far a solution may be from the optimum, in percent of its own figure.
pub(crate) fn gap_percent(objective: Objective, measures: &Measures, bound: Option<f64>) -> Option<f64> {
    let best = objective.of(measures.unfairness, measures.stp)?;
    // A proof may end a rounding error beyond the solution.
    Some(100.0 * ((best - bound?) / best).abs()).map(|gap| if gap < 1e-7 { 0.0 } else { gap })
}
