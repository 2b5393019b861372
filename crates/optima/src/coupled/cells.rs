//! Every possible cluster, or every possible group, of a problem with few programs. They are
//! computed once and used by every slice of the search.

use crate::cell::Cell;
use crate::group::place;
use crate::options::OptimaError;
use crate::problem::{Menu, Problem};
use crate::set::Set;
use crate::watch::Watch;
use isobar_partition::Group;
use isobar_partition::model::{Demand, Separable};
use rayon::prelude::*;

/// One of the two lists is empty: `groups` if the menu leaves a choice, otherwise `clusters`.
pub(crate) struct Cells {
    /// By set; `None` if the set cannot be a cluster. Demands exist only if the model is separable,
    /// here and below.
    pub clusters: Vec<Option<Cell>>,
    /// By set, if the menu has one group per set: that group and its demands in order.
    pub groups: Vec<Option<(Group, Vec<Demand>)>>,
}

impl Cells {
    /// Incomplete if the search is stopped in the meantime: a model may take seconds for all of
    /// them.
    pub fn new(
        problem: &Problem<'_>,
        separable: Option<&dyn Separable>,
        watch: &Watch<'_>,
    ) -> Result<Self, OptimaError> {
        let all = place(problem.everyone()) + 1;
        if matches!(problem.menu, Menu::Whole | Menu::Given(_)) {
            let one = |index| if watch.count(0) { Ok(None) } else { only(problem, separable, at(index)) };
            let made: Result<Vec<_>, OptimaError> = (0..all).into_par_iter().map(one).collect();
            return Ok(Self { clusters: Vec::new(), groups: made? });
        }
        let most = problem.cluster_size().min(problem.cores);
        let clusters = (0..all).into_par_iter().with_min_len(64).map(|index| {
            let cluster = at(index);
            let mapped = |groups: &Vec<Set>| groups.iter().any(|group| cluster.within(*group));
            let fits = !cluster.is_empty() && cluster.len() <= most && problem.mapping.as_ref().is_none_or(mapped);
            let cell = || separable.map_or_else(Cell::default, |one| Cell::new(one, cluster, problem.model.ways()));
            (fits && !watch.count(0)).then(cell)
        });
        Ok(Self { clusters: clusters.collect(), groups: Vec::new() })
    }

    /// The demands of a possible cluster at a number of ways.
    pub fn demands(&self, cluster: Set, ways: usize) -> &[Demand] {
        self.clusters[place(cluster)].as_ref().map_or(&[], |cell| cell.at(ways))
    }
}

/// The set at this index of the lists.
pub(crate) fn at(index: usize) -> Set {
    Set(u64::try_from(index).unwrap_or(0))
}

fn only(
    problem: &Problem<'_>,
    separable: Option<&dyn Separable>,
    set: Set,
) -> Result<Option<(Group, Vec<Demand>)>, OptimaError> {
    if set.is_empty() || !problem.may_group(set) {
        return Ok(None);
    }
    let Some(group) = problem.only(set) else { return Ok(None) };
    let group = group?;
    let last = |(programs, ways): (&[usize], usize)| {
        separable.and_then(|one| one.demands(programs, ways).pop()).unwrap_or_default()
    };
    let clusters = group.iter().filter(|_| separable.is_some());
    let demands = clusters.flat_map(|cluster| last((&cluster.programs, cluster.ways))).collect();
    Ok(Some((group, demands)))
}
