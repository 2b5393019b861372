//! A static study, as `isobar study --json` prints it: an answer a line.

mod words;

use crate::data::Head;
use crate::page::{DOTS, page};
use isobar_model::text::plain;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

impl Study {
    /// Whether a line looks like one of `isobar study --json`.
    #[must_use]
    pub fn is(document: &Value) -> bool {
        ["algorithm", "apps", "proved_optimal"].iter().all(|key| document.get(key).is_some())
    }

    /// From answers.
    #[must_use]
    pub fn of(mut rows: Vec<Row>, head: Head) -> Self {
        rows.iter_mut().for_each(Row::complete);
        let mut study = Self { head, summary: Vec::new(), rows };
        study.head.facts.extend(words::facts(&study));
        study.head.remarks.extend(words::remarks(&study));
        study.summary = words::of(&study);
        study
    }

    /// The page as one file of HTML.
    #[must_use]
    pub fn html(&self) -> String {
        page("study", &self.head.title, &self.summary, &[DOTS, include_str!("../assets/study.js")], self)
    }
}

impl Row {
    /// Names that reorder or hide what is read are escaped, and masks become positions.
    fn complete(&mut self) {
        self.algorithm = plain(&self.algorithm).into_owned();
        self.problem = self.problem.as_deref().map(|why| plain(why).into_owned());
        for app in &mut self.apps {
            app.name = plain(&app.name).into_owned();
            let digits = app.way_mask.as_deref().and_then(|mask| mask.strip_prefix("0x"));
            let mask = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            app.first_way = mask.filter(|mask| *mask != 0).map(u64::trailing_zeros);
        }
    }
}
