//! Policies compared on simulated machines: the figures of a page.

use crate::data::{Head, Report};
use serde::{Deserialize, Serialize};

/// Policies compared.
#[derive(Clone, Debug, Serialize)]
pub struct Simulation {
    /// What the report is about.
    pub head: Head,
    /// The summary, in words.
    pub summary: Vec<String>,
    /// Workload by workload.
    pub workloads: Vec<Compared>,
    /// If there are several workloads: what each policy gains on each.
    pub across: Vec<AcrossRow>,
    /// What each policy gains over all workloads.
    pub all: Vec<AcrossCell>,
    /// Which run is shown over time.
    pub timeline: Option<Timeline>,
    /// That run.
    pub run: Option<Report>,
}

/// A run that is shown over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// Its policy.
    pub policy: String,
    /// Its seed.
    pub seed: u64,
}

/// Policies compared on one workload.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Compared {
    /// Its name; empty if the document has only one workload.
    #[serde(default)]
    pub name: String,
    /// Seed of the first run.
    pub seed: u64,
    /// Number of runs of each policy from each start.
    pub repeat: u32,
    /// Number of schedules that threads start on; `None` if the seed draws one.
    pub schedules: Option<usize>,
    /// A row per policy.
    pub policies: Vec<PolicyRow>,
}

/// A policy.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PolicyRow {
    /// Its name.
    pub policy: String,
    /// Largest slowdown divided by the smallest.
    pub unfairness: f64,
    /// Sum of the speeds relative to running alone.
    pub stp: f64,
    /// Mean slowdown.
    pub antt: f64,
    /// Standard deviation of the slowdowns divided by their mean.
    pub unfairness_cov: f64,
    /// Simulated seconds.
    pub seconds: f64,
    /// Number of thread moves.
    pub thread_migrations: f64,
    /// Number of times that memory of a program was moved.
    pub memory_migrations: f64,
    /// Number of pages moved.
    pub pages_moved: f64,
    /// Gain over `linux`, in per cent.
    pub vs_linux_percent: Option<f64>,
    /// How far these figures vary, by the name of the figure.
    #[serde(default)]
    pub spread: std::collections::BTreeMap<String, Option<Spread>>,
    /// By program.
    pub apps: Vec<AppRow>,
}

/// A program.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AppRow {
    /// Its name.
    pub name: String,
    /// How long it takes alone, in seconds.
    pub alone_seconds: f64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The second divided by the first.
    pub slowdown: f64,
    /// Gain over `linux`, in per cent.
    pub vs_linux_percent: Option<f64>,
    /// How far the slowdown varies.
    pub slowdown_spread: Option<Spread>,
}

/// How far a figure varies.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Spread {
    /// The smallest value of all runs.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Half the width of the interval that contains the mean in 95 of 100 cases.
    pub half_width_95: Option<f64>,
}

/// One of several workloads.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AcrossRow {
    /// Its name.
    pub workload: String,
    /// The gain of each policy.
    pub cells: Vec<AcrossCell>,
}

/// What a policy gains.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AcrossCell {
    /// The policy.
    pub policy: String,
    /// Mean over the programs.
    pub mean_percent: f64,
    /// The gain of the program that fares worst.
    pub worst_percent: f64,
    /// That program.
    pub worst_app: Option<String>,
    /// Over all workloads: the workload on which it fares worst.
    pub worst_workload: Option<String>,
}
