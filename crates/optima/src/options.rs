//! The options of a search, and its result.

use isobar_partition::Solution;
use isobar_partition::evaluate::Evaluation;
use isobar_partition::model::Meaningless;

/// What is to be best. Figures within [`crate::TIE`] of each other count as equal; then the other
/// figure decides; then the solution that is first in the order of [`Solution`] (in canonical form,
/// groups ordered by their first program, groups without programs last).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Objective {
    /// Least greatest-over-least slowdown; among equals the higher throughput.
    Unfairness,
    /// Greatest throughput (STP); among equals the lower unfairness.
    Throughput,
}

impl Objective {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Unfairness, Self::Throughput];

    /// Its name in options and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.of("unfairness", "stp")
    }

    /// The one of two figures that it is about.
    #[must_use]
    pub const fn of<T: Copy>(self, unfairness: T, stp: T) -> T {
        match self {
            Self::Unfairness => unfairness,
            Self::Throughput => stp,
        }
    }
}

/// How a search is to run.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// What is to be best.
    pub objective: Objective,
    /// Groups (LLCs) of the machine, each with all the model's ways. `opt_part` and `opt_cluster`
    /// have one, whatever stands here.
    pub groups: usize,
    /// The most programs that a group can run; `None` = no limit. A group may run fewer, or none.
    pub cores: Option<usize>,
    /// Called now and then: `true` ends the search with the best so far.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Called now and then, from any thread.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Options<'_> {
    /// One group without a limit of cores; never stops early, reports nothing.
    #[must_use]
    pub fn new(objective: Objective) -> Self {
        Self { objective, groups: 1, cores: None, stop: &|| false, progress: &|_| () }
    }
}

/// How far a search is. Both figures are those of the objective: unfairness, or throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The best so far.
    pub best: f64,
    /// No solution can be better than this.
    pub bound: f64,
    /// Nodes explored so far.
    pub nodes: u64,
}

impl Progress {
    /// By what part of the best so far the bound is better: 0 = proved.
    #[must_use]
    pub fn gap(&self) -> f64 {
        ((self.best - self.bound) / self.best).abs()
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// The solution, in canonical form.
    pub solution: Solution,
    /// What [`isobar_partition::evaluate::evaluate`] says of it, to the bit.
    pub evaluation: Evaluation,
    /// Whether the search ended by itself. If not, the solution is the best so far.
    pub proved_optimal: bool,
    /// No solution has a better objective than this (up to [`crate::TIE`]): a lower bound of
    /// unfairness, an upper one of throughput.
    pub bound: f64,
    /// Partial and whole solutions looked at. Varies a little from run to run where several threads
    /// search.
    pub nodes_explored: u64,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptimaError {
    /// An empty workload.
    #[error("the workload has no programs; name at least one")]
    NoPrograms,
    /// More programs than a search can distinguish.
    #[error("{0} programs are more than the 64 that an exact search takes; use a heuristic")]
    TooMany(usize),
    /// More programs than cores.
    #[error("{programs} programs do not fit {groups} groups of {cores} cores; give more groups or cores")]
    NoRoom {
        /// programs of the workload
        programs: usize,
        /// requested groups
        groups: usize,
        /// cores of each
        cores: usize,
    },
    /// One partition a program needs a way each.
    #[error("{programs} programs need at least a way each and the cache has {ways}; use opt-cluster")]
    TooFewWays {
        /// programs of the workload
        programs: usize,
        /// ways of the cache
        ways: usize,
    },
    /// A heuristic's group that is no answer to its question.
    #[error("the partitioning heuristic gave an answer that cannot be for programs {programs:?}: {why}")]
    Heuristic {
        /// the programs of the request
        programs: Vec<usize>,
        /// what is wrong
        why: String,
    },
    /// No solution has a meaning under the model; one of the reasons.
    #[error("no solution has a meaning: {0}")]
    NoMeaning(#[source] Meaningless),
    /// Stopped before anything was found.
    #[error("stopped before the first solution was found; allow more time")]
    Stopped,
}
