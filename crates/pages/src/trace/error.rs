//! Why a trace cannot be read or written.

use std::io;

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It does not begin as a trace does.
    #[error("not a trace: expected a file written by `isobar trace`, which begins with `ISOBARTR`")]
    NotATrace,
    /// Of a version that this program does not know.
    #[error("a trace of version {0}; this isobar reads versions {oldest} to {newest}", oldest = super::OLDEST, newest = super::VERSION)]
    Version(u32),
    /// Its header says something impossible, or is not all there.
    #[error("damaged: {0}; nothing behind it can be read")]
    Header(&'static str),
    /// A block behind it that says something impossible, or whose checksum is wrong.
    #[error(
        "damaged at byte {offset}: {what}; what stands before it can be read, so cut the file there \
         (truncate -s {offset})"
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
    /// The usage of the whole run cannot be: too many threads, say.
    #[error("{0}")]
    Usage(#[from] crate::error::PagesError),
}
