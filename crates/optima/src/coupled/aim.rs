//! The goal of a search through the slices, and the best solution that its threads have found so
//! far.

use super::descend::SearchGoal;
use super::slice::Bar;
use crate::group::Point;
use crate::rank::STEP;
use isobar_partition::Group;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The best so far.
pub(crate) type Best = Option<(Point, Vec<Group>)>;

/// A goal: improve one figure, under a limit on the other.
pub(crate) struct Better {
    /// If true, the figure to improve is unfairness, otherwise throughput.
    fair: bool,
    /// The limit of the other figure.
    limit: f64,
    bits: AtomicU64,
    best: Mutex<Best>,
}

impl Better {
    /// The least unfairness with a throughput of at least `floor`, starting from a known solution,
    /// if any.
    pub fn fairest(floor: f64, start: Best) -> Self {
        let figure = start.as_ref().map_or(f64::INFINITY, |start| start.0.ratio());
        Self { fair: true, limit: floor, bits: AtomicU64::new(figure.to_bits()), best: Mutex::new(start) }
    }

    /// The greatest throughput with an unfairness of at most `ratio`, starting the same way.
    pub fn fastest(ratio: f64, start: Best) -> Self {
        let figure = start.as_ref().map_or(f64::NEG_INFINITY, |start| start.0.stp);
        Self { fair: false, limit: ratio, bits: AtomicU64::new(figure.to_bits()), best: Mutex::new(start) }
    }

    /// The best so far.
    pub fn best(&self) -> Best {
        self.best.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The figure of the best solution so far; infinitely bad if there is none.
    pub fn figure(&self) -> f64 {
        f64::from_bits(self.bits.load(Ordering::Relaxed))
    }
}

impl SearchGoal for Better {
    fn bar(&self) -> Bar {
        let figure = self.figure();
        if self.fair {
            Bar { ratio: figure * (1.0 - STEP), stp: self.limit }
        } else {
            let step = if figure.is_finite() { figure.abs() * STEP } else { 0.0 };
            Bar { ratio: self.limit, stp: figure + step }
        }
    }

    fn found(&self, point: Point, groups: &dyn Fn() -> Vec<Group>) -> bool {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        let better = |old: &(Point, _)| if self.fair { point.ratio() < old.0.ratio() } else { point.stp > old.0.stp };
        if best.as_ref().is_none_or(better) {
            let figure = if self.fair { point.ratio() } else { point.stp };
            self.bits.store(figure.to_bits(), Ordering::Relaxed);
            *best = Some((point, groups()));
        }
        false
    }
}

/// A goal: the first solution within a bar.
pub(crate) struct First(pub Bar);

impl SearchGoal for First {
    fn bar(&self) -> Bar {
        self.0
    }

    fn found(&self, _: Point, _: &dyn Fn() -> Vec<Group>) -> bool {
        true
    }
}
