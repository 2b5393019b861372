//! Reads the input of `pages`: a trace, a page profile of numalize, or samples that perf printed.
//! All are read block by block or line by line, and never held in memory as a whole.

use crate::failure::bad_input;
use isobar_pages::import;
use isobar_pages::report::Course;
use isobar_pages::trace::{MAGIC, Packed, Part, Reader as TraceReader, View};
use isobar_pages::{Homes, PageProfile};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The contents of a file.
#[derive(Debug)]
pub struct Source {
    /// The usage of the whole run.
    pub profile: PageProfile,
    /// What is missing from it, one sentence each.
    pub remarks: Vec<String>,
    /// Whether it is a trace, which has time slices.
    timed: bool,
    /// The path it was read from.
    pub path: PathBuf,
}

/// Reads a file of any of the kinds.
///
/// # Errors
/// Bad input, in one line that names the file and the line.
pub fn read(path: &Path) -> anyhow::Result<Source> {
    let of_file = |why: &dyn std::fmt::Display| bad_input(format!("{}: {why}", path.display()));
    let file = File::open(path).map_err(|why| of_file(&why))?;
    let about = file.metadata().map_err(|why| of_file(&why))?;
    if about.is_dir() {
        return Err(of_file(&"is a folder; expected a trace of `isobar trace` or a page profile"));
    }
    let mut bytes = BufReader::with_capacity(1 << 20, file);
    let timed = bytes.fill_buf().map_err(|why| of_file(&why))?.starts_with(&MAGIC);
    let profile = import::open(bytes).map_err(|why| of_file(&why))?;
    let remarks = if timed { profile.remarks() } else { Vec::new() };
    Ok(Source { profile, remarks, timed: timed && about.is_file(), path: path.to_owned() })
}

impl Source {
    /// Reads the blocks of all slices from the file again. Returns false if the file has no slices
    /// or cannot be read twice.
    ///
    /// # Errors
    /// Bad input, and errors of `each`.
    pub fn slices(&self, mut each: impl FnMut(&View<'_>) -> anyhow::Result<()>) -> anyhow::Result<bool> {
        if !self.timed {
            return Ok(false);
        }
        let of_file = |why: &dyn std::fmt::Display| bad_input(format!("{}: {why}", self.path.display()));
        let file = File::open(&self.path).map_err(|why| of_file(&why))?;
        let mut parts = TraceReader::new(BufReader::with_capacity(1 << 20, file)).map_err(|why| of_file(&why))?;
        while let Some(part) = parts.packed().map_err(|why| of_file(&why))? {
            if let Packed::Slice(view) = part {
                each(&view)?;
            }
        }
        Ok(true)
    }

    /// The program slice by slice, read from the file again; `None` if it has no slices or cannot
    /// be read twice.
    ///
    /// # Errors
    /// Bad input.
    pub fn course(&self, homes: &Homes, page_bytes: Option<u64>) -> anyhow::Result<Option<Course>> {
        if !self.timed {
            return Ok(None);
        }
        let of_file = |why: &dyn std::fmt::Display| bad_input(format!("{}: {why}", self.path.display()));
        let file = File::open(&self.path).map_err(|why| of_file(&why))?;
        let parts = TraceReader::new(BufReader::with_capacity(1 << 20, file)).map_err(|why| of_file(&why))?;
        let mut follow = Course::follow(&self.profile, homes, page_bytes).map_err(|why| of_file(&why))?;
        for part in parts {
            if let Part::Slice(slice) = part.map_err(|why| of_file(&why))? {
                follow.add(slice).map_err(|why| of_file(&why))?;
            }
        }
        follow.finish(&self.profile).map(Some).map_err(|why| of_file(&why))
    }
}
