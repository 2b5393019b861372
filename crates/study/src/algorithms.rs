//! The algorithms of a study, by name: the published heuristics, the exact searches, and the
//! solutions of a file. Runs none of them.

use crate::exact::{self, Exact};
use isobar_partition::heuristics::{self, Entry, Scope};

/// A way to answer a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Algorithm {
    /// A heuristic of the registry.
    Heuristic(&'static Entry),
    /// An exact search.
    Exact(&'static Exact),
    /// Solutions from a file.
    Fixed,
}

impl Algorithm {
    /// The name that `--algorithm` takes.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Heuristic(entry) => entry.name,
            Self::Exact(exact) => exact.name,
            Self::Fixed => "fixed",
        }
    }

    /// What the algorithm decides; `None` for a file, which decides nothing.
    pub const fn scope(&self) -> Option<Scope> {
        match self {
            Self::Heuristic(entry) => Some(entry.scope()),
            Self::Exact(exact) => Some(exact.scope),
            Self::Fixed => None,
        }
    }
}

/// All algorithms except `fixed`, in the order in which a help text lists them.
pub(crate) fn all() -> Vec<Algorithm> {
    heuristics::registry().iter().map(Algorithm::Heuristic).chain(exact::EXACT.iter().map(Algorithm::Exact)).collect()
}

/// The algorithm with this name.
pub(crate) fn find(name: &str) -> Option<Algorithm> {
    all().into_iter().chain([Algorithm::Fixed]).find(|one| one.name() == name)
}

/// Every name that `--algorithm` takes.
pub(crate) fn names() -> Vec<&'static str> {
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
