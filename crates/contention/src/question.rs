//! A question to the model: which threads run where, on which machine, and which pages are being
//! copied. It consists of values only; solver.rs answers it.

use crate::budget::NoAnswer;
use crate::curve::MissCurve;
use crate::machine::{Machine, Place};

/// The threads that compete, and the machine for which they compete.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The threads that run.
    pub threads: &'a [Demand],
    /// The page copy in flight, if there is one.
    pub copy: Option<PageCopy>,
}

/// A thread and its demands.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The share of its CPU that it gets; it has the same share of the core's private cache.
    pub share: f64,
    /// Where it runs.
    pub place: Place,
    /// The ways of its LLC that it may fill, as bits; bits of ways that the LLC lacks do not count.
    pub mask: u64,
    /// Seconds of computing per instruction without LLC misses.
    pub compute: f64,
    /// Misses per instruction by space; more space never means more misses.
    pub curve: MissCurve,
    /// Factor on the misses, set by its phase.
    pub factor: f64,
    /// Number of misses in flight together.
    pub mlp: f64,
    /// Lines that a prefetcher brings for each miss, in addition to the line of the miss. They pass
    /// controllers and links; the thread does not wait for them.
    pub prefetch: f64,
    /// Lines written back for each line read, prefetched ones included. The thread does not wait
    /// for them.
    pub write_back: f64,
    /// Maximum number of bytes that it can hold in a cache.
    pub footprint: f64,
    /// Bytes that it can use for each byte that it holds: above 1 if siblings on the LLC hold lines
    /// that it shares.
    pub reach: f64,
    /// The fraction of its accesses that goes to each node, by position; sums to 1.
    pub weights: Vec<f64>,
    /// Seconds by which each line that it reads is delayed before it is requested, see
    /// [`delay`](crate::delay); 0 if its memory bandwidth is not limited.
    pub delay: f64,
    /// Bytes of the LLC that it holds now, from which the search starts; 0 if not known. The answer
    /// does not depend on it.
    pub held: f64,
}

/// Pages being copied from one node to another, by position, by a CPU of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCopy {
    /// The node that is read.
    pub from: usize,
    /// The node that is written.
    pub to: usize,
}

impl Demand {
    /// The same thread with a core to itself, every way of its LLC, all of its memory bandwidth,
    /// and all of its memory on its node. Slowdowns are measured against it.
    #[must_use]
    pub fn alone(&self) -> Self {
        let local = |node| if node == self.place.node { 1.0 } else { 0.0 };
        let weights = (0..self.weights.len()).map(local).collect();
        Self { share: 1.0, mask: u64::MAX, weights, delay: 0.0, held: 0.0, ..self.clone() }
    }

    /// What is wrong with it for a machine, if anything.
    fn problem(&self, machine: &Machine) -> Option<&'static str> {
        let within = |value: f64| value >= 0.0 && value.is_finite();
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let Some(llc) = machine.llcs().get(self.place.llc).filter(|_| self.place.node < machine.nodes()) else {
            return Some("runs on a node or an LLC that the machine lacks");
        };
        if self.mask & llc.all_ways() == 0 {
            return Some("may fill no way of its LLC");
        }
        if self.weights.len() != machine.nodes() || !self.weights.iter().all(|weight| within(*weight)) {
            return Some("needs a weight, 0 or more, for each node");
        }
        let above = [self.share, self.compute, self.mlp, self.reach];
        let from = [self.factor, self.prefetch, self.write_back, self.footprint, self.delay, self.held];
        let right = above.into_iter().all(positive) && from.into_iter().all(within);
        (!right).then_some("has a number that is not positive or not finite")
    }
}

impl Question<'_> {
    /// Checks whether the question can be answered.
    pub(crate) fn check(&self) -> Result<(), NoAnswer> {
        let nodes = self.machine.nodes();
        if self.copy.is_some_and(|copy| copy.from >= nodes || copy.to >= nodes) {
            return Err(NoAnswer::Copy);
        }
        let threads = self.threads.iter().enumerate();
        let mut wrong = threads.filter_map(|(thread, demand)| Some((thread, demand.problem(self.machine)?)));
        wrong.next().map_or(Ok(()), |(thread, problem)| Err(NoAnswer::Thread { thread, problem }))
    }
}
