//! Profiles from files: traces of our own, page profiles of numalize, samples that perf printed.
//! What a file is shows in its first bytes.

pub mod numalize;
pub mod perf;
#[cfg(test)]
mod tests;

use crate::error::PagesError;
use crate::profile::PageProfile;
use crate::trace::{Header, MAGIC, TraceError};
use std::io::{self, BufRead};

/// Why there is no profile in a file.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A trace is damaged.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// What it says cannot be.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// A line of text is wrong.
    #[error("line {line}: {problem}")]
    Line {
        /// its number, from 1
        line: u64,
        /// what is wrong, and what would be right
        problem: String,
    },
    /// Nothing of what can be read.
    #[error("{0}; expected a trace, a page profile in the CSV form of numalize, or what `perf script` prints")]
    Unknown(&'static str),
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A trace of our own.
    Trace,
    /// A page profile of numalize.
    Numalize,
    /// Samples of memory accesses as `perf script` prints them.
    Perf,
}

/// What a file is, by its first bytes.
#[must_use]
pub fn form(first: &[u8]) -> Option<Form> {
    if first.starts_with(&MAGIC) {
        return Some(Form::Trace);
    }
    if first.trim_ascii_start().starts_with(b"page.address") {
        return Some(Form::Numalize);
    }
    perf::looks_like(first).then_some(Form::Perf)
}

/// The profile in a file of any of the forms.
///
/// # Errors
/// What is none of them, or is wrong; one line, which names no file.
pub fn open(mut from: impl BufRead) -> Result<PageProfile, ImportError> {
    let first = from.fill_buf()?;
    if first.is_empty() {
        return Err(ImportError::Unknown("is empty"));
    }
    match form(first) {
        Some(Form::Trace) => Ok(PageProfile::read(from)?),
        Some(Form::Numalize) => numalize::read(from),
        Some(Form::Perf) => perf::read(from),
        None => Err(ImportError::Unknown("is of an unknown kind")),
    }
}

/// The header of an import, which has no slices and knows no command.
fn header(engine: &str, page_bytes: u64, sampled: Option<u64>) -> Header {
    Header { engine: engine.to_owned(), sampled, page_bytes, slice_ns: 0, command: Vec::new() }
}

/// Part of a text, for a message: what is not printable is left out.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let shown: String = text.chars().filter(|letter| !letter.is_control()).take(40).collect();
    if shown.len() < text.len() { format!("{shown}...") } else { shown }
}
