//! Traces of programs' memory accesses, by time slice, thread and page.
//!
//! ```text
//! contents   what a trace says
//! ```

mod contents;

pub use contents::{End, FirstTouch, Header, Part, Region, RegionKind, Row, Slice, Thread};
