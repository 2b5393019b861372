//! The result of the search: the best arrangement, by names, and a bound on how good any
//! arrangement can be.

use crate::compare::{Comparison, shorter};
use crate::policy_matrix::BASE;
use isobar_model::metrics::Summary;
use serde::Serialize;

/// A mean slowdown that exceeds the bound by at most this fraction is proved to be the least.
pub const PROVED: f64 = 0.001;
/// The best arrangement found, and a bound on how good any arrangement can be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Joint {
    /// The measures over its slowdowns.
    #[serde(flatten)]
    pub summary: Summary,
    /// No arrangement has a mean slowdown below this.
    pub antt_bound: f64,
    /// How far the mean slowdown may be above the least, in per cent of the bound.
    pub gap_percent: f64,
    /// Whether all arrangements were evaluated, because there were few.
    pub exhausted: bool,
    /// Whether it is proved to be the best: all arrangements were evaluated, or the gap is at most
    /// [`PROVED`].
    pub proved_optimal: bool,
    /// Whether `stop` ended the search.
    pub stopped: bool,
    /// Number of calls of the contention model.
    pub questions: u64,
    /// Mean over the applications of how much shorter they run than under `linux`, in per cent;
    /// `None` if `linux` was not run.
    pub vs_linux_percent: Option<f64>,
    /// By application.
    pub apps: Vec<JointApp>,
}

/// An application in the best arrangement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JointApp {
    /// Its name in the workload.
    pub name: String,
    /// Its slowdown.
    pub slowdown: f64,
    /// How much shorter it runs than under `linux`, in per cent.
    pub vs_linux_percent: Option<f64>,
    /// The last-level cache of each thread.
    pub llcs: Vec<u32>,
    /// Where its pages are: `left`, `with the threads`, `on node N`, `split`.
    pub pages: String,
    /// The ways that it may fill, for each cache that it runs on.
    pub ways: Vec<JointWays>,
}

/// Ways of a cache that an application may fill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JointWays {
    /// The cache.
    pub llc: u32,
    /// The number of ways.
    pub ways: u32,
    /// The applications that share these ways.
    pub shared_with: Vec<String>,
}

impl Joint {
    /// Adds the comparison with the results of `linux`.
    #[must_use]
    pub fn against(mut self, comparison: &Comparison) -> Self {
        let Some(linux) = comparison.row(BASE) else { return self };
        for (app, linux) in self.apps.iter_mut().zip(&linux.apps) {
            app.vs_linux_percent = Some(shorter(app.slowdown * linux.alone_seconds, linux.seconds));
        }
        let gains: Option<Vec<f64>> = self.apps.iter().map(|app| app.vs_linux_percent).collect();
        self.vs_linux_percent = gains.map(crate::stats::mean_or_zero);
        self
    }
}
