//! Policies compared on simulated machines: the figures of a page.

use crate::data::{Head, Report};
use serde::{Deserialize, Serialize};

/// Policies compared.
#[derive(Clone, Debug, Serialize)]
pub struct Simulation {
    /// What it is about.
    pub head: Head,
    /// In words.
    pub summary: Vec<String>,
    /// Workload by workload.
    pub workloads: Vec<Compared>,
    /// Of several workloads: what each policy gains on each.
    pub across: Vec<AcrossRow>,
    /// Over all of them.
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

/// Policies on one workload.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Compared {
    /// Its name; empty where the document has one workload.
    #[serde(default)]
    pub name: String,
    /// Seed of the first run.
    pub seed: u64,
    /// Runs of each policy from each start.
    pub repeat: u32,
    /// Schedules that threads start on; `None` where the seed draws one.
    pub schedules: Option<usize>,
    /// Row by row.
    pub policies: Vec<PolicyRow>,
}

/// A policy.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PolicyRow {
    /// Its name.
    pub policy: String,
    /// Greatest over least slowdown.
    pub unfairness: f64,
    /// Sum of speeds against alone.
    pub stp: f64,
    /// Mean slowdown.
    pub antt: f64,
    /// Standard deviation of the slowdowns over their mean.
    pub unfairness_cov: f64,
    /// Simulated.
    pub seconds: f64,
    /// Threads that were moved.
    pub thread_migrations: f64,
    /// Times that memory of a program was moved.
    pub memory_migrations: f64,
    /// Pages that were moved.
    pub pages_moved: f64,
    /// Gain over `linux`.
    pub vs_linux_percent: Option<f64>,
    /// How far these vary, by the name of the figure.
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
    /// How long it takes alone.
    pub alone_seconds: f64,
    /// How long it took.
    pub seconds: f64,
    /// The one over the other.
    pub slowdown: f64,
    /// Gain over `linux`.
    pub vs_linux_percent: Option<f64>,
    /// How far the slowdown varies.
    pub slowdown_spread: Option<Spread>,
}

/// How far a figure varies.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Spread {
    /// The least of all runs.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// Half of the interval that holds the mean in 95 of 100 cases.
    pub half_width_95: Option<f64>,
}

/// A workload of several.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AcrossRow {
    /// Its name.
    pub workload: String,
    /// By policy.
    pub cells: Vec<AcrossCell>,
}

/// What a policy gains.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AcrossCell {
    /// The policy.
    pub policy: String,
    /// Mean over the programs.
    pub mean_percent: f64,
    /// That of the one that fares worst.
    pub worst_percent: f64,
    /// That program.
    pub worst_app: Option<String>,
    /// Over all workloads, the one where it fares worst.
    pub worst_workload: Option<String>,
}
