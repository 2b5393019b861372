//! Measures congestion in any run, by the three measures of the CAMM paper (section VI): how long a
//! node's own memory was farther away than the nearest other memory, how often the two crossed, and
//! how far apart they were. The measures use only probed latencies, as an observer of the loop sees
//! them.
//!
//! ```text
//! local, remote      latency from a node of its own memory and of its neighbour's, the other node
//!                    with the lowest latency, at the end of an epoch
//! congestion         sum of the epochs with local > remote, in seconds
//! oscillations       times that local and remote crossed; the first time that local is the
//!                    greater counts
//! wide oscillations  the same between gaps beyond 5 % of the mean of both, the threshold below
//!                    which CAPM does not act; the error of a probe does not count as a crossing
//! mean gap           mean of |local - remote| over all epochs, in cycles
//! ```

use isobar_model::{NodeId, NodeMatrix, Observation};
use isobar_runtime::{Epoch, Observer};
use serde::Serialize;
use std::collections::BTreeMap;

/// A boxed error of the loop's observers.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// CAPM's threshold (section VI).
const THRESHOLD: f64 = 0.05;

/// The measures of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Congestion {
    /// Time in which local memory was the farther one.
    pub congestion_seconds: f64,
    /// Times that the two latencies crossed.
    pub oscillations: f64,
    /// The same, counting only gaps on which CAPM would act.
    pub wide_oscillations: f64,
    /// Mean difference of the two latencies, in CPU cycles.
    pub mean_gap_cycles: f64,
}

/// The latencies of a node in one epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EpochLatencies {
    /// Seconds since the start, at the end of the epoch.
    pub time: f64,
    /// Cycles from the node to its own memory.
    pub local: f64,
    /// Cycles from the node to its neighbour's memory.
    pub remote: f64,
}

/// Collects the measures of every node that has CPUs, for one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    tracks: BTreeMap<NodeId, Track>,
    /// Whether every look is kept, for a figure.
    keeps: bool,
}

#[derive(Clone, Debug, Default)]
struct Track {
    seconds: f64,
    crossed: u32,
    congested: bool,
    swung: u32,
    far: bool,
    gaps: f64,
    epochs: u32,
    looks: Vec<EpochLatencies>,
}

impl Meter {
    /// A meter that keeps every look.
    pub fn keeping() -> Self {
        Self { keeps: true, ..Self::default() }
    }

    /// Time and gap of the node that was congested longest, and crossings of the node with the
    /// most, the first node among equals. `None` if latencies were not measured, or there is only
    /// one node.
    pub fn worst(&self) -> Option<Congestion> {
        let most = |read: fn(&Congestion) -> f64| {
            let all = self.tracks.values().map(Track::measures);
            all.reduce(|worst, one| if read(&one) > read(&worst) { one } else { worst })
        };
        let (longest, restless) = (most(|one| one.congestion_seconds)?, most(|one| one.oscillations)?);
        let Congestion { oscillations, wide_oscillations, .. } = restless;
        Some(Congestion { oscillations, wide_oscillations, ..longest })
    }

    /// Every look at a node, if looks are kept.
    pub fn looks(&self, node: NodeId) -> &[EpochLatencies] {
        self.tracks.get(&node).map_or(&[], |track| &track.looks)
    }

    /// Adds one epoch.
    pub fn look(&mut self, seen: &Observation) {
        let Some(cycles) = &seen.latency_cycles else { return };
        for node in cycles.nodes().iter().filter(|node| has_cpus(seen, **node)) {
            let (Some(local), Some(remote)) = (cycles.get(*node, *node), nearest(cycles, *node)) else { continue };
            let look = EpochLatencies { time: seen.time.0, local: *local, remote };
            self.tracks.entry(*node).or_default().add(look, seen.interval.0, self.keeps);
        }
    }
}

impl Observer for Meter {
    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), Failure> {
        self.look(epoch.seen);
        Ok(())
    }
}

impl Track {
    fn add(&mut self, look: EpochLatencies, interval: f64, keep: bool) {
        let congested = look.local > look.remote;
        self.seconds += if congested { interval } else { 0.0 };
        self.crossed += u32::from(congested != self.congested);
        self.congested = congested;
        // CAPM's gap is measured from the mean of both latencies to the greater one.
        if (look.local - look.remote).abs() > THRESHOLD * (look.local + look.remote) {
            self.swung += u32::from(congested != self.far);
            self.far = congested;
        }
        self.gaps += (look.local - look.remote).abs();
        self.epochs += 1;
        if keep {
            self.looks.push(look);
        }
    }

    fn measures(&self) -> Congestion {
        Congestion {
            congestion_seconds: self.seconds,
            oscillations: f64::from(self.crossed),
            wide_oscillations: f64::from(self.swung),
            mean_gap_cycles: self.gaps / f64::from(self.epochs.max(1)),
        }
    }
}

fn has_cpus(seen: &Observation, node: NodeId) -> bool {
    seen.machine.cpus().iter().any(|cpu| cpu.node == Some(node))
}

/// The latency of the nearest other memory.
fn nearest(cycles: &NodeMatrix<f64>, node: NodeId) -> Option<f64> {
    let others = cycles.nodes().iter().filter(|other| **other != node);
    others.filter_map(|other| cycles.get(node, *other).copied()).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two seconds per epoch: 229 and 319 cycles, 430 and 330, 340 and 330, 320 and 330. The node
    /// is congested for two epochs and crosses twice, once widely (the last gap is 5 of a mean of
    /// 325). The gaps are 90, 100, 10 and 10.
    #[test]
    fn duration_oscillations_and_gap_are_counted_as_in_the_paper() {
        let mut track = Track::default();
        for (time, (local, remote)) in
            [(229.0, 319.0), (430.0, 330.0), (340.0, 330.0), (320.0, 330.0)].iter().enumerate()
        {
            let time = isobar_model::num::float_len(time);
            track.add(EpochLatencies { time, local: *local, remote: *remote }, 2.0, true);
        }
        let seen = track.measures();
        let expected =
            Congestion { congestion_seconds: 4.0, oscillations: 2.0, wide_oscillations: 1.0, mean_gap_cycles: 52.5 };
        assert_eq!(seen, expected);
        assert_eq!((track.looks.len(), Meter::default().worst()), (4, None));
    }

    /// Node 0 is congested for four epochs and crosses once. Node 1 is congested for two epochs and
    /// crosses four times.
    #[test]
    fn crossings_are_those_of_the_node_with_the_most() {
        let mut meter = Meter::default();
        for (node, locals) in [(0, [430.0; 4]), (1, [332.0, 300.0, 332.0, 300.0])] {
            let track = meter.tracks.entry(NodeId(node)).or_default();
            locals
                .iter()
                .for_each(|local| track.add(EpochLatencies { time: 0.0, local: *local, remote: 330.0 }, 2.0, false));
        }
        let expected =
            Congestion { congestion_seconds: 8.0, oscillations: 4.0, wide_oscillations: 0.0, mean_gap_cycles: 100.0 };
        assert_eq!(meter.worst(), Some(expected));
    }
}
