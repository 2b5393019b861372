//! isobar's one-line errors as Python exceptions. If a message names an option of the command
//! (`--time-limit`), the exception names the argument of the function (`time_limit`).

use isobar_lab::LabError;
use isobar_recording::RecordingError;
use pyo3::exceptions::{
    PyFileNotFoundError, PyIsADirectoryError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;
use std::fmt::Display;
use std::io;

pyo3::create_exception!(
    isobar_numa,
    PolicyError,
    PyRuntimeError,
    "A policy raised an exception, which is its cause, or made a plan that cannot be carried out."
);

/// The request is invalid.
pub fn bad(why: impl Display) -> PyErr {
    PyValueError::new_err(in_python(&why.to_string()))
}

/// A file that cannot be read.
pub fn of_file(error: &io::Error, line: String) -> PyErr {
    match error.kind() {
        io::ErrorKind::NotFound => PyFileNotFoundError::new_err(line),
        io::ErrorKind::PermissionDenied => PyPermissionError::new_err(line),
        io::ErrorKind::IsADirectory => PyIsADirectoryError::new_err(line),
        _ => PyOSError::new_err(line),
    }
}

/// An experiment that could not be carried out.
pub fn of_lab(name: &str, error: &LabError) -> PyErr {
    let causes = std::iter::successors(std::error::Error::source(error), |error| error.source());
    let mut line = error.to_string();
    for cause in causes.map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    match error {
        LabError::Run(_) => PolicyError::new_err(line),
        _ => bad(format!("{name}: {line}")),
    }
}

/// A recording that cannot be read.
pub fn of_recording(error: &RecordingError) -> PyErr {
    match error {
        RecordingError::File { error: io, .. } => of_file(io, error.to_string()),
        RecordingError::Sqlite { .. } => PyOSError::new_err(error.to_string()),
        _ => bad(error),
    }
}

/// `--time-limit 5` becomes `time_limit 5`, and `--set` an entry of `settings`.
fn in_python(line: &str) -> String {
    let line = line.replace("--set ", "settings: ");
    let mut said = String::new();
    let mut rest = line.as_str();
    while let Some(at) = rest.find("--") {
        let (before, option) = (&rest[..at], &rest[at + 2..]);
        let name: String = option.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '-').collect();
        said.push_str(before);
        said.push_str(&if name.is_empty() { "--".to_owned() } else { name.replace('-', "_") });
        rest = &option[name.len()..];
    }
    said + rest
}
