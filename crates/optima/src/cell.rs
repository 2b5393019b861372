//! The demands of a possible cluster on memory, at every size. Many sets of programs contain the
//! same cluster, so each cluster is computed once, as far as memory allows.

use crate::count::subsets;
use crate::problem::{Menu, Problem};
use crate::set::Set;
use crate::watch::Watch;
use isobar_model::num;
use isobar_partition::model::{Demand, Separable};
use rayon::prelude::*;

/// Maximum number of demands that are kept: 256 MiB.
const ROOM: u128 = 1 << 23;
/// Far above rounding errors, below the tolerance of a tie.
const WIDER: f64 = 1e-12;

/// One cluster at 1, 2, ... ways.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    programs: usize,
    /// By ways, then program.
    demands: Box<[Demand]>,
    /// By ways: a lower bound on the slowdown of its slowest program, whatever runs elsewhere.
    pub slowest: Box<[f64]>,
}

impl Cell {
    pub fn new(separable: &dyn Separable, cluster: Set, ways: usize) -> Self {
        let sizes = separable.demands(&cluster.list(), ways);
        // A factor never falls as the pressure grows.
        let at_least = |demand: &Demand| {
            let factor = separable.pressure().map_or(Some(1.0), |pressure| pressure.factor(demand, 0.0));
            demand.slowdown * factor.unwrap_or(0.0) * (1.0 - WIDER)
        };
        let slowest = sizes.iter().map(|demands| demands.iter().map(at_least).fold(0.0, f64::max)).collect();
        Self { programs: cluster.len(), demands: sizes.into_iter().flatten().collect(), slowest }
    }

    /// Demands at this number of ways, at least 1.
    pub fn at(&self, ways: usize) -> &[Demand] {
        &self.demands[(ways - 1) * self.programs..ways * self.programs]
    }
}

/// The clusters that are kept, by set.
pub(crate) struct Cells {
    sets: Vec<Set>,
    cells: Vec<Cell>,
}

impl Cells {
    /// All clusters that groups of the problem can have. Empty if they exceed the memory limit, if
    /// the menu leaves no choice, or if the search is stopped in the meantime: a model may take
    /// seconds for all of them.
    pub fn new(problem: &Problem<'_>, watch: &Watch<'_>) -> Self {
        let none = Self { sets: Vec::new(), cells: Vec::new() };
        let Some(separable) = problem.model.separable() else { return none };
        let programs = problem.everyone().len();
        let size = problem.cores.min(problem.cluster_size());
        let of_set = u128::from(num::narrow(problem.model.ways() * size));
        if subsets(programs, size).saturating_mul(of_set) > ROOM || matches!(problem.menu, Menu::Whole | Menu::Given(_))
        {
            return none;
        }
        let everyone = problem.everyone();
        let from = |first: usize| Set::one(first).with(everyone.above(first)).firsts(size);
        let mut sets: Vec<Set> = everyone.iter().flat_map(from).collect();
        sets.sort_unstable();
        let ways = problem.model.ways();
        let cell = |set: &Set| (!watch.count(0)).then(|| Cell::new(separable, *set, ways));
        let cells: Option<Vec<Cell>> = sets.par_iter().with_min_len(32).map(cell).collect();
        cells.map_or(none, |cells| Self { sets, cells })
    }

    /// A cluster; `None` if it is not kept.
    pub fn get(&self, set: Set) -> Option<&Cell> {
        self.sets.binary_search(&set).ok().map(|at| &self.cells[at])
    }
}
