//! The options of a search, and its result.

use isobar_partition::Solution;
use isobar_partition::evaluate::Evaluation;
use isobar_partition::model::Meaningless;

/// What to optimise. Figures within [`crate::TIE`] of each other count as equal; then the other
/// figure decides, then the order of [`Solution`], the first winning (in canonical form, groups
/// ordered by their first program, groups without programs last).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Objective {
    /// Lowest ratio of greatest to least slowdown; among equals the higher throughput.
    Unfairness,
    /// Greatest throughput (STP); among equals the lower unfairness.
    Throughput,
}

impl Objective {
    /// Both objectives.
    pub const ALL: [Self; 2] = [Self::Unfairness, Self::Throughput];

    /// Its name in options and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.of("unfairness", "stp")
    }

    /// Of two figures, the one that the objective optimises.
    #[must_use]
    pub const fn of<T: Copy>(self, unfairness: T, stp: T) -> T {
        match self {
            Self::Unfairness => unfairness,
            Self::Throughput => stp,
        }
    }
}

/// How to run a search.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// What to optimise.
    pub objective: Objective,
    /// Number of groups (LLCs) of the machine, each with all the model's ways. `opt_part` and
    /// `opt_cluster` always use one group.
    pub groups: usize,
    /// Maximum number of programs in a group; `None` = no limit. A group may run fewer, or none.
    pub cores: Option<usize>,
    /// Called from time to time: `true` ends the search with the best solution so far.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Called from time to time, from any thread.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Options<'_> {
    /// One group without a limit of cores; never stops early and reports nothing.
    #[must_use]
    pub fn new(objective: Objective) -> Self {
        Self { objective, groups: 1, cores: None, stop: &|| false, progress: &|_| () }
    }
}

/// The progress of a search. Both figures are those of the objective: unfairness, or throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The figure of the best solution so far.
    pub best: f64,
    /// A bound: no solution can be better than this.
    pub bound: f64,
    /// Number of nodes explored so far.
    pub nodes: u64,
}

impl Progress {
    /// How much better the bound is than the best so far, as a fraction of the best: 0 = proved.
    #[must_use]
    pub fn gap(&self) -> f64 {
        ((self.best - self.bound) / self.best).abs()
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// The solution, in canonical form.
    pub solution: Solution,
    /// The result of [`isobar_partition::evaluate::evaluate`] for it, to the bit.
    pub evaluation: Evaluation,
    /// Whether the search ran to its end. If not, the solution is the best so far.
    pub proved_optimal: bool,
    /// A bound: no solution has a better objective than this (up to [`crate::TIE`]). A lower bound
    /// of unfairness, an upper bound of throughput.
    pub bound: f64,
    /// Number of partial and whole solutions looked at. Varies a little from run to run if several
    /// threads search.
    pub nodes_explored: u64,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptimaError {
    /// An empty workload.
    #[error("the workload has no programs; name at least one")]
    NoPrograms,
    /// More programs than a search can distinguish.
    #[error("{0} programs are too many for an exact search, which takes at most 64; use a heuristic")]
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
    /// With one partition per program, each program needs at least one way.
    #[error("{programs} programs need at least one way each, but the cache has {ways}; use opt-cluster")]
    TooFewWays {
        /// programs of the workload
        programs: usize,
        /// ways of the cache
        ways: usize,
    },
    /// A heuristic returned a group that is not for the given programs.
    #[error("the partitioning heuristic gave an invalid answer for programs {programs:?}: {why}")]
    Heuristic {
        /// the programs of the request
        programs: Vec<usize>,
        /// what is wrong
        why: String,
    },
    /// No solution has a meaning under the model; this is one of the reasons.
    #[error("the model can evaluate no solution: {0}")]
    NoMeaning(#[source] Meaningless),
    /// Stopped before anything was found.
    #[error("stopped before the first solution was found; allow more time")]
    Stopped,
}
