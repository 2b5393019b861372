//! What couples clusters that share a controller: the pressure of a separable model, or the wait in
//! a queue. Both grow with the total load of all clusters, and for a given pressure or wait each
//! cluster can be computed by itself. So slices of the axis give the same five figures for both.
//!
//! A queued model has no factor by which to multiply a cluster's slowdowns, so the model evaluates
//! its clusters at each end of a slice. Halves of a slice share ends with the slice and with each
//! other, so these results are kept.

use super::cells::{Cells, at};
use super::figure::{Figure, Slice};
use crate::set::Set;
use crate::watch::Watch;
use isobar_partition::Group;
use isobar_partition::model::{Queued, Separable, StaticModel, Waiting};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Larger than any load or throughput, but sums of it are still finite.
const HUGE: f64 = 1e300;
/// Maximum number of results that are kept, each for one cluster at one wait: 256 MiB.
const ROOM: usize = 1 << 23;

/// What couples clusters.
pub(crate) enum Coupling<'a> {
    /// A figure that lengthens each program's time by a factor.
    Pressed(&'a dyn Separable),
    /// A wait that each program feels in its own way.
    Queue(Queue<'a>),
}

impl<'a> Coupling<'a> {
    /// The coupling of a model; `None` if the model is a black box.
    pub fn of(model: &'a dyn StaticModel) -> Option<Self> {
        let separable = model.separable().map(Self::Pressed);
        let queue = || Some(Self::Queue(Queue::new(model.queued()?, model.ways())));
        separable.or_else(queue)
    }

    /// The model as a separable one, if it is separable.
    pub fn separable(&self) -> Option<&'a dyn Separable> {
        match self {
            Self::Pressed(separable) => Some(*separable),
            Self::Queue(_) => None,
        }
    }

    /// For the lower and the upper end of a slice, the load from which on the pressure or wait is
    /// at least that of the end. `None` if bandwidth is never short.
    pub fn capacities(&self, slice: Slice) -> Option<(f64, f64)> {
        match self {
            Self::Pressed(separable) => {
                separable.pressure().map(|pressure| (pressure.capacity(slice.from), pressure.capacity(slice.to)))
            }
            Self::Queue(queue) => Some((queue.model.carried(slice.from), queue.model.carried(slice.to))),
        }
    }
}

/// A cluster at one wait.
#[derive(Clone, Copy)]
struct Reading {
    greatest: f64,
    least: f64,
    /// The greatest and the least possible load.
    heavy: f64,
    light: f64,
    stp: f64,
}

/// Every cluster at every size, at one wait; `None` for an impossible cluster.
type Readings = Arc<Vec<Option<Reading>>>;

/// A queued model, and the results that it has given.
pub(crate) struct Queue<'a> {
    model: &'a dyn Queued,
    ways: usize,
    /// By the bits of the wait.
    known: Mutex<BTreeMap<u64, Readings>>,
}

impl<'a> Queue<'a> {
    fn new(model: &'a dyn Queued, ways: usize) -> Self {
        Self { model, ways, known: Mutex::default() }
    }

    pub fn model(&self) -> &'a dyn Queued {
        self.model
    }

    /// The figures of every cluster at every size in a slice, by cluster and ways; incomplete if
    /// the search is stopped in the meantime.
    pub fn figures(&self, cells: &Cells, slice: Slice, watch: &Watch<'_>) -> Vec<Figure> {
        let (from, to) = (self.readings(cells, slice.from, watch), self.readings(cells, slice.to, watch));
        from.iter().zip(to.iter()).map(|(from, to)| self.figure(*from, *to)).collect()
    }

    /// The figures of a whole group in a slice.
    pub fn group(&self, group: &Group, slice: Slice) -> Figure {
        let one = |programs: &[usize], ways: usize| {
            let at = |wait| Reading::of(self.model.waiting(programs, ways, wait).as_deref());
            self.figure(Some(at(slice.from)), Some(at(slice.to)))
        };
        group.iter().fold(Figure::NONE, |sum, cluster| sum.and(one(&cluster.programs, cluster.ways)))
    }

    /// The figure in a slice, widened by the accuracy of the model.
    fn figure(&self, from: Option<Reading>, to: Option<Reading>) -> Figure {
        let (Some(from), Some(to)) = (from, to) else { return Figure::NEVER };
        let wide = self.model.accuracy();
        Figure {
            slowest: from.greatest * (1.0 - wide),
            fastest: to.least * (1.0 + wide),
            heavy: from.heavy * (1.0 + wide),
            light: to.light * (1.0 - wide),
            stp: from.stp * (1.0 + wide),
        }
    }

    fn readings(&self, cells: &Cells, wait: f64, watch: &Watch<'_>) -> Readings {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(readings) = known().get(&wait.to_bits()) {
            return Arc::clone(readings);
        }
        let one = |index: usize| {
            let (cluster, ways): (Set, usize) = (at(index / self.ways), index % self.ways + 1);
            cells.clusters[index / self.ways].as_ref()?;
            if watch.count(0) {
                return None;
            }
            Some(Reading::of(self.model.waiting(&cluster.list(), ways, wait).as_deref()))
        };
        let count = cells.clusters.len() * self.ways;
        let readings: Readings = Arc::new((0..count).into_par_iter().with_min_len(64).map(one).collect());
        if !watch.stopped() && (known().len() + 1) * count <= ROOM {
            known().insert(wait.to_bits(), Arc::clone(&readings));
        }
        readings
    }
}

impl Reading {
    /// The reading to assume if the model has no answer: anything is possible.
    const ANYTHING: Self = Self { greatest: 0.0, least: f64::INFINITY, heavy: HUGE, light: 0.0, stp: HUGE };

    fn of(all: Option<&[Waiting]>) -> Self {
        let Some(all) = all else { return Self::ANYTHING };
        let none = Self { greatest: 0.0, least: f64::INFINITY, heavy: 0.0, light: 0.0, stp: 0.0 };
        let sum = |sum: Self, one: &Waiting| Self {
            greatest: sum.greatest.max(one.slowdown),
            least: sum.least.min(one.slowdown),
            heavy: sum.heavy + one.load,
            light: sum.light + one.load,
            stp: sum.stp + 1.0 / one.slowdown,
        };
        all.iter().fold(none, sum)
    }
}
