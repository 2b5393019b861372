//! The wait at a memory controller as measured on a real machine: a curve of latency over
//! bandwidth, as Intel's Memory Latency Checker prints it, which replaces the queue's law. Between
//! two points the curve is linear. Below the first point there is no wait. Above the last point the
//! wait grows as `1 / (1 - u)^4`, without bound towards the capacity, so that the capacity is never
//! exceeded. This is needed because curves end near the capacity, and the solver (queue.rs) needs a
//! delay for every load.
//!
//! The first point counts as idle: the wait is what the other points cost in addition. The curve is
//! therefore added to `latency.ns`, whatever that says.

use crate::spec::Node;

/// See the head of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// Utilisation and wait in picoseconds, both ascending.
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// The curve of a node's controllers; `None`: the law holds.
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
