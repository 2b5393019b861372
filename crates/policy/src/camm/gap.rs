//! Whether a node's own memory or its neighbour's is congested, and by how much (algorithm 3, lines
//! 4 to 20).
//!
//! ```text
//! avg = mean(L[local], L[neighbour])          the latency that balance would give
//! if L[local] is not the lowest:              local is congested
//!     gap = L[local] - avg;     if gap > eta * avg: move pages local -> neighbour
//! else:                                       the neighbour is
//!     gap = L[neighbour] - avg; if gap > eta * avg: move pages neighbour -> local
//! ```
//!
//! *Property*: within the threshold neither direction acts, so pages do not go back and forth
//! between two nodes whose latencies are close.

use super::latency::View;
use isobar_model::NodeId;

/// A latency gap to be closed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// The congested node.
    pub from: NodeId,
    /// The node where its pages go.
    pub to: NodeId,
    /// Latency to the congested node.
    pub congested: f64,
    /// Latency to the other node.
    pub other: f64,
    /// `lat_gap`: how far the congested node's latency is above the mean.
    pub gap: f64,
}

impl Gap {
    /// The gap that a node sees, if it exceeds `threshold_percent` of the mean. `None` also if
    /// either latency is not known.
    #[must_use]
    pub fn of(view: &View, threshold_percent: f64) -> Option<Self> {
        let (local, (neighbour, remote)) = (view.local?, view.neighbour()?);
        let mean = f64::midpoint(local, remote);
        // The neighbour is the fastest remote node, so local is not the lowest exactly if it is
        // above it.
        let (from, to, congested, other) =
            if local > remote { (view.node, neighbour, local, remote) } else { (neighbour, view.node, remote, local) };
        let gap = congested - mean;
        (gap > threshold_percent / 100.0 * mean).then_some(Self { from, to, congested, other, gap })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(local: f64, remote: f64) -> Option<(u32, f64)> {
        let view = View { node: NodeId(0), local: Some(local), remote: vec![(NodeId(1), remote)] };
        Gap::of(&view, 5.0).map(|gap| (gap.from.0, gap.gap))
    }

    #[test]
    fn the_figures_of_the_paper() {
        // npb_is on Haswell: the mean is 502.5, and 5 % of it 25.1.
        assert_eq!(gap(630.0, 375.0), Some((0, 127.5)));
        // WL8: the mean is 387, and 5 % of it 19.35.
        assert_eq!(gap(434.0, 340.0), Some((0, 47.0)));
        assert_eq!(gap(340.0, 434.0), Some((1, 47.0)), "the other direction");
        // The mean is 400, and 5 % of it 20.
        assert_eq!([gap(420.0, 380.0), gap(380.0, 420.0), gap(400.0, 400.0)], [None; 3]);
        assert_eq!(gap(420.5, 379.5), Some((0, 20.5)));
    }
}
