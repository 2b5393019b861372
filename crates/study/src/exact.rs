//! The exact searches of `isobar-optima`, by name. What is searched, and how, is decided there.

use isobar_optima::{OptimaError, Optimum, Options};
use isobar_partition::Group;
use isobar_partition::heuristics::{self, Rule, Scope, Setting};
use isobar_partition::model::StaticModel;

/// Sets of programs are bits of a 64-bit word.
pub(crate) const MOST_EXACT: usize = 64;

type Search = fn(&dyn StaticModel, &Setting, &Options<'_>) -> Result<Optimum, OptimaError>;

/// One exact search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    pub name: &'static str,
    pub summary: &'static str,
    pub scope: Scope,
    /// Whether its optimum is the optimum over all solutions.
    pub all_solutions: bool,
    pub search: Search,
}

/// All exact searches.
pub(crate) const EXACT: &[Exact] = &[
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

fn best_map_lfoc_plus(
    model: &dyn StaticModel,
    setting: &Setting,
    options: &Options<'_>,
) -> Result<Optimum, OptimaError> {
    let rule = heuristics::by_name("lfoc+").map(|entry| entry.rule);
    let partition = |programs: &[usize]| match rule {
        // If the heuristic refuses, the empty group is not a valid answer, and the search reports
        // that.
        Some(Rule::OneLlc(partition)) => partition(model, programs, setting).unwrap_or_default(),
        _ => Group::new(),
    };
    isobar_optima::best_map(model, options, &partition)
}
