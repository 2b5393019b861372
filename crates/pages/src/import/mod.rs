//! Profiles from files: isobar's own traces, page profiles of numalize, and samples that perf
//! printed. The format is recognised by the first bytes of the file.

mod error;
pub mod numalize;
pub mod perf;
#[cfg(test)]
mod tests;

use crate::profile::PageProfile;
use crate::trace::MAGIC;
use std::io::BufRead;

pub use error::ImportError;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A trace of isobar.
    Trace,
    /// A page profile of numalize.
    Numalize,
    /// Samples of memory accesses as `perf script` prints them.
    Perf,
}

/// The format of a file, by its first bytes.
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

/// The profile in a file of any of the formats.
///
/// # Errors
/// A file of no known format, or with an error in it. The message is one line and does not name the
/// file.
pub fn open(mut from: impl BufRead) -> Result<PageProfile, ImportError> {
    let first = from.fill_buf()?;
    if first.is_empty() {
        return Err(ImportError::Unknown("is empty"));
    }
    match form(first) {
        Some(Form::Trace) => Ok(PageProfile::read(from)?),
        Some(Form::Numalize) => numalize::read(from),
        Some(Form::Perf) => perf::read(from),
        None => Err(ImportError::Unknown("is in an unknown format")),
    }
}
