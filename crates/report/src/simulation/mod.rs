//! Policies compared on simulated machines, as `isobar sim --json` prints them, with one run over
//! time if there is one. Fields of the document that a page does not show are not read.

mod figures;
mod words;

pub use figures::{AcrossCell, AcrossRow, AppRow, Compared, PolicyRow, Simulation, Spread, Timeline};

use crate::data::{Head, Report};
use crate::page::{DOTS, RUN, page};
use isobar_model::text::plain;
use serde::Deserialize;
use serde_json::Value;

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

    /// Reads such a document.
    ///
    /// # Errors
    /// Why the document is not suitable.
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

    /// The same report with a run over time.
    #[must_use]
    pub fn over_time(mut self, timeline: Timeline, run: Report) -> Self {
        (self.timeline, self.run) = (Some(timeline), Some(run));
        self
    }

    /// Escapes characters in names that would reorder or hide what is read.
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
