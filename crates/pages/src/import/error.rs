//! Why there is no profile in a file, and what all imports share.

use crate::error::PagesError;
use crate::trace::{Header, TraceError};
use std::io;

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

/// The header of an import, which has no slices and knows no command.
pub(super) fn header(engine: &str, page_bytes: u64, sampled: Option<u64>) -> Header {
    Header { engine: engine.to_owned(), sampled, page_bytes, slice_ns: 0, command: Vec::new() }
}

/// Part of a text, for a message: what is not printable is left out.
pub(super) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let shown: String = text.chars().filter(|letter| !letter.is_control()).take(40).collect();
    if shown.len() < text.len() { format!("{shown}...") } else { shown }
}
