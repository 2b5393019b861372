//! A static study: the figures of a page.

use crate::data::Head;
use serde::{Deserialize, Serialize};

/// A study.
#[derive(Clone, Debug, Serialize)]
pub struct Study {
    /// What the report is about.
    pub head: Head,
    /// The summary, in words.
    pub summary: Vec<String>,
    /// One row per workload and algorithm.
    pub rows: Vec<Row>,
}

/// An answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Row {
    /// Position of the workload.
    pub workload: usize,
    /// The algorithm.
    pub algorithm: String,
    /// The model of how programs slow each other down.
    pub model: String,
    /// Number of LLCs.
    pub groups: usize,
    /// Number of ways of each LLC.
    pub ways: usize,
    /// What a search optimises.
    pub objective: Option<String>,
    /// The programs.
    pub apps: Vec<App>,
    /// Largest slowdown divided by the smallest.
    pub unfairness: Option<f64>,
    /// Sum of the speeds relative to running alone.
    pub stp: Option<f64>,
    /// Mean slowdown.
    pub antt: Option<f64>,
    /// Standard deviation of the slowdowns divided by their mean.
    pub unfairness_cov: Option<f64>,
    /// How long the search took, in seconds.
    pub seconds: f64,
    /// Number of partial solutions that were examined.
    pub nodes_explored: u64,
    /// Whether it is proved that nothing is better.
    pub proved_optimal: bool,
    /// How far the answer may be from the best, in per cent.
    pub gap_percent: Option<f64>,
    /// Why there is no answer.
    pub problem: Option<String>,
    /// What is odd about the programs' tables.
    #[serde(default)]
    pub remarks: Vec<String>,
}

/// A program: where it is, and how much it slows down.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct App {
    /// Its name.
    pub name: String,
    /// Its LLC.
    pub llc: Option<usize>,
    /// Its cluster.
    pub cluster: Option<usize>,
    /// Number of ways of the cluster.
    pub ways: Option<usize>,
    /// The cluster's ways as a mask.
    #[serde(default, skip_serializing)]
    pub way_mask: Option<String>,
    /// The first of these ways.
    #[serde(default)]
    pub first_way: Option<u32>,
    /// Completion time relative to running alone.
    pub slowdown: Option<f64>,
}
