//! The input of a search: the possible groups, and how each may be partitioned. It is checked
//! before the search.

use crate::options::{Objective, OptimaError, Options};
use crate::set::Set;
use isobar_partition::model::StaticModel;
use isobar_partition::{Cluster, Group, Solution};

/// A heuristic that partitions one group, given the group's programs in ascending order.
pub(crate) type Heuristic<'a> = &'a (dyn Fn(&[usize]) -> Group + Sync);

/// How a group may be partitioned.
#[derive(Clone, Copy)]
pub(crate) enum Menu<'a> {
    /// Each program has a partition of its own.
    Alone,
    /// Any clustering.
    Any,
    /// All programs share all ways.
    Whole,
    /// The group that this heuristic returns.
    Given(Heuristic<'a>),
}

/// The problem to solve.
#[derive(Clone)]
pub(crate) struct Problem<'a> {
    pub model: &'a dyn StaticModel,
    pub menu: Menu<'a>,
    pub objective: Objective,
    /// Maximum number of groups with programs.
    pub groups: usize,
    /// Maximum number of programs in a group.
    pub cores: usize,
    /// The groups of the mapping, if the mapping is given.
    pub mapping: Option<Vec<Set>>,
}

impl<'a> Problem<'a> {
    /// Checks that a solution is possible in principle.
    pub fn new(model: &'a dyn StaticModel, menu: Menu<'a>, options: &Options<'_>) -> Result<Self, OptimaError> {
        let programs = model.programs().len();
        let cores = options.cores.unwrap_or(programs).min(programs);
        match programs {
            0 => return Err(OptimaError::NoPrograms),
            65.. => return Err(OptimaError::TooMany(programs)),
            _ => {}
        }
        if options.groups.saturating_mul(cores) < programs {
            let cores = options.cores.unwrap_or(programs);
            return Err(OptimaError::NoRoom { programs, groups: options.groups, cores });
        }
        let groups = options.groups.min(programs);
        if matches!(menu, Menu::Alone) && programs > groups.saturating_mul(model.ways()) {
            return Err(OptimaError::TooFewWays { programs, ways: model.ways() });
        }
        Ok(Self { model, menu, objective: options.objective, groups, cores, mapping: None })
    }

    /// All programs.
    pub fn everyone(&self) -> Set {
        Set::all(self.model.programs().len())
    }

    /// Maximum number of programs in a cluster.
    pub fn cluster_size(&self) -> usize {
        if matches!(self.menu, Menu::Alone) { 1 } else { usize::MAX }
    }

    /// Whether these programs may form a group.
    pub fn may_group(&self, set: Set) -> bool {
        set.len() <= self.cores && self.mapping.as_ref().is_none_or(|groups| groups.contains(&set))
    }

    /// A bound that needs no search: nothing is fairer than equal slowdowns, and no program is
    /// faster than it can be.
    pub fn easy_bound(&self) -> f64 {
        let model = self.model;
        let fastest = |program| 1.0 / model.least_slowdown(program, model.ways());
        match self.objective {
            Objective::Unfairness => 1.0,
            Objective::Throughput => self.everyone().iter().map(fastest).sum(),
        }
    }

    /// The one group that the menu has for these programs; `None` if there is a choice.
    pub fn only(&self, set: Set) -> Option<Result<Group, OptimaError>> {
        match self.menu {
            Menu::Whole => Some(Ok(vec![Cluster { programs: set.list(), ways: self.model.ways() }])),
            Menu::Given(heuristic) => Some(self.ask(set, heuristic)),
            Menu::Alone | Menu::Any => None,
        }
    }

    fn ask(&self, set: Set, heuristic: Heuristic<'_>) -> Result<Group, OptimaError> {
        let programs = set.list();
        let answer = Solution { groups: vec![heuristic(&programs)] }.canonical();
        let there = answer.clusters().fold(Set(0), |there, (_, cluster)| {
            cluster
                .programs
                .iter()
                .filter(|program| **program < 64)
                .fold(there, |there, program| there.with(Set::one(*program)))
        });
        let listed: usize = answer.clusters().map(|(_, cluster)| cluster.programs.len()).sum();
        let used: usize = answer.clusters().map(|(_, cluster)| cluster.ways).sum();
        let wrong = |why: String| Err(OptimaError::Heuristic { programs: programs.clone(), why });
        if there != set || listed != programs.len() {
            return wrong("it must contain each program once, and no others".to_owned());
        }
        if used > self.model.ways() || answer.clusters().any(|(_, cluster)| cluster.ways == 0) {
            return wrong(format!("each cluster needs at least 1 way, and all together at most {}", self.model.ways()));
        }
        Ok(answer.groups.into_iter().next().unwrap_or_default())
    }
}

/// A whole solution from its groups: canonical, ordered by first program, padded with groups
/// without programs.
pub(crate) fn solution(mut groups: Vec<Group>, all: usize) -> Solution {
    groups.retain(|group| !group.is_empty());
    let mut solution = Solution { groups }.canonical();
    solution.groups.sort();
    solution.groups.resize(all.max(solution.groups.len()), Vec::new());
    solution
}
