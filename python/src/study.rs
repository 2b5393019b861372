//! `study`: static what-if questions and exact optima, as `isobar study` answers them.

use crate::apart::{Standing, apart};
use crate::error::bad;
use crate::files;
use isobar_study::{Ask, MACHINE, Row, SearchState as Search, Source, Study, StudyError, Watch};
use pyo3::prelude::*;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// The request.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Request {
    profiles: String,
    /// A file, or the workloads themselves if the text has several lines or commas.
    workloads: Option<String>,
    inline: bool,
    algorithms: Vec<String>,
    solution: Option<String>,
    model: String,
    max_bandwidth: Option<f64>,
    groups: Option<usize>,
    uma: bool,
    cores: Option<usize>,
    ways: Option<usize>,
    objective: String,
    machine: Option<String>,
    time_limit: Option<f64>,
    jobs: usize,
}

/// Answers every workload with every algorithm; the answer is a JSON document.
#[pyfunction]
pub fn study(py: Python<'_>, request: Request, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let study = request.prepared()?;
    let standing = Standing::default();
    standing.notify(0, study.answers());
    let rows = apart(py, &standing, progress.as_ref(), &|_| Ok(()), || {
        let mut rows: Vec<Row> = Vec::new();
        let keep = |row| -> Result<(), StudyError> {
            rows.push(row);
            Ok(())
        };
        study.run(request.jobs, &Watcher { standing: &standing, begun: Instant::now() }, keep).map(|()| rows)
    })?;
    let rows = rows.map_err(bad)?;
    Ok(json!({"heading": study.heading(), "remarks": study.remarks(), "answers": rows}).to_string())
}

impl Request {
    fn prepared(&self) -> PyResult<Study> {
        let time_limit = self.time_limit.map(seconds).transpose()?;
        let profiles = match self.profiles.strip_prefix(MACHINE) {
            Some(machine) => isobar_study::of_machine(machine).map_err(bad)?,
            None => {
                let text = files::text(Path::new(&self.profiles), "a table of programs, or machine:NAME")?;
                isobar_profiles::read(&self.profiles, &text).map_err(bad)?
            }
        };
        let workloads = match &self.workloads {
            Some(text) if self.inline => Some(("workloads".to_owned(), text.clone())),
            Some(file) => Some((file.clone(), files::text(Path::new(file), "a list of workloads")?)),
            None => None,
        };
        let read = |file: &String| Ok::<_, PyErr>((file.clone(), files::text(Path::new(file), "solutions in JSON")?));
        let solutions = self.solution.as_ref().map(read).transpose()?;
        let ask = Ask {
            algorithms: self.algorithms.clone(),
            model: self.model.clone(),
            max_bandwidth: self.max_bandwidth,
            groups: self.groups,
            uma: self.uma,
            cores: self.cores,
            ways: self.ways,
            objective: self.objective.clone(),
            machine: self.machine.clone(),
            time_limit,
        };
        Study::new(&ask, profiles, workloads.as_ref().map(source), solutions.as_ref().map(source)).map_err(bad)
    }
}

fn seconds(limit: f64) -> PyResult<Duration> {
    if limit > 0.0 && limit.is_finite() {
        return Ok(Duration::try_from_secs_f64(limit).unwrap_or(Duration::MAX));
    }
    Err(bad(format!("time_limit {limit}: expected seconds above 0")))
}

fn source((file, text): &(String, String)) -> Source<'_> {
    Source { file, text }
}

struct Watcher<'a> {
    standing: &'a Standing,
    begun: Instant,
}

impl Watch for Watcher<'_> {
    fn stopped(&self) -> bool {
        self.standing.stopped()
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn done(&self, done: usize, all: usize) {
        self.standing.notify(done, all);
    }

    fn search(&self, _: &Search<'_>) {}
}
