//! The reported result of one algorithm for one workload. Field names are those of the JSON
//! document.

use isobar_model::metrics::Summary;
use isobar_partition::Solution;
use isobar_partition::evaluate::Evaluation;
use serde::Serialize;

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Position of the workload, from 1.
    pub workload: usize,
    /// The workload's line in its file; its position in a file of solutions.
    pub line: usize,
    /// The algorithm.
    pub algorithm: String,
    /// The model.
    pub model: &'static str,
    /// Bandwidth of each controller, in MB/s; `None` = no limit.
    pub max_bandwidth_mbps: Option<f64>,
    /// Number of LLCs.
    pub groups: usize,
    /// Whether all groups share one memory controller.
    pub uma: bool,
    /// Programs that fit on an LLC.
    pub cores: usize,
    /// Ways of every LLC.
    pub ways: usize,
    /// What an exact search optimises.
    pub objective: Option<&'static str>,
    /// The programs, in the workload's order.
    pub apps: Vec<AppRow>,
    /// The measures; `None` if there is no solution, or if the model has no meaning for it.
    #[serde(flatten)]
    pub measures: Measures,
    /// Wall-clock seconds that the algorithm took.
    pub seconds: f64,
    /// Partial solutions that a search looked at.
    pub nodes_explored: u64,
    /// Whether it is proved that no solution is better, under this model and objective.
    pub proved_optimal: bool,
    /// A bound that no solution exceeds: a lower bound of unfairness, an upper bound of STP. Only
    /// searches have one.
    pub bound: Option<f64>,
    /// How far the solution may be from the optimum, in percent of its own figure.
    pub gap_percent: Option<f64>,
    /// Why there are no figures.
    pub problem: Option<String>,
    /// What is odd about the programs' tables.
    pub remarks: Vec<String>,
}

/// The four measures, all or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Sum of 1/slowdown.
    pub stp: Option<f64>,
    /// Greatest over least slowdown.
    pub unfairness: Option<f64>,
    /// Mean slowdown.
    pub antt: Option<f64>,
    /// Standard deviation over mean of the slowdowns.
    pub unfairness_cov: Option<f64>,
}

impl From<Summary> for Measures {
    fn from(all: Summary) -> Self {
        let Summary { unfairness, stp, antt, unfairness_cov } = all;
        Self { stp: Some(stp), unfairness: Some(unfairness), antt: Some(antt), unfairness_cov: Some(unfairness_cov) }
    }
}

/// One program: its place, and its slowdown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AppRow {
    /// Its name.
    pub name: String,
    /// Its LLC.
    pub llc: Option<usize>,
    /// Its cluster, numbered within the LLC from way 0 up.
    pub cluster: Option<usize>,
    /// Ways of the cluster.
    pub ways: Option<usize>,
    /// The ways of the cluster as a mask.
    pub way_mask: Option<String>,
    /// Completion time relative to running alone.
    pub slowdown: Option<f64>,
    /// The slowdown due to its share of the cache, without the effect of bandwidth.
    pub slowdown_without_bandwidth: Option<f64>,
}

/// The programs under a solution, with the model's figures if there are any.
pub(crate) fn apps(names: &[String], solution: Option<&Solution>, figures: Option<&Evaluation>) -> Vec<AppRow> {
    let mut rows: Vec<AppRow> = names.iter().map(|name| AppRow { name: name.clone(), ..AppRow::default() }).collect();
    for (llc, group) in solution.into_iter().flat_map(|solution| solution.groups.iter().enumerate()) {
        let masks = Solution::way_masks(group);
        for (number, (cluster, mask)) in group.iter().zip(masks).enumerate() {
            for program in &cluster.programs {
                let row = &mut rows[*program];
                (row.llc, row.cluster, row.ways) = (Some(llc), Some(number), Some(cluster.ways));
                row.way_mask = Some(format!("{mask:#x}"));
            }
        }
    }
    for (row, effect) in rows.iter_mut().zip(figures.into_iter().flat_map(|figures| &figures.effects)) {
        row.slowdown = Some(effect.slowdown);
        row.slowdown_without_bandwidth = Some(effect.slowdown_without_bandwidth);
    }
    rows
}
