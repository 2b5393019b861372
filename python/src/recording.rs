//! `Recording`: the tables of a recording as columns, and what a policy saw in it.

use crate::error::{bad, of_recording};
use isobar_model::wire::observation_to_json;
use isobar_model::{Observation, Sample};
use isobar_recording::{Cell, Table};
use isobar_runtime::selection;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A recording that is open for reading.
#[pyclass(module = "isobar_numa._native", frozen)]
pub struct Recording {
    path: PathBuf,
    asked: Mutex<isobar_recording::Recording>,
}

#[pymethods]
impl Recording {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let asked = Mutex::new(open(&path)?);
        Ok(Self { path, asked })
    }

    /// The facts about it.
    fn facts(&self) -> PyResult<BTreeMap<String, String>> {
        self.with(isobar_recording::Recording::facts)
    }

    /// Its tables and views.
    fn tables(&self) -> PyResult<Vec<String>> {
        self.with(isobar_recording::Recording::tables)
    }

    /// The answer to a query, by column.
    fn query<'py>(&self, py: Python<'py>, query: &str) -> PyResult<Bound<'py, PyDict>> {
        let table = py.detach(|| self.with(|recording| recording.query(query)))?;
        columns(py, table)
    }

    /// What the policy saw, from the beginning.
    fn observations(&self) -> PyResult<Observations> {
        Ok(Observations(Mutex::new(Past { recording: open(&self.path)?, before: None })))
    }
}

impl Recording {
    fn with<R>(
        &self,
        ask: impl FnOnce(&isobar_recording::Recording) -> Result<R, isobar_recording::RecordingError>,
    ) -> PyResult<R> {
        ask(&self.asked.lock().unwrap_or_else(PoisonError::into_inner)).map_err(|error| of_recording(&error))
    }
}

fn open(path: &Path) -> PyResult<isobar_recording::Recording> {
    isobar_recording::Recording::open(path).map_err(|error| of_recording(&error))
}

/// Turns rows into columns.
fn columns(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    let lists: Vec<_> = table.columns.iter().map(|_| PyList::empty(py)).collect();
    for (name, list) in table.columns.iter().zip(&lists) {
        if columns.contains(name)? {
            return Err(bad(format!("two columns are called {name}: give one another name with AS")));
        }
        columns.set_item(name, list)?;
    }
    for row in table.rows {
        for (cell, list) in row.into_iter().zip(&lists) {
            match cell {
                Cell::Null => list.append(py.None())?,
                Cell::Integer(number) => list.append(number)?,
                Cell::Real(number) => list.append(number)?,
                Cell::Text(text) => list.append(text)?,
                Cell::Bytes(bytes) => list.append(pyo3::types::PyBytes::new(py, &bytes))?,
            }
        }
    }
    Ok(columns)
}

/// The observations of a recording, one after the other, as JSON.
#[pyclass(module = "isobar_numa._native", frozen)]
pub struct Observations(Mutex<Past>);

struct Past {
    recording: isobar_recording::Recording,
    before: Option<Sample>,
}

#[pymethods]
impl Observations {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<String>> {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next())
    }
}

impl Past {
    /// The managed part of the next epoch; `None` at the end.
    fn next(&mut self) -> PyResult<Option<String>> {
        loop {
            let Some(now) = self.recording.next_moment().map_err(|error| of_recording(&error))? else {
                return Ok(None);
            };
            if let Some(before) = self.before.replace(now.sample.clone()) {
                let all = Observation::between(&before, &now.sample);
                let seen = selection::part(&all, &now.managed);
                return Ok(Some(observation_to_json(&seen).to_string()));
            }
        }
    }
}
