//! Why a trace cannot be read or written.

use std::io;

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file does not begin as a trace does.
    #[error("not a trace: expected a file written by `isobar trace`, which begins with `ISOBARTR`")]
    NotATrace,
    /// The file has a version that this program does not know.
    #[error("a trace of version {0}; this isobar reads versions {oldest} to {newest}", oldest = super::OLDEST, newest = super::VERSION)]
    Version(u32),
    /// The header is invalid or incomplete.
    #[error("damaged: {0}; nothing after it can be read")]
    Header(&'static str),
    /// A later block is invalid, or its checksum is wrong.
    #[error(
        "damaged at byte {offset}: {what}; everything before it can be read, so cut the file there (truncate -s \
         {offset})"
    )]
    Damaged {
        /// where the block begins in the file
        offset: u64,
        /// what is wrong with it
        what: &'static str,
    },
    /// A slice that cannot be written: its rows are out of order, or too many.
    #[error("a slice that cannot be written: {0}")]
    Slice(&'static str),
    /// A placement of pages that cannot be written: its pages are out of order, or on no node.
    #[error("a placement that cannot be written: {0}")]
    Placed(&'static str),
    /// The usage of the whole run is invalid, for example because of too many threads.
    #[error("{0}")]
    Usage(#[from] crate::error::PagesError),
}
