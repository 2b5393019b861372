//! Why a file contains no profile, and the helpers that all imports share.

use crate::error::PagesError;
use crate::trace::{Header, TraceError};
use std::io;

/// Why a file contains no profile.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A trace is damaged.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The content is inconsistent.
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
    /// The file has none of the known formats.
    #[error("{0}; expected a trace, a page profile in the CSV form of numalize, or what `perf script` prints")]
    Unknown(&'static str),
}

/// The header of an imported profile, which has no slices and no command.
pub(super) fn header(engine: &str, page_bytes: u64, sampled: Option<u64>) -> Header {
    Header { engine: engine.to_owned(), sampled, page_bytes, slice_ns: 0, command: Vec::new() }
}

/// Part of a text, for a message. Characters that are not printable are left out.
pub(super) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let shown: String = text.chars().filter(|letter| !letter.is_control()).take(40).collect();
    if shown.len() < text.len() { format!("{shown}...") } else { shown }
}
