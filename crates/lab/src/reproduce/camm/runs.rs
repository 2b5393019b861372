//! Runs one workload under one policy, and compares how soon its programs end with the base case.

use crate::congestion::{Congestion, EpochLatencies, Meter};
use crate::error::LabError;
use crate::run::{observed, seconds};
use isobar_model::{ActionOutcome, NodeId};
use isobar_policy::registry;
use isobar_policy::settings::Settings;
use isobar_runtime::{Epoch, Observer};
use isobar_sim::Workload;

/// The base case: no policy acts, and memory stays where it was touched.
pub(super) const BASE: &str = "linux";

/// A policy by name, with its settings.
pub(super) type Named<'a> = (&'a str, &'a [(&'a str, &'a str)]);

/// The results of a run.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// Completion time of each application, in seconds.
    pub seconds: Vec<f64>,
    /// The measures of section VI: time and gap of the node that was congested longest, and
    /// crossings of the node with the most.
    pub congestion: Congestion,
    /// Latencies from node 0 over time.
    pub looks: Vec<EpochLatencies>,
    /// Number of actions that had an effect.
    pub effective: usize,
}

/// Keeps latencies, and counts actions that had an effect.
struct Watch {
    meter: Meter,
    effective: usize,
}

impl Observer for Watch {
    fn epoch(&mut self, epoch: &Epoch<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let done = |outcome: &&ActionOutcome| match outcome {
            ActionOutcome::Done => true,
            ActionOutcome::Pages { moved: pages, .. } | ActionOutcome::Queued { pages, .. } => pages.0 > 0,
            _ => false,
        };
        self.effective += epoch.outcome.map_or(0, |outcome| outcome.actions.iter().filter(done).count());
        self.meter.look(epoch.seen);
        Ok(())
    }
}

/// Runs a workload under a policy.
pub(super) fn run(workload: &Workload, (name, set): Named<'_>, seed: u64) -> Result<Outcome, LabError> {
    let mut settings = Settings::default();
    for (key, value) in set {
        registry::set(&mut settings, key, value)?;
    }
    let mut policy = registry::build(name, &settings)?;
    let mut watch = Watch { meter: Meter::keeping(), effective: 0 };
    let report = observed(workload, seed, policy.as_mut(), &mut watch)?;
    let times = report.apps.iter().map(|app| seconds(workload, app)).collect::<Result<_, _>>()?;
    Ok(Outcome {
        seconds: times,
        congestion: watch.meter.worst().unwrap_or_default(),
        looks: watch.meter.looks(NodeId(0)).to_vec(),
        effective: watch.effective,
    })
}

impl Outcome {
    /// How much sooner the applications end than in another run, in per cent: 1 minus the geometric
    /// mean of their times divided by the times there (section II-B).
    pub fn improvement(&self, base: &Self) -> f64 {
        let ratios = self.seconds.iter().zip(&base.seconds).map(|(own, base)| (own / base).ln());
        let count = isobar_model::num::float_len(self.seconds.len().max(1));
        100.0 * (1.0 - (ratios.sum::<f64>() / count).exp())
    }
}
