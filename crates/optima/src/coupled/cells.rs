//! What every possible cluster asks of memory, at every size: computed once, used by every slice of the search.

use crate::group::place;
use crate::options::OptimaError;
use crate::problem::{Menu, Problem};
use crate::set::Set;
use isobar_partition::model::{Demand, Separable};
use isobar_partition::{Cluster, Group};
use rayon::prelude::*;

/// A cluster that can be, by size: `demands[ways - 1][program]`.
pub(crate) type Sizes = Vec<Vec<Demand>>;

/// All clusters; and the groups, where the menu leaves no choice.
pub(crate) struct Cells {
    /// By set; empty where the set cannot be a cluster.
    pub clusters: Vec<Sizes>,
    /// By set, where the menu has one group a set: that group and its demands in order.
    pub groups: Vec<Option<(Group, Vec<Demand>)>>,
}

impl Cells {
    pub fn new(problem: &Problem<'_>, separable: &dyn Separable) -> Result<Self, OptimaError> {
        let all = place(problem.everyone()) + 1;
        let set = |index: usize| Set(u64::try_from(index).unwrap_or(0));
        if matches!(problem.menu, Menu::Whole | Menu::Given(_)) {
            let made: Result<Vec<_>, OptimaError> =
                (0..all).into_par_iter().map(|index| only(problem, separable, set(index))).collect();
            return Ok(Self { clusters: Vec::new(), groups: made? });
        }
        let clusters = (0..all).into_par_iter().with_min_len(64).map(|index| {
            let cluster = set(index);
            let possible =
                problem.mapping.as_ref().is_none_or(|groups| groups.iter().any(|group| cluster.within(*group)));
            let fits = !cluster.is_empty() && cluster.len() <= problem.cluster_size().min(problem.cores) && possible;
            if fits { separable.demands(&cluster.list(), problem.model.ways()) } else { Vec::new() }
        });
        Ok(Self { clusters: clusters.collect(), groups: Vec::new() })
    }
}

fn only(
    problem: &Problem<'_>,
    separable: &dyn Separable,
    set: Set,
) -> Result<Option<(Group, Vec<Demand>)>, OptimaError> {
    if set.is_empty() || !problem.may_group(set) {
        return Ok(None);
    }
    let Some(group) = problem.only(set) else { return Ok(None) };
    let group = group?;
    let demands = group.iter().flat_map(|cluster| demands(separable, cluster)).collect();
    Ok(Some((group, demands)))
}

fn demands(separable: &dyn Separable, cluster: &Cluster) -> Vec<Demand> {
    separable.demands(&cluster.programs, cluster.ways).pop().unwrap_or_default()
}
