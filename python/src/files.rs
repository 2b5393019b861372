//! Reads named files, with isobar's limits on the size of each kind: a larger file was named by
//! mistake.

use crate::error::{bad, of_file};
use isobar_linux::read;
use isobar_sim::Workload;
use pyo3::prelude::*;
use std::io;
use std::path::{Path, PathBuf};

/// Size limit of workloads, machines and settings, in bytes.
const SETTINGS: u64 = 4 << 20;
/// Size limit of tables of programs, in bytes.
const TABLE: u64 = 64 << 20;
/// Size limit of lists of workloads and solutions, in bytes.
pub const LIST: u64 = 16 << 20;

/// The text of a file. If it cannot be read, the error says what was expected.
pub fn text(file: &Path, expected: &str) -> PyResult<String> {
    let limit = if expected.contains("table") { TABLE } else { LIST };
    read::text(file, limit)
        .map_err(|error| of_file(&error, format!("{}: cannot be read: {error}: expected {expected}", file.display())))
}

/// A file named by settings.
pub fn settings(file: &Path) -> io::Result<String> {
    read::text(file, SETTINGS)
}

/// A workload, from its file or, if the text has several lines, from that text.
pub fn workload(named: &str) -> PyResult<(String, Workload)> {
    let inline = named.contains('\n');
    let (name, text, folder) = if inline {
        ("workload".to_owned(), named.to_owned(), PathBuf::new())
    } else {
        let file = Path::new(named);
        let folder = file.parent().unwrap_or_else(|| Path::new("")).to_owned();
        (named.to_owned(), text(file, "a TOML workload")?, folder)
    };
    let beside = |path: &str| described(&folder.join(path)).map_err(|error| format!("cannot be read: {error}"));
    let workload = Workload::from_toml_with(&name, &text, &beside).map_err(bad)?;
    let stem = Path::new(&name).file_stem().map_or_else(|| name.clone(), |stem| stem.to_string_lossy().into_owned());
    Ok((stem, workload))
}

/// A program or machine named by a workload: `.csv` is a table.
fn described(file: &Path) -> io::Result<String> {
    let table = file.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv"));
    read::text(file, if table { TABLE } else { SETTINGS })
}
