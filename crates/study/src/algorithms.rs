//! The algorithms of a study by name: the heuristics of the field, the exact searches, and what a file says. One call for all of them.

use super::ask::Setup;
use super::exact::{self, Exact};
use isobar_partition::Solution;
use isobar_partition::evaluate::{Evaluation, evaluate};
use isobar_partition::heuristics::{self, Entry, Scope, Setting};
use isobar_partition::model::StaticModel;

pub(super) use super::exact::MOST_EXACT;

/// What answers a workload.
#[derive(Clone, Copy, Debug)]
pub(super) enum Algorithm {
    /// A heuristic of the registry.
    Heuristic(&'static Entry),
    /// An exact search.
    Exact(&'static Exact),
    /// Solutions from a file.
    Fixed,
}

/// An answer with its figures.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub solution: Option<Solution>,
    pub figures: Option<Evaluation>,
    /// Why there is no solution or there are no figures.
    pub problem: Option<String>,
    pub nodes_explored: u64,
    pub proved_optimal: bool,
    pub bound: Option<f64>,
}

impl Algorithm {
    /// As `--algorithm` takes it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Heuristic(entry) => entry.name,
            Self::Exact(exact) => exact.name,
            Self::Fixed => "fixed",
        }
    }

    /// What it decides; a file decides nothing.
    pub const fn scope(&self) -> Option<Scope> {
        match self {
            Self::Heuristic(entry) => Some(entry.scope()),
            Self::Exact(exact) => Some(exact.scope),
            Self::Fixed => None,
        }
    }
}

/// All but `fixed`, in the order in which a help text lists them.
pub(super) fn all() -> Vec<Algorithm> {
    heuristics::registry().iter().map(Algorithm::Heuristic).chain(exact::EXACT.iter().map(Algorithm::Exact)).collect()
}

/// The algorithm of a name.
pub(super) fn find(name: &str) -> Option<Algorithm> {
    all().into_iter().chain([Algorithm::Fixed]).find(|one| one.name() == name)
}

/// Every name that `--algorithm` takes.
pub(super) fn names() -> Vec<&'static str> {
    all().iter().map(Algorithm::name).chain(["fixed", "all"]).collect()
}

/// One line for each algorithm: its name, and what it does.
#[must_use]
pub fn described() -> Vec<(&'static str, &'static str)> {
    let one = |algorithm: &Algorithm| match algorithm {
        Algorithm::Heuristic(entry) => (entry.name, entry.summary),
        Algorithm::Exact(exact) => (exact.name, exact.summary),
        Algorithm::Fixed => ("fixed", "the solutions of --solution FILE, as they are"),
    };
    all().iter().chain([&Algorithm::Fixed]).map(one).collect()
}

/// What heuristics are told.
pub(super) fn setting(model: &dyn StaticModel, setup: &Setup) -> Setting {
    let programs = model.programs().len();
    Setting {
        cores_per_group: setup.cores(programs),
        max_bandwidth: setup.bandwidth,
        ..Setting::new(setup.groups(), programs)
    }
}

/// A heuristic's answer.
pub(super) fn heuristic(entry: &Entry, model: &dyn StaticModel, setup: &Setup) -> Answer {
    match entry.run(model, &setting(model, setup)) {
        Ok(solution) => evaluated(model, solution),
        Err(error) => Answer { problem: Some(error.to_string()), ..Answer::default() },
    }
}

/// A solution with its figures.
pub(super) fn evaluated(model: &dyn StaticModel, solution: Solution) -> Answer {
    let valid = solution.validate(model.programs().len(), model.ways()).map_err(|error| error.to_string());
    let figures = valid.and_then(|()| evaluate(model, &solution).map_err(|error| error.to_string()));
    let problem = figures.as_ref().err().cloned();
    Answer { solution: Some(solution), figures: figures.ok(), problem, ..Answer::default() }
}
