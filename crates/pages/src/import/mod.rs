//! Profiles from files: traces of our own, page profiles of numalize, samples that perf printed.
//! What a file is shows in its first bytes.

mod error;
pub mod numalize;
pub mod perf;
#[cfg(test)]
mod tests;

use crate::profile::PageProfile;
use crate::trace::MAGIC;
use std::io::BufRead;

pub use error::ImportError;

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
