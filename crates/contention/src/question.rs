//! A question to the model: which threads run where, on what machine, and which pages are being
//! copied. Values only; solver.rs answers it.

use crate::budget::NoAnswer;
use crate::curve::MissCurve;
use crate::machine::{Machine, Place};

/// Who competes for what.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The threads that run.
    pub threads: &'a [Demand],
    /// The page copy in flight, if there is one.
    pub copy: Option<PageCopy>,
}

/// A thread that wants to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The part of its CPU that it gets; it has the same part of the core's private cache.
    pub share: f64,
    /// Where it runs.
    pub place: Place,
    /// The ways of its LLC that it may fill, as bits; those that the LLC lacks do not count.
    pub mask: u64,
    /// Seconds of computing per instruction without LLC misses.
    pub compute: f64,
    /// Misses per instruction by space; they do not rise with it.
    pub curve: MissCurve,
    /// Factor on the misses (of its phase).
    pub factor: f64,
    /// Misses in flight together.
    pub mlp: f64,
    /// Lines that a prefetcher brings for each miss, beside the line of the miss. They pass
    /// controllers and links; the thread does not wait for them.
    pub prefetch: f64,
    /// Lines written back for each line read, prefetched ones included. The thread does not wait
    /// for them.
    pub write_back: f64,
    /// The most bytes that it can hold in a cache.
    pub footprint: f64,
    /// Bytes that it can use for each byte that it holds: above 1 where siblings on the LLC hold
    /// lines that it shares.
    pub reach: f64,
    /// The part of its accesses that goes to each node, by position; sums to 1.
    pub weights: Vec<f64>,
    /// Seconds for which each line that it reads is kept waiting before it is asked for: see
    /// [`delay`](crate::delay); 0 where its memory bandwidth is not limited.
    pub delay: f64,
    /// Bytes of the LLC that it holds now: where the search starts. The answer does not depend on
    /// it; 0 where not known.
    pub held: f64,
}

/// Pages being copied from a node to a node, by position, by a CPU of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCopy {
    /// The node that is read.
    pub from: usize,
    /// The node that is written.
    pub to: usize,
}

impl Demand {
    /// The same thread with a core to itself, every way of its LLC, all of its memory bandwidth and
    /// all of its memory on its node: what a slowdown is measured against.
    #[must_use]
    pub fn alone(&self) -> Self {
        let local = |node| if node == self.place.node { 1.0 } else { 0.0 };
        let weights = (0..self.weights.len()).map(local).collect();
        Self { share: 1.0, mask: u64::MAX, weights, delay: 0.0, held: 0.0, ..self.clone() }
    }

    /// What is wrong with it, on a machine.
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
    /// Whether it can be asked.
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
