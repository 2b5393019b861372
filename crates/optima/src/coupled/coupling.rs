//! What couples clusters that share a controller: the pressure of a separable model, or the wait in
//! a queue. Both grow with what all clusters ask for together, and given either one a cluster is on
//! its own; so slices of the axis give the same five figures for both.
//!
//! A queued model has no factor to multiply a cluster's slowdowns with, so its clusters are asked
//! about at each end of a slice. Halves of a slice share ends with it and with each other, so what
//! was asked is kept.

use super::cells::{Cells, at};
use super::figure::{Figure, Slice};
use crate::set::Set;
use crate::watch::Watch;
use isobar_partition::Group;
use isobar_partition::model::{Queued, Separable, StaticModel, Waiting};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// More than any load or throughput, of which a sum is still a number.
const HUGE: f64 = 1e300;
/// The most clusters, each at one wait, that are kept: 256 MiB.
const ROOM: usize = 1 << 23;

/// What couples clusters.
pub(crate) enum Coupling<'a> {
    /// A figure that lengthens each program's time by a factor.
    Pressed(&'a dyn Separable),
    /// A wait that each program feels in its own way.
    Queue(Queue<'a>),
}

impl<'a> Coupling<'a> {
    /// That of a model; `None` where it is a black box.
    pub fn of(model: &'a dyn StaticModel) -> Option<Self> {
        let separable = model.separable().map(Self::Pressed);
        let queue = || Some(Self::Queue(Queue::new(model.queued()?, model.ways())));
        separable.or_else(queue)
    }

    /// The model as a separable one, where it is.
    pub fn separable(&self) -> Option<&'a dyn Separable> {
        match self {
            Self::Pressed(separable) => Some(*separable),
            Self::Queue(_) => None,
        }
    }

    /// The loads from which on pressure or wait is at least that of a slice's ends; `None` where
    /// nothing is short.
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
    /// The most and the least that the load may be.
    heavy: f64,
    light: f64,
    stp: f64,
}

/// Every cluster at every size, at one wait; `None`: it cannot be.
type Readings = Arc<Vec<Option<Reading>>>;

/// A queued model, and what it has said.
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

    /// The figures of every cluster at every size in a slice, by cluster and ways; incomplete where
    /// the search is stopped meanwhile.
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

    /// As wide as the model may be wrong.
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
    /// What it may be where the model has no answer: anything.
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
