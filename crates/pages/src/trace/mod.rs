//! Traces of programs' memory accesses, by time slice, thread and page, and the file that they are
//! kept in. `docs/trace-file.md` describes the file byte by byte.
//!
//! ```text
//! contents   what a trace says
//! writer     writes it, block by block; reader reads it
//! block      a block: kind, lengths, checksum, compressed bytes
//! columns    a slice as columns of small numbers; varint: those numbers
//! ```

mod block;
mod columns;
mod contents;
mod error;
mod reader;
#[cfg(test)]
mod tests;
mod varint;
mod writer;

pub use columns::{MOST_PAGE, MOST_THREADS, Rows, View};
pub use contents::{End, FirstTouch, Header, Part, Region, RegionKind, Row, Slice, Thread};
pub use error::TraceError;
pub use reader::{Packed, Reader};
pub use writer::Writer;

/// What a trace begins with.
pub const MAGIC: [u8; 8] = *b"ISOBARTR";
/// The version of the file, which follows.
pub const VERSION: u32 = 1;
