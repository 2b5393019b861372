//! A static study: the figures of a page.

use crate::data::Head;
use serde::{Deserialize, Serialize};

/// A study.
#[derive(Clone, Debug, Serialize)]
pub struct Study {
    /// What it is about.
    pub head: Head,
    /// In words.
    pub summary: Vec<String>,
    /// One for each workload and algorithm.
    pub rows: Vec<Row>,
}

/// An answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Row {
    /// Position of the workload.
    pub workload: usize,
    /// The algorithm.
    pub algorithm: String,
    /// How programs slow each other down.
    pub model: String,
    /// LLCs.
    pub groups: usize,
    /// Ways of each.
    pub ways: usize,
    /// What a search optimises.
    pub objective: Option<String>,
    /// The programs.
    pub apps: Vec<App>,
    /// Greatest over least slowdown.
    pub unfairness: Option<f64>,
    /// Sum of speeds against alone.
    pub stp: Option<f64>,
    /// Mean slowdown.
    pub antt: Option<f64>,
    /// Standard deviation of the slowdowns over their mean.
    pub unfairness_cov: Option<f64>,
    /// How long it took.
    pub seconds: f64,
    /// Partial solutions that were looked at.
    pub nodes_explored: u64,
    /// Whether nothing is better.
    pub proved_optimal: bool,
    /// How far it may be from the best.
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
    /// Ways of the cluster.
    pub ways: Option<usize>,
    /// The same as a mask.
    #[serde(default, skip_serializing)]
    pub way_mask: Option<String>,
    /// The first of these ways.
    #[serde(default)]
    pub first_way: Option<u32>,
    /// Completion time against alone.
    pub slowdown: Option<f64>,
}
