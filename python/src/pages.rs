//! `pages`: how a program uses its pages, as `isobar pages --json` reports it.

use crate::apart::{Standing, apart};
use crate::error::{bad, of_file};
use isobar_pages::report::{Advice, Course, Question, Report, ReportDocument, document};
use isobar_pages::trace::{MAGIC, Part, Reader};
use isobar_pages::{Homes, PageProfile, import};
use pyo3::prelude::*;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The request.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Request {
    trace: String,
    nodes: usize,
    threads_to_nodes: Option<Vec<usize>>,
    min_excl: f64,
    page_size: Option<u64>,
    sweep: bool,
}

/// Reports on a trace or page profile; the answer is a JSON document.
#[pyfunction]
pub fn pages(py: Python<'_>, request: Request) -> PyResult<String> {
    if !(0.0..=1.0).contains(&request.min_excl) {
        return Err(bad(format!("min_excl {}: expected a part from 0 to 1, such as 0.9", request.min_excl)));
    }
    if let Some(size) = request.page_size.filter(|size| !size.is_power_of_two() || *size > 1 << 30) {
        return Err(bad(format!("page_size {size}: expected a power of two up to 1 GiB, such as 4096 or 2 << 20")));
    }
    apart(py, &Standing::default(), None, &|_| Ok(()), || request.answered())?
}

impl Request {
    fn answered(&self) -> PyResult<String> {
        let path = Path::new(&self.trace);
        let wrong = |why: &dyn std::fmt::Display| bad(format!("{}: {why}", self.trace));
        let mut bytes = self.opened()?;
        let begun = bytes.fill_buf().map_err(|error| of_file(&error, format!("{}: {error}", self.trace)))?;
        let timed = begun.starts_with(&MAGIC) && path.is_file();
        let profile = import::open(bytes).map_err(|why| wrong(&why))?;
        let homes = self.homes(profile.usage.threads())?;
        let course = if timed { Some(self.course(&profile, &homes)?) } else { None };
        let (min_excl, page_bytes, sweep) = (self.min_excl, self.page_size, self.sweep);
        let question = Question { homes: &homes, min_excl, page_bytes, sweep, course };
        let report = Report::of(&profile, question).map_err(|why| wrong(&why))?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let advice = Advice::of(&report, &profile, &self.trace);
        let remarks = if timed { profile.remarks() } else { Vec::new() };
        let shown =
            ReportDocument { name: &name, profile: &profile, report: &report, advice: &advice, remarks: &remarks };
        Ok(document(&shown).to_string())
    }

    fn opened(&self) -> PyResult<BufReader<File>> {
        let of = |error: std::io::Error| of_file(&error, format!("{}: {error}", self.trace));
        let file = File::open(&self.trace).map_err(of)?;
        if file.metadata().map_err(of)?.is_dir() {
            let line = "is a folder; expected a trace of `isobar trace` or a page profile";
            return Err(bad(format!("{}: {line}", self.trace)));
        }
        Ok(BufReader::with_capacity(1 << 20, file))
    }

    fn homes(&self, threads: usize) -> PyResult<Homes> {
        match &self.threads_to_nodes {
            None => Homes::compact(self.nodes, threads).map_err(|why| bad(format!("nodes {}: {why}", self.nodes))),
            Some(of_thread) if of_thread.len() != threads => Err(bad(format!(
                "threads_to_nodes: {} threads have a node, and the file has {threads}",
                of_thread.len()
            ))),
            Some(of_thread) => Homes::new(self.nodes, of_thread).map_err(|why| bad(format!("threads_to_nodes: {why}"))),
        }
    }

    /// The course of the run, slice by slice, for which the file is read again.
    fn course(&self, profile: &PageProfile, homes: &Homes) -> PyResult<Course> {
        let wrong = |why: &dyn std::fmt::Display| bad(format!("{}: {why}", self.trace));
        let mut follow = Course::follow(profile, homes, self.page_size).map_err(|why| wrong(&why))?;
        for part in Reader::new(self.opened()?).map_err(|why| wrong(&why))? {
            if let Part::Slice(slice) = part.map_err(|why| wrong(&why))? {
                follow.add(slice).map_err(|why| wrong(&why))?;
            }
        }
        follow.finish(profile).map_err(|why| wrong(&why))
    }
}
