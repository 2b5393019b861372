//! Policies compared on simulated machines, as `isobar sim --json` prints them, with one run over
//! time where it is there. Fields of the document that a page does not show are not read.

mod words;

use crate::data::{Head, Report};
use crate::page::{DOTS, RUN, page};
use isobar_model::text::plain;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// A document of several workloads.
#[derive(Deserialize)]
struct Several {
    workloads: Vec<AcrossRow>,
    all: Vec<AcrossCell>,
    comparisons: Vec<Compared>,
}

impl Simulation {
    /// Whether a document looks like one of `isobar sim --json`.
    #[must_use]
    pub fn is(document: &Value) -> bool {
        document.get("policies").is_some_and(Value::is_array)
            || document.get("comparisons").is_some_and(Value::is_array)
    }

    /// From such a document.
    ///
    /// # Errors
    /// What does not suit it.
    pub fn read(document: Value, head: Head) -> Result<Self, serde_json::Error> {
        let notes = strings(document.get("notes"));
        let (across, all, mut workloads) = if document.get("comparisons").is_some() {
            let Several { workloads, all, comparisons } = serde_json::from_value(document)?;
            (workloads, all, comparisons)
        } else {
            (Vec::new(), Vec::new(), vec![serde_json::from_value(document)?])
        };
        for (one, row) in workloads.iter_mut().zip(&across) {
            one.name.clone_from(&row.workload);
        }
        let mut simulation = Self { head, summary: Vec::new(), workloads, across, all, timeline: None, run: None };
        simulation.harmless();
        simulation.head.facts.extend(words::facts(&simulation));
        simulation.summary = words::of(&simulation);
        simulation.summary.extend(notes);
        Ok(simulation)
    }

    /// The same with a run over time.
    #[must_use]
    pub fn over_time(mut self, timeline: Timeline, run: Report) -> Self {
        (self.timeline, self.run) = (Some(timeline), Some(run));
        self
    }

    /// Names that reorder or hide what is read are escaped.
    fn harmless(&mut self) {
        let apps = self.workloads.iter_mut().flat_map(|one| &mut one.policies).flat_map(|row| &mut row.apps);
        apps.for_each(|app| app.name = plain(&app.name).into_owned());
        self.workloads.iter_mut().for_each(|one| one.name = plain(&one.name).into_owned());
        self.across.iter_mut().for_each(|one| one.workload = plain(&one.workload).into_owned());
    }

    /// The page as one file of HTML.
    #[must_use]
    pub fn html(&self) -> String {
        let script = [&[DOTS][..], &RUN, &[include_str!("../assets/simulation.js")]].concat();
        page("simulation", &self.head.title, &self.summary, &script, self)
    }
}

fn strings(list: Option<&Value>) -> Vec<String> {
    let all = list.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|one| Some(format!("Note: {}", plain(one.as_str()?)))).collect()
}
