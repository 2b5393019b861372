//! Traces of programs' memory accesses, by time slice, thread and page, and the file format for
//! them. `docs/trace-file.md` describes the file byte by byte.
//!
//! ```text
//! contents   what a trace says
//! writer     writes it, block by block; reader reads it
//! block      a block: kind, lengths, checksum, compressed bytes
//! columns    a slice as columns of small numbers; varint: those numbers
//! placed     where pages were, likewise
//! ```

mod block;
mod columns;
mod contents;
mod error;
mod placed;
mod reader;
#[cfg(test)]
mod tests;
mod varint;
mod writer;

pub use columns::{MOST_PAGE, MOST_THREADS, Rows, View};
pub use contents::{End, FirstTouch, Header, Part, Placed, Region, RegionKind, Row, Slice, Thread};
pub use error::TraceError;
pub use reader::{Packed, Reader};
pub use writer::Writer;

/// The first bytes of a trace.
pub const MAGIC: [u8; 8] = *b"ISOBARTR";
/// The version of the file, which follows. Version 2 also says where the kernel had placed pages;
/// files of version 1 can be read too.
pub const VERSION: u32 = 2;
/// The oldest version that can be read.
pub const OLDEST: u32 = 1;
