//! The equations of the whole machine, and how far a point is from solving them.
//!
//! The unknowns are the idle fraction `1 - u_k` of every resource and the residence time `T_a` of
//! every part of a cache. If both are given, every stream is known (stream.rs). The equations, as
//! fractions of capacity and of size:
//!
//! ```text
//! u_k - sum of what streams put on k / C_k              = 0
//! sum of what streams hold of a / size_a + T_a/LONGEST  = 1
//! ```

use crate::budget::{Meter, NoAnswer};
use crate::queue::Resource;
use crate::root::DOUBLED;
use crate::stream::{Flow, Stream};

/// Seconds after which other traffic has replaced every line (estimate: kernel threads and
/// interrupts; 27.5 MB in 1000 s are 27 kB/s).
pub(crate) const LONGEST: f64 = 1000.0;

/// The equations.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub resources: Vec<Resource>,
    /// Bytes of each part.
    pub spaces: Vec<f64>,
    pub streams: Vec<Stream>,
    /// The streams that fill each part, each with the fraction of its insertions that goes there.
    pub members: Vec<Vec<(usize, f64)>>,
    /// Whether every stream fills at most one part.
    pub disjoint: bool,
    /// How exact the space held by a stream is: see [`crate::root::guessed_root`].
    pub last_step: f64,
}

impl Default for Network {
    fn default() -> Self {
        Self::of(Vec::new(), Vec::new(), Vec::new())
    }
}

/// A candidate for a solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Point {
    /// The idle fraction of each resource, above 0.
    pub slack: Vec<f64>,
    /// Residence time in each part, in seconds.
    pub stay: Vec<f64>,
}

/// A point with the quantities that follow from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trial {
    pub point: Point,
    pub waits: Vec<f64>,
    pub flows: Vec<Flow>,
    /// Residuals of the resources, followed by those of the parts.
    pub residual: Vec<f64>,
    /// The largest residual by absolute value.
    pub error: f64,
}

impl Network {
    pub fn of(resources: Vec<Resource>, spaces: Vec<f64>, streams: Vec<Stream>) -> Self {
        let mut members = vec![Vec::new(); spaces.len()];
        for (index, stream) in streams.iter().enumerate() {
            stream.shares.iter().for_each(|(part, share)| members[*part].push((index, *share)));
        }
        let disjoint = streams.iter().all(|stream| stream.shares.len() <= 1);
        Self { resources, spaces, streams, members, disjoint, last_step: DOUBLED }
    }

    /// Number of unknowns.
    pub fn unknowns(&self) -> usize {
        self.resources.len() + self.spaces.len()
    }

    /// Computes what follows from `trial.point`. First guesses of the spaces are taken from
    /// `trial.flows`.
    pub fn evaluate(&self, trial: &mut Trial, meter: &mut Meter) -> Result<(), NoAnswer> {
        meter.spend()?;
        let resources = self.resources.len();
        let Trial { point, waits, flows, residual, error } = trial;
        waits.clear();
        waits.extend(self.resources.iter().zip(&point.slack).map(|(resource, slack)| resource.wait_at_slack(*slack)));
        flows.resize(self.streams.len(), Flow::default());
        residual.clear();
        residual.extend(point.slack.iter().map(|slack| 1.0 - slack));
        residual.extend(point.stay.iter().map(|stay| stay / LONGEST - 1.0));
        for (stream, flow) in self.streams.iter().zip(flows.iter_mut()) {
            let stay = stream.mean_stay(&point.stay);
            let stall = stream.stalled(waits);
            *flow = stream.flow_near(stall, stay, flow.guess(stall, stay), self.last_step);
            for visit in &stream.visits {
                residual[visit.resource] -= visit.lines * flow.bytes / self.resources[visit.resource].capacity;
            }
            for (part, share) in &stream.shares {
                residual[resources + part] += flow.space * share * point.stay[*part] / stay / self.spaces[*part];
            }
        }
        // `max` would pass over what is not a number.
        *error = residual.iter().fold(0.0, |most, one| if one.is_nan() { f64::INFINITY } else { one.abs().max(most) });
        Ok(())
    }
}

impl Stream {
    /// The mean residence time of what it inserts; an arbitrary value if it does not use the
    /// caches.
    pub fn mean_stay(&self, stays: &[f64]) -> f64 {
        match self.shares.as_slice() {
            [] => 1.0,
            [(part, _)] => stays[*part],
            several => several.iter().map(|(part, share)| share * stays[*part]).sum(),
        }
    }
}
