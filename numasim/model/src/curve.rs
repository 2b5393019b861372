//! The wait at a memory controller as it was measured on a real machine: a curve of latency over
//! bandwidth, as Intel's Memory Latency Checker prints it, in place of the queue's law. Between two
//! points a straight line; below the first, no wait; above the last the wait grows as
//! `1 / (1 - u)^4`, without bound as the capacity is neared, so that it is never passed: curves end
//! near it, and the solver (queue.rs) needs a delay for every load.
//!
//! The first point counts as idle: what the others cost more is the wait. So the curve adds to
//! `latency.ns`, whatever that says.

use crate::spec::Node;

/// See the head of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// Utilisation and wait in picoseconds, both ascending.
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// The curve of a node's controllers; none: the law holds.
    pub fn new(node: &Node) -> Option<Self> {
        let idle = node.curve.first()?[1];
        let point = |[mb_per_s, ns]: &[f64; 2]| (mb_per_s / node.mb_per_s, 1e3 * (ns - idle));
        Some(Self { points: node.curve.iter().map(point).collect() })
    }

    /// Picoseconds that a line waits at a utilisation below 1.
    pub fn wait(&self, utilisation: f64) -> f64 {
        let above = self.points.partition_point(|(at, _)| *at <= utilisation);
        let Some((low, wait)) = above.checked_sub(1).map(|at| self.points[at]) else { return 0.0 };
        let Some((high, more)) = self.points.get(above) else {
            return wait.max(1.0) * ((1.0 - low) / (1.0 - utilisation)).powi(4);
        };
        wait + (more - wait) * (utilisation - low) / (high - low)
    }
}
